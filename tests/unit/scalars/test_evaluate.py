"""Expressions over batches and lines: lazy parts, constants, errors, functions of the user."""

from __future__ import annotations

import asyncio
import pickle
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest

from headrace.api.table.definitions import UserFunctionDefinition
from headrace.api.table.functions import AsyncScalarFunction, ScalarFunction
from headrace.common import data_types as t
from headrace.common.types import Row
from headrace.errors import (
    EvaluationError,
    InvalidArgumentError,
    TypeMismatchError,
    UserFunctionError,
)
from headrace.scalars import parts
from headrace.scalars.build import call, case, cast
from headrace.scalars.compile import Compiler, fold_constants, is_deterministic
from headrace.scalars.evaluate import Condition, Evaluator, Projector, row_function
from headrace.scalars.functions.registry import all_entries, lookup
from headrace.scalars.nodes import Call, Literal, Ref, UserCall
from headrace.scalars.session import ScalarSession
from headrace.scalars.values import arrow_column

INT, TEXT, TRUTH = t.IntType(), t.VarCharType(t.MAX_LENGTH), t.BooleanType()
A, B = Ref(0, INT), Ref(1, INT)
ONE, ZERO = Literal(1, INT.not_null()), Literal(0, INT.not_null())
RATIO = call("/", [A, B])  # raises where the second column is 0


def batch(*columns: list[Any], types: tuple[t.DataType, ...] | None = None) -> pa.RecordBatch:
    kinds = types or (INT,) * len(columns)
    arrays = [arrow_column(list(c), kind) for c, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])


def values(node: Any, *columns: list[Any], **options: Any) -> list[Any]:
    found: list[Any] = (
        Evaluator(node, options.pop("session", ScalarSession()))
        .run(batch(*columns, **options))
        .to_pylist()
    )
    return found


LINES = ([6, 7, None, 8], [2, 0, 3, 0])


def test_a_line_without_a_result_is_an_error_with_its_values() -> None:
    with pytest.raises(EvaluationError, match=r"/ has no result for \(7, 0\): division by zero"):
        values(RATIO, *LINES)
    with pytest.raises(EvaluationError, match=r"/ has no result for \(7, 0\)"):
        row_function(RATIO, session=ScalarSession())((7, 0))


def test_a_cast_that_fails_names_the_way_out() -> None:
    with pytest.raises(EvaluationError) as raised:
        values(cast(Ref(0, TEXT), INT), ["1", "x"], types=(TEXT,))
    assert "CAST AS INT has no result for ('x')" in raised.value.message
    assert "TRY_CAST" in str(raised.value.fix)


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        (case([(call("=", [B, ZERO]), Literal(-1, INT))], RATIO), [3, -1, None, -1]),
        (call("IF", [call("=", [B, ZERO]), Literal(-1, INT), RATIO]), [3, -1, None, -1]),
        (call("AND", [call("<>", [B, ZERO]), call("=", [RATIO, Literal(3, INT)])]),
         [True, False, None, False]),
        (call("OR", [call("=", [B, ZERO]), call("=", [RATIO, Literal(3, INT)])]),
         [True, True, None, True]),
        (call("COALESCE", [call("NULLIF", [B, ZERO]), A]), [2, 7, 3, 8]),
        (call("COALESCE", [case([(call("=", [B, ZERO]), A)]), RATIO]), [3, 7, None, 8]),
    ],
)  # fmt: skip
def test_what_is_not_needed_is_not_computed(node: Any, wanted: list[Any]) -> None:
    assert values(node, *LINES) == wanted
    assert [
        row_function(node, session=ScalarSession())(line) for line in zip(*LINES, strict=True)
    ] == wanted


def test_lazy_parts_of_empty_batches() -> None:
    node = case([(call("=", [B, ZERO]), Literal(-1, INT))], RATIO)
    assert values(node, [], []) == []
    assert values(call("AND", [call("<>", [B, ZERO]), call("=", [RATIO, ONE])]), [], []) == []


def test_an_error_in_a_branch_that_is_taken_is_raised() -> None:
    node = case([(call("<>", [B, ZERO]), Literal(-1, INT))], RATIO)
    with pytest.raises(EvaluationError, match="division by zero"):
        values(node, *LINES)


