"""UNNEST and table functions of users."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.common.data_types import DataTypes
from headrace.common.types import Row
from headrace.data.row_data import column_of
from headrace.errors import UserFunctionError
from headrace.runtime.table.correlate import UNNEST, UNNEST_WITH_ORDINALITY, CorrelateOperator
from headrace.runtime.table.user_tables import UserTable
from headrace.runtime.table.watermarks import WatermarkOperator
from headrace.scalars.nodes import Ref
from headrace.scalars.session import ScalarSession
from table_operators import INT, STRING, T3, OperatorRun, lines_of

ARRAY = DataTypes.ARRAY(INT)
ROWS = DataTypes.ARRAY(DataTypes.ROW([DataTypes.FIELD("x", INT), DataTypes.FIELD("y", STRING)]))
MAP = DataTypes.MAP(STRING, INT)
MULTISET = DataTypes.MULTISET(STRING)


def run(kind: Any, made: list[Any], lines: list[Any], **options: Any) -> list[Any]:
    function = options.pop("function", UNNEST)
    arguments = options.pop("arguments", [Ref(1, kind)])
    operator = CorrelateOperator(
        function, arguments, lines_of(STRING, kind, changes=True),
        lines_of(STRING, kind, *made, changes=True), **options, session=ScalarSession()
    )  # fmt: skip
    job = OperatorRun(operator)
    job.lines(lines)
    return [(line[0], line[1], *line[3:]) for line in job.taken()]


LINES = [("+I", "a", [1, 2]), ("-D", "b", []), ("+I", "c", None), ("+U", "d", [None, 3])]


def test_elements_of_arrays() -> None:
    assert run(ARRAY, [INT], LINES) == [
        ("+I", "a", 1), ("+I", "a", 2), ("+U", "d", None), ("+U", "d", 3),
    ]  # fmt: skip


def test_left_keeps_lines_without_elements_where_they_were() -> None:
    assert run(ARRAY, [INT], LINES, left=True) == [
        ("+I", "a", 1), ("+I", "a", 2), ("-D", "b", None), ("+I", "c", None),
        ("+U", "d", None), ("+U", "d", 3),
    ]  # fmt: skip


def test_ordinality_counts_from_one_in_each_line() -> None:
    found = run(ARRAY, [INT, INT], LINES, function=UNNEST_WITH_ORDINALITY)
    assert [line[3] for line in found] == [1, 2, 1, 2]


def test_rows_maps_and_multisets() -> None:
    lines: list[Any] = [("+I", "a", [(1, "x"), (2, None)])]
    assert run(ROWS, [INT, STRING], lines) == [("+I", "a", 1, "x"), ("+I", "a", 2, None)]
    lines = [("+I", "n", None), ("+I", "a", {"k": 1, "l": None})]
    assert run(MAP, [STRING, INT], lines) == [("+I", "a", "k", 1), ("+I", "a", "l", None)]
    lines = [("+I", "a", {"k": 2, "l": 1}), ("+I", "b", {"m": 1})]
    assert run(MULTISET, [STRING], lines) == [
        ("+I", "a", "k"), ("+I", "a", "k"), ("+I", "a", "l"), ("+I", "b", "m"),
    ]  # fmt: skip


def test_a_condition_leaves_elements_out() -> None:
    condition = Ref(2, DataTypes.BOOLEAN())
    kind = DataTypes.ARRAY(DataTypes.BOOLEAN())
    lines = [("+I", "a", [True, False]), ("+I", "b", [False, None])]
    made = [DataTypes.BOOLEAN()]
    assert run(kind, made, lines, condition=condition) == [("+I", "a", True)]
    assert run(kind, made, lines, condition=condition, left=True) == [
        ("+I", "a", True), ("+I", "b", None),
    ]  # fmt: skip


class Letters:
    def open(self, context: Any) -> None:
        self.opened = True

    def eval(self, text: str, times: int) -> Any:
        assert self.opened
        if text == "none":
            return None
        return [(letter, number) for letter in text for number in range(times)]


def test_functions_of_users_give_any_number_of_lines() -> None:
    arguments = [Ref(0, STRING), Ref(1, INT)]
    lines = [("+I", "xy", 1), ("-D", "none", 1), ("+I", "z", 2)]
    found = run(INT, [STRING, INT], lines, function=Letters(), arguments=arguments, left=True)
    assert found == [
        ("+I", "xy", "x", 0), ("+I", "xy", "y", 0), ("-D", "none", None, None),
        ("+I", "z", "z", 0), ("+I", "z", "z", 1),
    ]  # fmt: skip


def test_a_result_of_the_wrong_width_is_named() -> None:
    class Wrong:
        def eval(self, text: str) -> Any:
            yield (1, 2, 3)

    with pytest.raises(UserFunctionError, match="2 columns"):
        run(INT, [STRING, INT], [("+I", "x", 1)], function=Wrong(), arguments=[Ref(0, STRING)])


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, []),
        ("one", ["one"]),
        (["a", "b"], ["a", "b"]),
        (("a",), ["a"]),
        (Row("r"), ["r"]),
        (iter([("a",), "b"]), ["a", "b"]),
    ],
)
def test_results_have_the_forms_that_pyflink_takes(result: Any, expected: list[Any]) -> None:
    found = UserTable(
        Gives(result), [STRING], [STRING], [column_of(STRING)], session=ScalarSession()
    )
    found.open(
        OperatorRun(
            WatermarkOperator(0, Ref(0, T3), lines_of(T3), session=ScalarSession())
        ).operator.runtime
    )
    places, columns = found.call([pa.array(["x"])], 1)
    assert columns[0].to_pylist() == expected
    assert places.tolist() == [0] * len(expected)


class Gives:
    def __init__(self, result: Any) -> None:
        self.result = result

    def eval(self, text: str) -> Any:
        return self.result
