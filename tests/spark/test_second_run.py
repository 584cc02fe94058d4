"""The nightly job: a bounded job that has ended runs again on its checkpoint, with new files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from headrace.common import Types, WatermarkStrategy
from headrace.connectors.files.source import FileSource
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.expressions import col, count, window_start
from headrace.datastream.functions import KeyedProcessFunction
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

EVENT = Types.ROW_NAMED(["user", "ts"], [Types.STRING(), Types.LONG()])
TIMES = WatermarkStrategy.for_bounded_out_of_orderness("200 ms").with_timestamp_assigner("ts")
NIGHTS = [
    [("a", 100), ("b", 900), ("a", 1_500)],
    # older than what the first night ended with, and newer
    [("a", 400), ("b", 3_200), ("a", 3_300), ("b", 3_900)],
    [("a", 3_950), ("c", 9_000)],
]


class Count(KeyedProcessFunction):
    """How many events a user has had, told half a second after each."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.update((self.seen.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value.ts + 500)
        return []

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield {"user": ctx.get_current_key(), "at": timestamp, "seen": self.seen.value()}


def test_every_night_gives_the_windows_of_its_own_files_and_keeps_state(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    folder, windows, told = tmp_path / "in", tmp_path / "windows", tmp_path / "told"
    folder.mkdir()
    read: set[str] = set()

    def new_rows(out: Path) -> list[dict[str, Any]]:
        files = [f for f in sorted(out.glob("[!._]*")) if f.is_file() and str(f) not in read]
        read.update(map(str, files))
        if out is told:
            return [json.loads(line) for file in files for line in file.open()]
        return [row for file in files for row in ds.dataset(str(file)).to_table().to_pylist()]

    def run() -> None:
        env = make_env({"execution.checkpointing.dir": str(tmp_path / "checkpoint")})
        parquet = ParquetColumnarRowInputFormat(EVENT)
        source = FileSource.for_bulk_file_format(parquet, str(folder)).build()
        events = env.from_source(source, None, "in").uid("in")
        keyed = events.assign_timestamps_and_watermarks(TIMES).key_by("user")
        (
            keyed.window(TumblingEventTimeWindows.of("1 s"))
            .select(col("user"), count().alias("n"), window_start())
            .uid("counts")
            .sink_to(FileSink.parquet(str(windows)))
            .uid("windows")
        )
        keyed.process(Count()).uid("seen").sink_to(FileSink.json(str(told))).uid("told")
        env.execute("nightly")

    totals: dict[str, int] = {}
    for number, events in enumerate(NIGHTS):
        columns = {"user": [user for user, _ in events], "ts": [ts for _, ts in events]}
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")
        run()
        expected: dict[tuple[str, int], int] = {}
        for user, ts in events:
            window = user, ts - ts % 1000
            expected[window] = expected.get(window, 0) + 1
            totals[user] = totals.get(user, 0) + 1
        found = {(row["user"], row["window_start"]): row["n"] for row in new_rows(windows)}
        assert found == expected, f"night {number}"
        told_now = new_rows(told)
        assert sorted(row["at"] for row in told_now) == sorted(ts + 500 for _, ts in events)
        last = {row["user"]: row["seen"] for row in sorted(told_now, key=lambda r: r["at"])}
        assert last == {user: totals[user] for user, _ in events}
    run()  # nothing new
    assert new_rows(windows) == []