def test_constants_are_computed_once_and_errors_stay() -> None:
    session = ScalarSession()
    assert fold_constants(call("+", [ONE, ONE]), session) == Literal(2, INT.not_null())
    folded = fold_constants(call("+", [A, call("+", [ONE, ONE])]), session)
    assert folded == call("+", [A, Literal(2, INT.not_null())])
    failing = call("/", [ONE, ZERO])
    assert fold_constants(failing, session) == failing
    assert fold_constants(call("NOW", []), session) == call("NOW", [])


def test_equal_parts_of_a_projection_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    once = parts.CallPart.datum

    def counted(self: parts.CallPart, frame: Any) -> Any:
        ran.append(self.title)
        return once(self, frame)

    monkeypatch.setattr(parts.CallPart, "datum", counted)
    total = call("+", [A, B])
    projector = Projector([call("*", [total, total]), total], session=ScalarSession())
    assert [a.to_pylist() for a in projector.run(batch([1, 2], [3, 4]))] == [[16, 36], [4, 6]]
    assert sorted(ran) == ["*", "+"]


def test_equal_texts_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    entry = lookup("REGEXP_EXTRACT")
    body = entry.row
    assert body is not None

    def noted(text: str, *rest: Any) -> Any:
        looked.append(text)
        return body(text, *rest)

    changed = replace(entry, row=noted)
    monkeypatch.setattr("headrace.scalars.compile.lookup", lambda name: changed)
    pattern, group = Literal("b(.)", TEXT.not_null()), Literal(1, INT.not_null())
    node = Call("REGEXP_EXTRACT", (Ref(0, TEXT), pattern, group), TEXT)
    texts = ["abc", None, "nothing", "bx"] * parts.MANY_LINES
    assert values(node, texts, types=(TEXT,)) == ["c", None, None, "x"] * parts.MANY_LINES
    assert looked == ["abc", "nothing", "bx"]
    assert values(node, texts[:4], types=(TEXT,)) == ["c", None, None, "x"]


def test_the_rest_of_numbers_of_two_widths_has_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.CallPart, "_loop", None)  # nothing is done line by line
    long = Ref(0, t.BigIntType())
    numbers = [-(2**62) - 1, -7, -1, 0, 1, 7, 2**62 + 1, None]
    found = values(call("MOD", [long, Literal(3, INT.not_null())]), numbers, types=(long.type,))
    assert found == [None if n is None else abs(n) % 3 * (-1 if n < 0 else 1) for n in numbers]
    divisors = [5, -5, 3, 1, -1, 2, 3, 4]
    found = values(call("%", [long, B]), numbers, divisors, types=(long.type, INT))
    assert found == [-0, -2, -1, 0, 0, 1, 2, None]


def test_random_parts_are_not_shared() -> None:
    node = call("RAND", [])
    assert not is_deterministic(node)
    one, other = Projector([node, node], session=ScalarSession()).run(batch([1] * 5))
    assert one != other
    assert len(set(one.to_pylist())) == 5


def test_evaluators_survive_pickling() -> None:
    session = ScalarSession("Asia/Tokyo")
    for made in (Evaluator(RATIO, session), Condition(call("=", [A, B]), session)):
        made.run(batch([4], [2]))
        again = pickle.loads(pickle.dumps(made))
        assert type(again) is type(made)
        assert again.session == session
        assert again.run(batch([4], [2])) == made.run(batch([4], [2]))


def test_a_condition_leaves_out_what_is_not_known() -> None:
    condition = Condition(call("<", [A, B]), session=ScalarSession())
    lines = batch([1, 5, None], [2, 2, 2])
    assert condition.mask(lines).to_pylist() == [True, False, False]
    assert condition.filter(lines).to_pydict() == {"c0": [1], "c1": [2]}


def test_conditions_and_values_of_one_constant_fill_the_batch() -> None:
    assert values(ONE, [5, 6, 7]) == [1, 1, 1]
    assert Condition(Literal(True, TRUTH), session=ScalarSession()).mask(
        batch([5, 6])
    ).to_pylist() == [True, True]


# --- the session -----------------------------------------------------------------------------


def test_the_clock_stands_still_in_batch_mode() -> None:
    start = datetime(2020, 5, 17, 22, 30, tzinfo=UTC)
    session = ScalarSession("Asia/Tokyo", query_time_ns=int(start.timestamp()) * 10**9)
    lines = batch([1, 2])
    assert Evaluator(call("NOW", []), session).run(lines).to_pylist() == [start, start]
    today = Evaluator(call("CURRENT_DATE", []), session).run(lines).to_pylist()
    assert [str(day) for day in today] == ["2020-05-18"] * 2


