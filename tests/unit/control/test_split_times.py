"""Which split holds event time: what tasks tell, how long it has stood still, what is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from headrace.cli.jobs import limits
from headrace.cli.main import app
from headrace.common import Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.control.registry import JobRegistry
from headrace.control.split_times import SplitTimes
from headrace.control.views import event_time
from headrace.control.views.models import Counts, OperatorView, SplitView, VertexView
from headrace.control.views.reader import JobViews
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.spi.source import Boundedness
from job_files import environment
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.control.views.models import HeldTime


# --- what tasks tell -----------------------------------------------------------------------------


def report(**splits: tuple[int, bool]) -> dict[str, dict[str, Any]]:
    return {"window": {"splits": {f"s/{name}": told for name, told in splits.items()}}}


def test_a_split_has_stood_still_since_its_watermark_rose() -> None:
    now = [100]
    times = SplitTimes(clock=lambda: now[0])
    times.take(report(a=(5, False), b=(MIN_TIMESTAMP, False)))
    now[0] = 200
    times.take(report(a=(7, False), b=(MIN_TIMESTAMP, True)))
    now[0] = 300
    times.take({"window": {"splits": None}, "other": {}})  # of another subtask
    assert times.to_json() == {
        "s/a": {"watermark": 7, "moved": 200, "idle": False},
        "s/b": {"watermark": None, "moved": 100, "idle": True},
    }


def test_a_split_that_is_read_to_its_end_is_gone() -> None:
    times = SplitTimes()
    times.take(report(a=(5, False), b=(6, False)))
    times.take(report(b=(6, False)))
    assert list(times.to_json()) == ["s/b"]


def test_of_several_operators_the_one_that_is_behind_counts() -> None:
    times = SplitTimes(clock=lambda: 1)
    times.take({"one": {"splits": {"s/a": (9, False)}}, "two": {"splits": {"s/a": (4, False)}}})
    assert times.to_json()["s/a"]["watermark"] == 4


# --- what is named -------------------------------------------------------------------------------


def held(**splits: tuple[int | None, int, bool]) -> HeldTime | None:
    found = {name: SplitView(*each) for name, each in splits.items()}
    source = OperatorView("1", "s", "orders", "a.py:1", Counts(), None, splits=found)
    vertex = VertexView(
        id="1", name="orders", parallelism=1, max_parallelism=1, level=0, runs="python",
        kind="source", status="RUNNING", started=0, ended=None, counts=Counts(), watermark=None,
        operators=(source,), subtasks=(),
    )  # fmt: skip
    return event_time.held_time(vertex, source)


def test_the_silent_split_is_named_with_what_the_others_reached() -> None:
    found = held(a=(90, 100, False), b=(None, 42_000, False), c=(80, 300, False))
    assert found is not None
    assert (found.split, found.watermark, found.others, found.silent_s) == ("b", None, 90, 42.0)
    assert "with_idleness" in found.fix


@pytest.mark.parametrize(
    "splits",
    [
        {},
        {"a": (None, 99_000, False)},  # the only one holds nobody
        {"a": (5, 100, False), "b": (3, 5_000, False)},  # its next record may be on its way
        {"a": (5, 99_000, False), "b": (3, 99_500, False)},  # nobody goes on
        {"a": (5, 100, False), "b": (3, 99_000, True)},  # left out
        {"a": (5, 100, False), "b": (5, 99_000, False)},  # as far as the others
        {"a": (5, 100, False), "b": (MAX_TIMESTAMP, 99_000, False)},  # it has ended
    ],
)
def test_nothing_is_named_without_need(splits: dict[str, tuple[int | None, int, bool]]) -> None:
    assert held(**splits) is None


def test_it_is_told_in_a_line() -> None:
    told = {"name": "orders", "split": "b", "watermark": None, "others": 90, "silent_s": 42.0,
            "fix": "do"}  # fmt: skip
    assert list(limits({"held": [told]})) == [
        ("event time", "held by split b of orders, which has had no record yet and has been silent "
                       "for 42 s; others are at 90: do"),
    ]  # fmt: skip


# --- a real job ----------------------------------------------------------------------------------


class OneTalks(PythonSource):
    """A partition with a record whenever it is asked, and one without."""

    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def produced_type(self) -> Any:
        return Types.LONG()

    def splits(self) -> list[str]:
        return ["loud", "silent"]

    def latest_offset(self, split: str, start: int) -> int:
        return start + 1 if split == "loud" else 0

    def read(self, split: str, start: int, end: int) -> Any:
        yield from range(start, end)


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


@pytest.mark.parametrize("mode", ["micro-batch", "continuous"])
def test_a_partition_that_is_silent_is_seen_in_every_mode(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_time, "_SILENT_MS", 0)
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path))
    options = environment(tmp_path, headrace__execution__mode=mode,
                          execution__checkpointing__interval="50 ms")  # fmt: skip
    env = StreamExecutionEnvironment.get_execution_environment(options)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
    numbers = env.from_source(OneTalks(), strategy, "orders").uid("orders")
    windows = numbers.key_by(lambda n: n % 2).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    windows.reduce(max).add_sink(lambda n: None)
    client = env.execute_async("silent")
    views = JobViews(JobRegistry(tmp_path / "jobs"))
    try:
        found = wait_until(
            lambda: views.diagnosis(views.overview()[0].job_id).held, "nobody is held"
        )
        told = CliRunner().invoke(app, ["status", "silent"], env={"COLUMNS": "200"})
    finally:
        client.cancel()
        client.wait(PATIENCE_S)
    assert [(each.name, each.split, each.watermark) for each in found] == [
        ("orders", "silent", None)
    ]
    [source] = [
        operator
        for vertex in views.vertices(views.overview()[0].job_id)
        for operator in vertex.operators
        if operator.splits
    ]
    assert sorted(source.splits) == ["loud", "silent"]
    assert "split.loud.watermark.currentWatermark" in source.metrics
    assert "held by split silent of orders" in told.output
    rows = [line.split() for line in told.output.splitlines()]
    assert ["silent", "-"] in rows
    # a step without uid says what it does
    assert any(row[:2] == [source.uid, "(orders)"] for row in rows)
