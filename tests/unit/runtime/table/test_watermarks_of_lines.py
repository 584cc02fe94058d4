"""WATERMARK FOR column AS expression."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from headrace.common.data_types import DataTypes
from headrace.errors import RecordError
from headrace.runtime.table.watermarks import WatermarkOperator
from headrace.scalars.nodes import Ref
from headrace.scalars.session import ScalarSession
from table_operators import INT, LTZ3, T3, OperatorRun, at, instant, lines_of


def run(kind: Any = T3, *, bounded: bool = False, **options: Any) -> OperatorRun:
    operator = WatermarkOperator(
        0, Ref(0, kind), lines_of(kind, INT), **options, session=ScalarSession()
    )
    return OperatorRun(operator, bounded=bounded)


def test_the_watermark_is_the_largest_value_and_nothing_is_taken_off() -> None:
    job = run()
    job.lines([("+I", at(20), 1), ("+I", at(10), 2)])
    assert job.out.watermarks == []
    job.end_of_batch()
    job.lines([("+I", at(15), 3)])
    job.end_of_batch()
    assert job.out.watermarks == [20]
    assert [line[2] for line in job.taken()] == [1, 2, 3]


def test_instants_are_epoch_milliseconds() -> None:
    job = run(LTZ3)
    job.lines([("+I", instant(1234), 1)])
    job.end_of_batch()
    assert job.out.watermarks == [1234]


def test_a_null_in_the_column_is_an_error() -> None:
    with pytest.raises(RecordError, match="NULL"):
        run().lines([("+I", None, 1)])


def test_an_expression_that_is_null_moves_nothing() -> None:
    operator = WatermarkOperator(
        0, Ref(1, DataTypes.TIMESTAMP(3)), lines_of(T3, T3), session=ScalarSession()
    )
    job = OperatorRun(operator)
    job.lines([("+I", at(5), None)])
    job.end_of_batch()
    assert job.out.watermarks == []


def test_on_event_the_watermark_follows_its_line() -> None:
    job = run(on_event=True)
    seen: list[Any] = []
    job.out.accept = lambda records: seen.append(len(records))  # type: ignore[method-assign]
    job.out.watermark = lambda timestamp: seen.append(dt.timedelta(milliseconds=timestamp))  # type: ignore[method-assign]
    job.lines([("+I", at(t), 1) for t in (5, 3, 8, 8, 9, 1)])
    ms = [dt.timedelta(milliseconds=time) for time in (5, 8, 9)]
    assert seen == [1, ms[0], 2, ms[1], 2, ms[2], 1]


def test_batch_mode_has_no_watermarks_before_the_end() -> None:
    job = run(bounded=True)
    job.lines([("+I", at(20), 1)])
    job.operator.end_of_part()
    assert job.out.watermarks == []
    assert len(job.taken()) == 1