def test_the_clock_of_a_record_goes_on_in_batch_mode() -> None:
    session = ScalarSession(query_time_ns=0)
    clock = Evaluator(call("CURRENT_ROW_TIMESTAMP", []), session)
    (found,) = clock.run(batch([1])).to_pylist()
    assert found > datetime(2020, 1, 1, tzinfo=UTC)
    time.sleep(0.01)
    later = set(clock.run(batch([1] * 5)).to_pylist())  # lines of a batch are processed at once
    assert len(later) == 1
    assert later.pop() > found


def test_legacy_casts_give_null() -> None:
    node = cast(Ref(0, TEXT), INT)
    session = ScalarSession(legacy_cast=True)
    assert values(node, ["1", "x"], types=(TEXT,), session=session) == [1, None]


# --- names and forms -------------------------------------------------------------------------


def test_an_unknown_function_has_close_matches() -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        lookup("upperr")
    assert "UPPER" in str(raised.value.fix)
    assert lookup("mod") is lookup("%")


def test_arguments_that_fit_no_form_list_the_forms() -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        call("LIKE", [A, B])
    assert raised.value.message == "LIKE does not take (INT, INT)"
    assert "string LIKE pattern" in str(raised.value.fix)


def test_a_cast_that_can_never_work_is_refused_when_it_is_made() -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        cast(A, t.TimestampType(3))
    assert "TO_TIMESTAMP_LTZ" in str(raised.value.fix)


def test_branches_without_a_common_type_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="no type in common: INT, BOOLEAN"):
        case([(Literal(True, TRUTH), A)], Literal(True, TRUTH))


def test_every_function_has_a_body_and_its_words() -> None:
    for name, entry in all_entries().items():
        assert (entry.row is None) != (entry.row_of is None), name
        assert entry.arrow is None or entry.arrow_of is None, name
        assert entry.doc.endswith("."), name
        assert entry.forms, name
        assert entry.name == entry.name.upper(), name


# --- decimals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("CEIL", [], "1000"),
        ("ROUND", [Literal(0, INT.not_null())], "1000"),
        ("ROUND", [Literal(-1, INT.not_null())], "1000"),
        ("ROUND", [Literal(1, INT.not_null())], "1000.0"),
    ],
)
def test_rounding_has_room_for_a_digit_more(name: str, arguments: Any, wanted: str) -> None:
    kind = t.DecimalType(5, 2)
    node = call(name, [Ref(0, kind), *arguments])
    assert values(node, [Decimal("999.99")], types=(kind,)) == [Decimal(wanted)]


def test_digits_that_do_not_fit_are_null_or_an_error() -> None:
    wide = t.DecimalType(38, 0)
    top = Decimal("9" * 38)
    node = call("+", [Ref(0, wide), Literal(Decimal(1), wide.not_null())])
    assert values(node, [top], types=(wide,)) == [None]
    sure = call("+", [Ref(0, wide.not_null()), Literal(Decimal(1), wide.not_null())])
    with pytest.raises(EvaluationError, match="too many digits"):
        values(sure, [top], types=(wide,))


# --- functions of the user -------------------------------------------------------------------


class Plus(ScalarFunction):
    def __init__(self) -> None:
        self.state = "made"

    def open(self, function_context: Any) -> None:
        self.state = f"opened with {function_context}"

    def close(self) -> None:
        self.state = "closed"

    def eval(self, one: Any, other: Any) -> Any:
        return None if one is None else one + other


class Plain(ScalarFunction):
    def __init__(self, func: Any) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        return self.func(*args)


def noting(seen: list[Any], place: int = 0) -> Any:
    """A function that notes what it is given, and gives one of its arguments."""

    def run(*given: Any) -> Any:
        seen.append(given)
        return given[place]

    return run


class Waiting(AsyncScalarFunction):
    async def eval(self, value: Any) -> Any:
        await asyncio.sleep(0.001 * (5 - value))
        return value * 2


def definition(function: Any, result: t.DataType, **options: Any) -> UserFunctionDefinition:
    return UserFunctionDefinition(
        options.pop("kind", "scalar"), "mine", function, result, **options
    )


def test_a_function_of_the_user_is_opened_called_and_closed() -> None:
    plus = Plus()
    evaluator = Evaluator(UserCall(definition(plus, INT), (A, B), INT), session=ScalarSession())
    evaluator.open("context")
    assert plus.state == "opened with context"
    assert evaluator.run(batch([1, None], [2, 3])).to_pylist() == [3, None]
    assert evaluator.row()((1, 2)) == 3
    evaluator.close()
    assert plus.state == "closed"


