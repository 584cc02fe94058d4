"""Calc, DropUpdateBefore, ChangelogNormalize and the sink's materializer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.common.data_types import DataTypes as D
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.errors import HeadraceError
from headrace.runtime.table.calc import CalcOperator
from headrace.runtime.table.changelog_normalize import ChangelogNormalizeOperator
from headrace.runtime.table.drop_update_before import DropUpdateBeforeOperator
from headrace.runtime.table.sink_materializer import SinkMaterializerOperator
from headrace.scalars.build import call
from headrace.scalars.nodes import Literal, Ref
from headrace.scalars.session import ScalarSession
from table_operators import (
    BIGINT,
    DOUBLE,
    INT,
    STRING,
    OperatorRun,
    every_way,
    lines_of,
    whole_input,
)  # fmt: skip

CHANGES = lines_of(STRING, INT, changes=True)
A, B = Ref(0, STRING), Ref(1, INT)


# --- calc ----------------------------------------------------------------------------------------


def calc(*projections: Any, condition: Any = None, changes: bool = True) -> CalcOperator:
    types = [projection.type for projection in projections]
    kinds = lines_of(STRING, INT, changes=changes)
    return CalcOperator(
        kinds, lines_of(*types, changes=changes), projections, condition, session=ScalarSession()
    )


def test_kinds_stay_with_their_lines() -> None:
    plus = call("+", (B, Literal(1, INT)))
    operator = calc(plus, A, condition=call(">", (B, Literal(1, INT))))
    lines = [("+I", "a", 1), ("-U", "b", 2), ("+U", "c", 3), ("-D", None, None), ("-D", "d", 4)]
    assert every_way(operator, lines) == [("-U", 3, "b"), ("+U", 4, "c"), ("-D", 5, "d")]


def test_nothing_comes_of_lines_that_are_all_left_out() -> None:
    run = OperatorRun(calc(A, condition=call(">", (B, Literal(9, INT))), changes=False))
    run.lines([("+I", "a", 1)])
    assert run.taken() == []
    assert run.metrics.records_out == 0


def test_columns_are_handed_on_without_a_copy() -> None:
    operator = calc(B, A, changes=False)
    run = OperatorRun(operator)
    seen: list[Any] = []
    run.operator.output.main = [type("Seen", (), {"accept": lambda _, r: seen.append(r)})()]
    codec = codec_for(lines_of(STRING, INT))
    batch = codec.encode([("a", 1), ("b", 2)])
    run.operator.process(Records(batch=batch, codec=codec), 0)
    addresses = [buffer.address for buffer in batch.column(0).buffers() if buffer]
    assert [b.address for b in seen[0].batch.column(1).buffers() if b] == addresses


def test_other_names_of_columns_are_no_other_columns() -> None:
    run = OperatorRun(calc(A, changes=False))
    other = codec_for(lines_of(STRING, INT, names=("x", "y")))
    run.operator.process(Records(batch=other.encode([("a", 1)]), codec=other), 0)
    assert run.taken() == [("+I", "a")]


def test_a_constant_is_a_column() -> None:
    operator = calc(Literal(7, BIGINT), changes=True)
    assert every_way(operator, [("+I", "a", 1), ("-D", "b", 2)]) == [("+I", 7), ("-D", 7)]


def test_a_value_that_cannot_be_computed_says_where() -> None:
    operator = calc(call("/", (B, Literal(0, INT))), changes=False)
    with pytest.raises(HeadraceError) as found:
        OperatorRun(operator).lines([("+I", "a", 1)])
    assert "test" in str(found.value.where)


# --- -U ------------------------------------------------------------------------------------------


def test_update_before_is_left_out() -> None:
    lines = [("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 2), ("-D", "a", 2)]
    found = every_way(DropUpdateBeforeOperator(CHANGES), lines)
    assert found == [lines[0], lines[2], lines[3]]
    run = OperatorRun(DropUpdateBeforeOperator(CHANGES))
    run.lines([lines[1]])
    assert run.taken() == []


# --- upserts -------------------------------------------------------------------------------------


def test_upserts_become_full_changes() -> None:
    lines = [
        ("+U", "a", 1), ("+I", "a", 2), ("-D", "b", 0), ("+U", "a", 2), ("+U", "b", None),
        ("-D", "a", None), ("-D", "a", None), ("+U", "a", 3), ("-U", "b", 5),
    ]  # fmt: skip
    operator = ChangelogNormalizeOperator(CHANGES, CHANGES, session=ScalarSession())
    assert every_way(operator, lines, (0,), entries=1) == [
        ("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 2), ("+I", "b", None), ("-D", "a", 2),
        ("+I", "a", 3), ("-D", "b", None),
    ]  # fmt: skip
    assert whole_input(operator, lines, (0,)) == [("+I", "a", 3)]


def test_upserts_without_what_was_before_and_with_an_end() -> None:
    lines = [("+U", "a", 1), ("+U", "a", 1), ("+U", "a", 2)]
    operator = ChangelogNormalizeOperator(CHANGES, CHANGES, before=False, session=ScalarSession())
    assert every_way(operator, lines, (0,)) == [("+I", "a", 1), ("+U", "a", 2)]
    run = OperatorRun(
        ChangelogNormalizeOperator(CHANGES, CHANGES, ttl_ms=10, session=ScalarSession()), (0,)
    )
    run.time = 1
    run.lines(lines[:2])
    assert run.taken() == [("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 1)]
    run.end_of_batch()
    run.time = 11
    run.lines(lines[:1])
    assert run.taken() == [("+I", "a", 1)]


def test_nan_equals_nan_in_an_upsert() -> None:
    kinds = lines_of(STRING, DOUBLE, changes=True)
    run = OperatorRun(ChangelogNormalizeOperator(kinds, kinds, session=ScalarSession()), (0,))
    run.lines([("+U", "a", float("nan")), ("+U", "a", float("nan"))])
    assert len(run.taken()) == 1


# --- sinks ---------------------------------------------------------------------------------------

LINES = [
    ("+I", "k", 1), ("+I", "k", 2), ("-D", "k", 1), ("+U", "k", 3), ("-U", "k", 3), ("-D", "k", 9),
    ("-D", "k", 2), ("+I", "k", 4), ("+I", "j", 1),
]  # fmt: skip


def test_the_last_line_of_a_key_counts() -> None:
    found = every_way(SinkMaterializerOperator(CHANGES), LINES, (0,), entries=2)
    assert found == [
        ("+I", "k", 1), ("+U", "k", 2), ("+U", "k", 3), ("+U", "k", 2), ("-D", "k", 2),
        ("+I", "k", 4), ("+I", "j", 1),
    ]  # fmt: skip
    assert whole_input(SinkMaterializerOperator(CHANGES), LINES, (0,)) == [
        ("+I", "k", 4), ("+I", "j", 1),
    ]  # fmt: skip


def test_lines_are_known_by_the_querys_own_key() -> None:
    kinds = lines_of(STRING, INT, STRING, changes=True)
    lines = [
        ("+I", "k", 1, "a"), ("+I", "k", 2, "b"), ("+U", "k", 1, "c"), ("-D", "k", 2, "gone"),
        ("-D", "k", 1, "?"),
    ]  # fmt: skip
    found = every_way(SinkMaterializerOperator(kinds, (1,)), lines, (0,), entries=0)
    assert found == [
        ("+I", "k", 1, "a"), ("+U", "k", 2, "b"), ("+U", "k", 1, "c"), ("+U", "k", 1, "c"),
        ("-D", "k", 1, "?"),
    ]  # fmt: skip


def test_lines_whose_state_has_ended_are_forgotten() -> None:
    run = OperatorRun(SinkMaterializerOperator(CHANGES, ttl_ms=10), (0,))
    run.time = 1
    run.lines([("+I", "k", 1)])
    run.end_of_batch()
    run.time = 20
    run.lines([("-D", "k", 1), ("+I", "k", 2)])
    assert run.taken() == [("+I", "k", 1), ("+I", "k", 2)]


def test_times_of_nanoseconds_keep_them_in_state() -> None:
    kind = lines_of(STRING, D.TIMESTAMP(9), changes=True)
    run = OperatorRun(SinkMaterializerOperator(kind), (0,))
    codec = codec_for(kind)
    time = pa.array([1_577_836_800_000_000_001], pa.timestamp("ns"))
    seen: list[Any] = []
    run.operator.output.main = [type("Seen", (), {"accept": lambda _, r: seen.append(r)})()]
    for number in (0, 3):
        columns = [pa.array(["k"]), time, pa.array([number], pa.int8())]
        batch = pa.RecordBatch.from_arrays(columns, schema=codec.schema)
        run.operator.process(Records(batch=batch, codec=codec), 0)
        run.end_of_batch()
    assert [records.batch.column(1) for records in seen] == [time, time]
