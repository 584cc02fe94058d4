"""Aggregates of users: accumulators, views in state, pandas functions, lines for groups."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from headrace.api.table.definitions import UserFunctionDefinition
from headrace.api.table.functions import (
    AggregateFunction,
    DelegatingPandasAggregateFunction,
    TableAggregateFunction,
)
from headrace.api.table.views import ListView, MapView
from headrace.common.data_types import DataTypes as D
from headrace.common.types import Row
from headrace.errors import UnsupportedStepError, UserFunctionError
from headrace.runtime.table.group_aggregate import GroupAggregateOperator
from headrace.runtime.table.table_aggregate import TableAggregateOperator
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.session import ScalarSession
from table_operators import BIGINT, DOUBLE, INT, STRING, OperatorRun, lines_of, whole_input


class WeightedMean(AggregateFunction[Any, Any]):
    """The accumulator is a Row."""

    def open(self, function_context: Any) -> None:
        self.opened = function_context.get_index_of_this_subtask()

    def create_accumulator(self) -> Row:
        return Row(0, 0)

    def accumulate(self, accumulator: Row, *args: Any) -> None:
        value, weight = args
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator: Row, *args: Any) -> None:
        value, weight = args
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def get_value(self, accumulator: Row) -> Any:
        assert self.opened == 0
        return accumulator[0] / accumulator[1] if accumulator[1] else None


class Tally(AggregateFunction[Any, Any]):
    """The accumulator has views."""

    def create_accumulator(self) -> list[Any]:
        return [MapView(), ListView(), 0]

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        counts, order, _ = accumulator
        counts[args[0]] = (counts[args[0]] or 0) + 1
        order.add(args[0])
        accumulator[2] += 1

    def get_value(self, accumulator: list[Any]) -> Any:
        counts, order, total = accumulator
        return Row(total, max(counts.keys()), sum(counts.values()), list(order)[-1])


class TopTwo(TableAggregateFunction[Any, Any]):
    """The two largest values, with their ranks."""

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(args[0])

    def retract(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.remove(args[0])

    def emit_value(self, accumulator: list[Any]) -> Any:
        for place, value in enumerate(sorted(accumulator, reverse=True)[:2]):
            yield Row(value, place)


class OfRow(AggregateFunction[Any, Any]):
    """Takes whole lines."""

    def create_accumulator(self) -> list[Any]:
        return [0, None]

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        (row,) = args
        accumulator[0] += row.b
        accumulator[1] = row[0]

    def get_value(self, accumulator: list[Any]) -> Any:
        return f"{accumulator[1]}:{accumulator[0]}"


class LatestHour(AggregateFunction[Any, Any]):
    """Sees times of the session's zone."""

    def create_accumulator(self) -> list[Any]:
        return [None]

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator[0] = args[0]

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0].hour


def call(function: Any, result: Any, *arguments: int, **options: Any) -> AggregateCall:
    kind: Any = "table_aggregate" if isinstance(function, TableAggregateFunction) else "aggregate"
    user = UserFunctionDefinition(kind, "f", function, result, **options)
    return AggregateCall("f", arguments, result, user=user)


def test_an_accumulator_goes_on_after_a_restart() -> None:
    operator = GroupAggregateOperator(
        lines_of(STRING, INT, INT, changes=True), lines_of(STRING, DOUBLE, BIGINT, changes=True),
        (0,), [call(WeightedMean(), DOUBLE, 1, 2), AggregateCall("COUNT", (), BIGINT)],
        session=ScalarSession(),
    )  # fmt: skip
    run = OperatorRun(operator, (0,))
    run.lines([("+I", "a", 1, 1), ("+I", "a", 4, 2)])
    assert run.taken() == [("+I", "a", 3.0, 2)]  # once a batch, as in PyFlink
    run.restart()
    run.lines([("-D", "a", 1, 1), ("+I", "b", 5, 1)])
    assert run.taken() == [("-U", "a", 3.0, 2), ("+U", "a", 4.0, 1), ("+I", "b", 5.0, 1)]
    run.restart()
    run.lines([("-D", "a", 4, 2), ("-D", "b", 5, 1)])
    assert run.taken() == [("-D", "a", 4.0, 1), ("-D", "b", 5.0, 1)]
    assert run.entries() == 0


def test_views_of_any_size_are_kept_in_state() -> None:
    result = D.ROW([D.FIELD(name, INT) for name in "abcd"])
    operator = GroupAggregateOperator(
        lines_of(STRING, INT), lines_of(STRING, result, changes=True), (0,),
        [call(Tally(), result, 1)], ttl_ms=1000, session=ScalarSession()
    )  # fmt: skip
    run = OperatorRun(operator, (0,))
    run.time = 1
    for start in range(0, 3000, 600):
        run.lines([("+I", "a", n) for n in range(start, start + 800)])
        run.lines([("+I", "b", 1)])
        run.restart()
    assert run.taken()[-3:] == [
        ("+U", "a", (4000, 3199, 4000, 3199)), ("-U", "b", (4, 1, 4, 1)), ("+U", "b", (5, 1, 5, 1)),
    ]  # fmt: skip
    run.time = 5000
    assert run.entries() == 0