def test_a_function_that_raises_is_named_with_what_it_was_given() -> None:
    node = UserCall(
        definition(Plain(lambda value: 1 / value), t.DoubleType()), (A,), t.DoubleType()
    )
    with pytest.raises(UserFunctionError) as raised:
        values(node, [1, 0])
    assert raised.value.message == "function mine raised ZeroDivisionError: division by zero"
    assert raised.value.record == "(0)"
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_function_that_gives_another_type_is_an_error() -> None:
    with pytest.raises(TypeMismatchError, match="gave a value that is no INT"):
        values(UserCall(definition(Plain(str), INT), (A,), INT), [1])


def test_functions_see_rows_intervals_and_times_as_pyflinks_do() -> None:
    seen: list[Any] = []
    row = t.RowType([t.RowField("a", INT), t.RowField("b", TEXT)])
    span = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.SECOND)
    stamp = t.LocalZonedTimestampType(3)
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    node = UserCall(
        definition(Plain(noting(seen, 0)), row),
        (Ref(0, row), Ref(1, span), Ref(2, stamp)),
        row,
    )
    lines = batch([(1, "x")], [1500], [moment], types=(row, span, stamp))
    found = Evaluator(node, ScalarSession("Asia/Tokyo")).run(lines).to_pylist()
    assert found == [{"a": 1, "b": "x"}]
    given = seen[0]
    assert isinstance(given[0], Row)
    assert given[0].b == "x"
    assert given[1] == timedelta(milliseconds=1500)
    assert given[2] == moment
    assert given[2].utcoffset() == timedelta(hours=9)


def test_pandas_functions_get_series_and_constants() -> None:
    seen: list[Any] = []

    def add(one: Any, other: Any) -> Any:
        seen.append((type(one), other))
        return one + other

    node = UserCall(definition(Plain(add), INT, pandas=True), (A, Literal(5, INT)), INT)
    assert values(node, [1, 2]) == [6, 7]
    assert seen == [(pd.Series, 5)]
    assert row_function(node, session=ScalarSession())((1,)) == 6


def test_pandas_functions_give_a_value_for_each_line() -> None:
    node = UserCall(definition(Plain(lambda s: s[:1]), INT, pandas=True), (A,), INT)
    with pytest.raises(TypeMismatchError, match="was given 2 lines and gave 1 values"):
        values(node, [1, 2])


def test_pandas_functions_of_zoned_times_and_rows() -> None:
    stamp = t.LocalZonedTimestampType(3)
    row = t.RowType([t.RowField("a", INT)])
    zones: list[Any] = []

    def look(series: Any) -> Any:
        zones.append(series.dt.tz)
        return pd.DataFrame({"a": series.dt.hour})

    node = UserCall(definition(Plain(look), row, pandas=True), (Ref(0, stamp),), row)
    lines = batch([datetime(2020, 1, 1, tzinfo=UTC)], types=(stamp,))
    found = Evaluator(node, ScalarSession("Asia/Tokyo")).run(lines)
    assert found.to_pylist() == [{"a": 9}]
    assert zones == [ZoneInfo("Asia/Tokyo")]


def test_asynchronous_functions_keep_the_order() -> None:
    node = UserCall(definition(Waiting(), INT, kind="async_scalar"), (A,), INT)
    assert values(node, [1, 2, 3, 4]) == [2, 4, 6, 8]
    assert row_function(node, session=ScalarSession())((4,)) == 8


def test_functions_of_the_user_in_a_branch_run_where_it_is_taken() -> None:
    seen: list[Any] = []
    user = UserCall(definition(Plain(noting(seen)), INT), (A,), INT)
    node = case([(call("<>", [B, ZERO]), user)], ONE)
    assert values(node, [1, 2, 3], [1, 0, 1]) == [1, 1, 3]
    assert seen == [(1,), (3,)]


def test_functions_that_take_the_line_get_one_row() -> None:
    function = definition(Plain(lambda row: row[0] + row[1]), INT, takes_row=True)
    assert values(UserCall(function, (A, B), INT), [1], [2]) == [3]


def test_nodes_of_literals_that_cannot_be_hashed_are_compiled() -> None:
    kind = t.ArrayType(INT)
    node = call("CARDINALITY", [Literal([1, 2], kind)])
    assert isinstance(node, Call)
    assert Compiler(ScalarSession(), [node, node]).part(node).row()(()) == 2
