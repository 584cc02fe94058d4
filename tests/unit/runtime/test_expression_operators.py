"""filter and select with expressions keep Arrow batches, and name the record without a result."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Row, Types
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import col, lit
from headrace.errors import RecordError
from headrace.testing import collect_locally
from headrace.testing.programs import step_of

if TYPE_CHECKING:
    from headrace.runtime.operators.base import Operator

ORDER = Types.ROW_NAMED(["item", "n", "price"], [Types.STRING(), Types.INT(), Types.DOUBLE()])
ROWS = [
    Row(item="hat", n=2, price=1.5),
    Row(item=None, n=0, price=None),
    Row(item="x", n=3, price=2.0),
]


class Seen:
    """An output that keeps what it is given."""

    def __init__(self) -> None:
        self.records: list[Records] = []

    def emit(self, records: Records) -> None:
        self.records.append(records)


def _run(step: Any, records: Records) -> Records:
    operator: Operator = pickle.loads(pickle.dumps(step.operator))
    seen: Any = Seen()
    operator.output = seen
    operator.call = operator.function  # type: ignore[attr-defined]
    operator.failed = lambda error, record=None: error  # type: ignore[method-assign, assignment, return-value]
    operator.process(records, 0)
    [found] = seen.records
    return found  # type: ignore[no-any-return]


def _orders() -> Any:
    return StreamExecutionEnvironment.get_execution_environment().from_collection([], ORDER)


def _columnar(rows: list[Row] = ROWS) -> Records:
    codec = codec_for(ORDER)
    return Records(timestamps=[*range(len(rows))], batch=codec.encode(rows), codec=codec)


def test_a_filter_keeps_a_batch_a_batch() -> None:
    step = step_of(_orders().filter(col("price") * 2 > 2))
    kept = _run(step, _columnar())
    assert kept.columns is not None
    assert kept.timestamps == [0, 2]
    assert [row.item for row in kept.values] == ["hat", "x"]


def test_a_projection_gives_a_batch_with_its_types() -> None:
    step = _orders().select(col("item").upper().alias("item"), (col("n") / 2).alias("half"), lit(1))
    found = _run(step_of(step), _columnar())
    assert found.columns is not None
    assert found.values == [
        Row(**{"item": "HAT", "half": 1.0, "1": 1}),
        Row(**{"item": None, "half": 0.0, "1": 1}),
        Row(**{"item": "X", "half": 1.5, "1": 1}),
    ]


def test_objects_that_somebody_has_asked_for_are_kept() -> None:
    records = _columnar()
    values = records.values
    kept = _run(step_of(_orders().filter(col("n") > 0)), records)
    assert kept.values[0] is values[0]


def test_a_condition_in_front_keeps_an_error_away() -> None:
    step = step_of(_orders().filter((col("n") != 0) & (6 % col("n") == 0)))
    assert len(_run(step, _columnar())) == 2
    guarded = step_of(_orders().filter((col("n") == 0) | (6 / col("n") > 2.5)))
    assert len(_run(guarded, _columnar())) == 2


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (6 % col("n") == 0, "6 % 0 has no result"),
        (1.5 / col("n") > 1, "1.5 / 0"),
        (col("n") * 2_000_000_000 > 0, "too large for Integer"),
        (col("item") == 5, "str and int cannot be combined"),
        (col("item") + "x" == "hatx", "cannot be combined"),
    ],
)
def test_what_has_no_result_is_an_error_by_rows_and_in_batches(
    expression: Any, message: str
) -> None:
    for records in (_columnar(), Records(list(ROWS))):
        with pytest.raises(RecordError, match=message):
            _run(step_of(_orders().filter(expression)), records)


def test_a_computed_key_is_read_from_columns() -> None:
    keyed = _orders().key_by(col("n") % 2)
    [keying] = step_of(keyed.reduce(max)).key_selectors
    keying = pickle.loads(pickle.dumps(keying))
    assert keying.column(_columnar()).to_pylist() == [0, 0, 1]
    assert keying.keys(Records(list(ROWS))) == keying.keys(_columnar()) == [0, 0, 1]
    by_text: Any = step_of(_orders().key_by(col("item").lower()).reduce(max)).key_selectors[0]
    assert by_text.column(_columnar()) is None  # a null key goes by rows, as it did


def test_the_whole_program_gives_the_same_without_spark() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    orders = env.from_collection(ROWS, ORDER).rebalance()
    found = collect_locally(orders.filter(col("n") > 0).select(col("item"), col("n") + 1))
    assert sorted(map(tuple, found)) == [("hat", 3), ("x", 4)]
