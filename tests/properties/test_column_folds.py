"""Windows of column aggregates give the same for batches of columns and for records one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.datastream.expressions import col, count
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from headrace.runtime.windows.aligned import AlignedWindows
from headrace.runtime.windows.column_aggregates import ColumnAggregates, SelectedOfKey, cell
from headrace.testing import KeyedHarness

EVENT = Types.ROW_NAMED(["key", "n", "x"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
CODEC = codec_for(EVENT)
LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
AGGREGATES = [
    count(), col("n").sum(), col("n").count(), col("n").min(), col("n").max(),
    (col("n") * 2 + 1).sum(), col("x").sum(), col("x").min(), col("x").max(), col("n").avg(),
]  # fmt: skip
NAMES = ["key", *(f"r{number}" for number in range(len(AGGREGATES)))]
RESULTS = [col("key"), *(col(cell(number)) for number in range(len(AGGREGATES)))]
WINDOWS = {
    "tumbling": (TumblingEventTimeWindows.of(10), 0),
    "tumbling, lateness": (TumblingEventTimeWindows.of(10), 7),
    "sliding": (SlidingEventTimeWindows.of(10, 4), 0),
    "sliding, lateness": (SlidingEventTimeWindows.of(12, 4), 5),
    "with gaps": (SlidingEventTimeWindows.of(4, 10), 0),
}

_numbers = st.one_of(st.none(), st.integers(-50, 50), st.just(2**62))
_fractions = st.one_of(st.none(), st.integers(-8, 8).map(float), st.just(float("nan")))
_record = st.tuples(st.sampled_from("ab"), _numbers, _fractions, st.integers(0, 40))
_step = st.one_of(st.lists(_record, min_size=1, max_size=8), st.integers(0, 45), st.none())


def harness(windows: Any, lateness: int) -> KeyedHarness:
    return KeyedHarness.for_windows(
        windows,
        "key",
        aggregate=ColumnAggregates(AGGREGATES),
        function=SelectedOfKey(RESULTS, NAMES, "key"),
        allowed_lateness_ms=lateness,
        late_tag=LATE,
    )


def played(script: list[Any], windows: Any, lateness: int, *, columns: bool) -> list[Any]:
    with harness(windows, lateness) as found:
        for step in script:
            if step is None:
                found.restore(found.snapshot())
            elif isinstance(step, int):
                found.process_watermark(step)
            else:
                rows = [Row(key=key, n=n, x=x) for key, n, x, _ in step]
                times = [time for *_, time in step]
                if columns:
                    records = Records(timestamps=times, batch=CODEC.encode(rows), codec=CODEC)
                    found.operator.process(records, 0)
                else:
                    for row, time in zip(rows, times, strict=True):
                        found.process_element(row, timestamp=time)
        found.end_of_input()
        late = [str(row) for row in found.side_output(LATE)]
        return [sorted(map(str, found.output)), sorted(late)]


@pytest.mark.parametrize("kind", WINDOWS)
@settings(max_examples=150, deadline=None)
@given(script=st.lists(_step, max_size=10))
def test_columns_give_what_records_give(kind: str, script: list[Any]) -> None:
    windows, lateness = WINDOWS[kind]
    by_columns = played(script, windows, lateness, columns=True)
    assert by_columns == played(script, windows, lateness, columns=False)


def test_whole_batches_are_folded_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a record was taken by itself")

    monkeypatch.setattr(AlignedWindows, "_aggregate_all", never)
    rows = [Row(key="ab"[n % 2], n=n, x=1.5) for n in range(10)]
    with harness(TumblingEventTimeWindows.of(10), 0) as found:
        records = Records(timestamps=list(range(10)), batch=CODEC.encode(rows), codec=CODEC)
        found.operator.process(records, 0)
        found.end_of_input()
        assert [(row.key, row.r0, row.r1) for row in found.output] == [("a", 5, 20), ("b", 5, 25)]
