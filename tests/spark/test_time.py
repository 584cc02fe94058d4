"""Event time, processing time and the end of input on a real query."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headrace.common import Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.connectors.files.source import FileSource
from headrace.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.formats.file_format import StreamFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

EVENT = Types.TUPLE([Types.STRING(), Types.LONG()])


class Contents(ProcessWindowFunction):
    """Which events a window has, and how far event time was when it fired."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield key, window.start, sorted(at for _, at in elements), context.current_watermark()


def by_event_time(out_of_order_ms: int) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(f"{out_of_order_ms} ms")
    return strategy.with_timestamp_assigner(lambda event, _: event[1])


def test_event_time_windows_fire_as_watermarks_pass_and_the_rest_at_the_end_of_input(
    make_env: Callable[..., StreamExecutionEnvironment],
) -> None:
    env = make_env({"source.max-records-per-batch": 4})
    events = [
        *[("a", 1000), ("b", 2000), ("a", 9000), ("a", 4000)],
        *[("a", 12_000), ("b", 14_000), ("a", 8000), ("b", 11_000)],
        *[("a", 25_000), ("b", 31_000), ("a", 3000), ("b", 26_000)],
        ("b", 5000),
    ]
    found: list[Any] = []
    env.from_collection(events, EVENT).assign_timestamps_and_watermarks(by_event_time(5000)).key_by(
        lambda event: event[0]
    ).window(TumblingEventTimeWindows.of(Time.seconds(10))).process(Contents()).add_sink(
        found.append
    )

    client = env.execute_async("windows")
    client.get_job_execution_result().result(240)

    assert sorted(window[:3] for window in found) == [
        ("a", 0, [1000, 3000, 4000, 8000, 9000]),
        ("a", 10_000, [12_000]),
        ("a", 20_000, [25_000]),
        ("b", 0, [2000]),  # 5000 came when the window was gone
        ("b", 10_000, [11_000, 14_000]),
        ("b", 20_000, [26_000]),
        ("b", 30_000, [31_000]),
    ]
    by_watermark = {window[:2] for window in found if window[3] < 1 << 62}
    assert by_watermark == {("a", 0), ("b", 0), ("a", 10_000), ("b", 10_000)}
    metrics = client.get_metrics()
    assert sum(o["numLateRecordsDropped"] for o in metrics["operators"].values()) == 1
    assert metrics["batches"] >= 4


class Remind(KeyedProcessFunction):
    """Answers half a second later, when the wall clock says so."""

    def process_element(self, value: str, ctx: Any) -> Any:
        clock = ctx.timer_service()
        clock.register_processing_time_timer(clock.current_processing_time() + 500)
        yield f"got {value}"

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield f"reminded {ctx.get_current_key()}"


def test_processing_time_timers_fire_while_no_input_comes(
    env: StreamExecutionEnvironment, tmp_path: Path, wait_for: Callable[..., None]
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "one.txt").write_text("tea\nmilk\n")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    found: list[tuple[str, float]] = []
    env.from_source(source.monitor_continuously("100 ms").build(), None, "folder").key_by(
        lambda line: line
    ).process(Remind()).add_sink(lambda text: found.append((text, time.time())))

    with env.execute_async("timers"):
        wait_for(lambda: len(found) == 4)

    assert sorted(text for text, _ in found) == [
        "got milk",
        "got tea",
        "reminded milk",
        "reminded tea",
    ]


class EndTimer(KeyedProcessFunction):
    """A timer far in the future of event time fires at the end of input, one of the clock not."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(10**12)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp


def test_event_time_timers_fire_at_the_end_of_a_bounded_job(
    env: StreamExecutionEnvironment,
) -> None:
    stream = env.from_collection([("a", 1), ("b", 2)], EVENT)
    fired = stream.assign_timestamps_and_watermarks(by_event_time(0)).key_by(lambda e: e[0])

    assert sorted(fired.process(EndTimer()).execute_and_collect()) == [("a", 10**12), ("b", 10**12)]


def test_timestamps_come_from_a_spark_column(
    make_env: Callable[..., StreamExecutionEnvironment],
) -> None:
    from pyspark.sql import functions as F

    env = make_env({"source.max-records-per-batch": 2})
    events = [("a", 1), ("a", 2), ("a", 11), ("a", 12), ("a", 3)]
    found: list[Any] = []
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        F.col("f1") * 1000
    )
    env.from_collection(events, EVENT).assign_timestamps_and_watermarks(strategy).key_by(
        lambda event: event[0]
    ).window(TumblingEventTimeWindows.of(Time.seconds(10))).process(Contents()).add_sink(
        found.append
    )
    env.execute("stamps")

    assert [window[:3] for window in found] == [("a", 0, [1, 2]), ("a", 10_000, [11, 12])]