def test_no_class_of_ours_is_in_the_store() -> None:
    result = D.ROW([D.FIELD(name, INT) for name in "abcd"])
    operator = GroupAggregateOperator(
        lines_of(STRING, INT, INT), lines_of(STRING, DOUBLE, result, changes=True), (0,),
        [call(WeightedMean(), DOUBLE, 1, 2), call(Tally(), result, 1)], session=ScalarSession()
    )  # fmt: skip
    run = OperatorRun(operator, (0,))
    run.lines([("+I", "a", 1, 1)])
    run.end_of_batch()
    assert not [key for key, content in run.store.content.items() if b"headrace" in content]


def test_a_function_without_retract_is_refused_at_once() -> None:
    operator = GroupAggregateOperator(
        lines_of(STRING, INT, changes=True), lines_of(STRING, INT, changes=True), (0,),
        [call(OfRow(), INT, 1)], session=ScalarSession()
    )  # fmt: skip
    with pytest.raises(UnsupportedStepError, match="OfRow has no retract"):
        OperatorRun(operator, (0,))


def test_a_function_takes_the_whole_line() -> None:
    operator = GroupAggregateOperator(
        lines_of(STRING, INT, names=("a", "b")), lines_of(STRING, STRING, changes=True), (0,),
        [call(OfRow(), STRING, 0, 1, takes_row=True)], session=ScalarSession()
    )  # fmt: skip
    run = OperatorRun(operator, (0,))
    run.lines([("+I", "x", 1), ("+I", "x", 2)])
    assert run.taken() == [("+I", "x", "x:3")]


def test_times_are_of_the_sessions_zone() -> None:
    operator = GroupAggregateOperator(
        lines_of(STRING, D.TIMESTAMP_LTZ(3)), lines_of(STRING, INT, changes=True), (0,),
        [call(LatestHour(), INT, 1)], session=ScalarSession("+02:00"),
    )  # fmt: skip
    run = OperatorRun(operator, (0,))
    run.lines([("+I", "x", dt.datetime(2020, 1, 1, 10, tzinfo=dt.UTC))])
    assert run.taken() == [("+I", "x", 12)]


def test_pandas_functions_see_all_lines_of_a_group() -> None:
    mean = DelegatingPandasAggregateFunction(lambda values: values.mean())
    operator = GroupAggregateOperator(
        lines_of(STRING, INT), lines_of(STRING, DOUBLE, changes=True), (0,),
        [call(mean, DOUBLE, 1, pandas=True)], session=ScalarSession()
    )  # fmt: skip
    lines = [("+I", "a", 1), ("+I", "b", 7), ("+I", "a", 2)]
    assert whole_input(operator, lines, (0,)) == [("+I", "a", 1.5), ("+I", "b", 7.0)]


def test_an_error_of_a_function_says_where_it_is() -> None:
    operator = GroupAggregateOperator(
        lines_of(STRING, INT, INT), lines_of(STRING, DOUBLE, changes=True), (0,),
        [call(WeightedMean(), DOUBLE, 1, 2)], session=ScalarSession()
    )  # fmt: skip
    with pytest.raises(UserFunctionError, match="TypeError"):
        OperatorRun(operator, (0,)).lines([("+I", "a", None, 1)])


def flat(**options: Any) -> TableAggregateOperator:
    return TableAggregateOperator(
        lines_of(STRING, INT, changes=True), lines_of(STRING, INT, INT, changes=True), (0,),
        call(TopTwo(), D.ROW([D.FIELD("v", INT), D.FIELD("r", INT)]), 1), **options,
        session=ScalarSession(),
    )  # fmt: skip


def test_a_table_aggregate_takes_back_what_it_gave() -> None:
    run = OperatorRun(flat(), (0,))
    run.lines([("-D", "a", 1), ("+I", "a", 1), ("+I", "a", 5), ("-D", "b", 3)])
    assert run.taken() == [("+I", "a", 5, 0), ("+I", "a", 1, 1)]
    run.restart()
    run.lines([("+I", "a", 3)])
    assert run.taken() == [
        ("-D", "a", 5, 0), ("-D", "a", 1, 1), ("+I", "a", 5, 0), ("+I", "a", 3, 1),
    ]  # fmt: skip
    run.lines([("-D", "a", n) for n in (1, 3, 5)])
    assert run.taken() == [("-D", "a", 5, 0), ("-D", "a", 3, 1)]
    assert run.entries() == 0


def test_a_table_aggregate_in_batch_mode_and_without_retractions() -> None:
    lines = [("+I", "a", 1), ("+I", "b", 2), ("+I", "a", 5)]
    assert whole_input(flat(), lines, (0,)) == [
        ("+I", "a", 5, 0), ("+I", "a", 1, 1), ("+I", "b", 2, 0),
    ]  # fmt: skip
    run = OperatorRun(flat(before=False), (0,))
    run.lines(lines[:1])
    run.lines(lines[2:])
    assert run.taken() == [("+I", "a", 1, 0), ("+I", "a", 5, 0), ("+I", "a", 1, 1)]
