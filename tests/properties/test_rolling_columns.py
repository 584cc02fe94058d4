"""Rolling aggregates give the same for batches of columns and for records one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.runtime.operators.keyed import ReduceOperator
from headrace.testing import KeyedHarness

EVENT = Types.ROW_NAMED(
    ["key", "n", "x", "note"], [Types.STRING(), Types.INT(), Types.DOUBLE(), Types.STRING()]
)
CODEC = codec_for(EVENT)
_numbers = st.one_of(st.integers(-50, 50), st.sampled_from([2**31 - 1, -(2**31), 2**30]))
_fractions = st.one_of(
    st.floats(-10, 10), st.sampled_from([0.0, -0.0, float("nan"), float("inf"), 0.1])
)
_record = st.tuples(st.sampled_from("abc"), _numbers, _fractions, st.text("xy", max_size=2))
_step = st.one_of(st.lists(_record, min_size=1, max_size=8), st.none())


def played(script: list[Any], kind: str, field: str, *, columns: bool) -> list[str]:
    with KeyedHarness.for_rolling(kind, field, "key") as harness:
        for step in script:
            if step is None:
                harness.restore(harness.snapshot())
                continue
            rows = [Row(key=key, n=n, x=x, note=note) for key, n, x, note in step]
            if columns:
                times = list(range(len(rows)))
                records = Records(timestamps=times, batch=CODEC.encode(rows), codec=CODEC)
                harness.operator.process(records, 0)
            else:
                harness.process_elements(*rows)
        return [repr(row) for row in harness.output]


@pytest.mark.parametrize("kind", ["sum", "min", "max", "min_by", "max_by"])
@pytest.mark.parametrize("field", ["n", "x"])
@settings(max_examples=120, deadline=None)
@given(script=st.lists(_step, max_size=6))
def test_columns_give_what_records_give(kind: str, field: str, script: list[Any]) -> None:
    by_columns = played(script, kind, field, columns=True)
    assert by_columns == played(script, kind, field, columns=False)


def test_batches_stay_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("records were taken one by one")

    monkeypatch.setattr(ReduceOperator, "process", never)
    script = [[("a", 1, 0.5, "x"), ("b", 5, 0.25, "y"), ("a", 2, 0.25, "")], [("a", 4, 1.0, "z")]]
    found = played(script, "sum", "n", columns=True)
    assert found == played_by_hand([("a", 1, 0.5, "x"), ("b", 5, 0.25, "y"), ("a", 3, 0.5, "x"),
                                    ("a", 7, 0.5, "x")])  # fmt: skip


def played_by_hand(rows: list[tuple[str, int, float, str]]) -> list[str]:
    return [repr(Row(key=key, n=n, x=x, note=note)) for key, n, x, note in rows]
