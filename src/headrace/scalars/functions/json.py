"""JSON: whether a text is some, and paths into it.

Clauses of calls are constants at fixed places (scalars/json_arguments.py makes them).  Not there,
as in Flink 2.3: JSON_LENGTH, JSON_TYPE; the VARIANT functions.

In: texts with JSON.  Out: entries.  Next: scalars/functions/json_constructors.py
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds
from headrace.scalars.functions.entry import BoundCall, CallTypes, FunctionEntry
from headrace.scalars.functions.rules import STRING, VARCHAR, literal, takes
from headrace.scalars.json_paths.documents import (
    NotJsonError,
    is_scalar,
    parse,
    plain_text,
    write,
)
from headrace.scalars.json_paths.paths import JsonPathProblemError, path_in_mode, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import Operand, RowBody

_WORD = literal(STRING)


# --- IS JSON -------------------------------------------------------------------------------------


def _is_json(kind: str, *, negated: bool) -> Callable[[str | None], bool]:
    tests: dict[str, Callable[[Any], bool]] = {
        "VALUE": lambda _: True,
        "OBJECT": lambda value: isinstance(value, dict),
        "ARRAY": lambda value: isinstance(value, list),
        "SCALAR": is_scalar,
    }
    test = tests[kind]

    def body(text: str | None) -> bool:
        if text is None:
            return negated
        try:
            return test(parse(text)) is not negated
        except NotJsonError:
            return negated

    return body


def _is_json_entry(kind: str, *, negated: bool) -> FunctionEntry:
    no = "NOT " if negated else ""
    what = {"VALUE": "JSON", "SCALAR": "a JSON scalar"}.get(kind, f"a JSON {kind.lower()}")
    return FunctionEntry(
        name=f"IS {no}JSON {kind}",
        category="json",
        doc=f"Whether the text is {no.lower()}{what}.",
        forms=(f"string IS {no}JSON {kind}",),
        rule=takes(STRING, gives=t.BooleanType(), nullable=False),
        strict=False,
        row=_is_json(kind, negated=negated),
    )


# --- paths ---------------------------------------------------------------------------------------


def _failed(function: str, problem: object) -> InvalidArgumentError:
    fix = f"say what {function} gives then: ... ON EMPTY or ... ON ERROR"
    return InvalidArgumentError(f"{function}: {problem}", fix=fix)


def json_exists(json: str, path: str, on_error: str = "FALSE") -> bool | None:
    """Whether a path leads to something."""
    try:
        return read(json, path_in_mode(path)) is not None
    except JsonPathProblemError as problem:
        if on_error == "ERROR":
            raise _failed("JSON_EXISTS", problem) from None
        return {"TRUE": True, "FALSE": False}.get(on_error)


def json_value(
    json: str | None,
    path: str | None,
    _returning: None = None,
    on_empty: str = "NULL",
    empty_value: Any = None,
    on_error: str = "NULL",
    error_value: Any = None,
) -> tuple[Any, bool]:
    """The scalar that a path leads to, and whether it is of the document."""
    if json is None or path is None:
        return None, False
    mode = path_in_mode(path)
    try:
        value = read(json, mode)
        if value is not None and not is_scalar(value) and not mode.lax:
            raise JsonPathProblemError("strict mode wants a scalar")
    except JsonPathProblemError as problem:
        if on_error == "ERROR":
            raise _failed("JSON_VALUE", problem) from None
        return (error_value if on_error == "DEFAULT" else None), False
    if value is None or not is_scalar(value):
        if on_empty == "ERROR":
            raise _failed("JSON_VALUE", "the path leads to no scalar")
        return (empty_value if on_empty == "DEFAULT" else None), False
    return value, True


def _json_value_body(call: BoundCall) -> RowBody:
    convert = _CONVERSIONS[type(call.result)]

    def body(*arguments: Any) -> Any:
        value, of_document = json_value(*arguments)
        return convert(value) if of_document else value

    return body


def _only(kind: type, name: str) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        too_large = type(value) is int and not -(2**31) <= value < 2**31
        if type(value) is not kind or too_large:
            message = f"JSON_VALUE was to return {name}, but there is {plain_text(value)}"
            fix = "return STRING (the default) and TRY_CAST it"
            raise InvalidArgumentError(message, fix=fix)
        return value

    return convert


_decimal = _only(Decimal, "DOUBLE")
_CONVERSIONS: dict[type[DataType], Callable[[Any], Any]] = {
    t.VarCharType: plain_text,
    t.CharType: plain_text,
    t.BooleanType: _only(bool, "BOOLEAN"),
    t.IntType: _only(int, "INT"),
    t.DoubleType: lambda value: float(_decimal(value)),
}


def _json_value_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    if len(operands) not in (2, 7):
        return None
    texts = [STRING(operand) for operand in operands[:2]]
    result = operands[2].type if len(operands) == 7 else VARCHAR
    if texts[0] is None or texts[1] is None or type(result) not in _CONVERSIONS:
        return None
    types: list[DataType] = [texts[0], texts[1]]
    for place, operand in enumerate(operands[2:]):
        is_default = place in (2, 4) and not kinds.is_null(operand.type)
        types.append(result.nullable() if is_default else operand.type)
    return CallTypes(tuple(types), result.nullable())


_EMPTY: dict[str, Any] = {"NULL": None, "EMPTY ARRAY": [], "EMPTY OBJECT": {}}


def json_query(
    json: str,
    path: str,
    _returning: None = None,
    wrapper: str = "WITHOUT ARRAY",
    on_empty: str = "NULL",
    on_error: str = "NULL",
) -> Any:
    """The object or array that a path leads to."""
    mode = path_in_mode(path)
    try:
        value = read(json, mode)
        if value is not None and wrapper != "WITHOUT ARRAY":
            keep = wrapper == "WITH CONDITIONAL ARRAY" and isinstance(value, list)
            value = value if keep else [value]
        if value is not None and is_scalar(value) and not mode.lax:
            raise JsonPathProblemError("strict mode wants an object or an array")
    except JsonPathProblemError as problem:
        if on_error == "ERROR":
            raise _failed("JSON_QUERY", problem) from None
        return _EMPTY[on_error]
    if value is None or is_scalar(value):
        if on_empty == "ERROR":
            raise _failed("JSON_QUERY", "the path leads to no object and no array")
        return _EMPTY[on_empty]
    return value


def _json_query_body(call: BoundCall) -> RowBody:
    def text(*arguments: Any) -> str | None:
        found = json_query(*arguments)
        return None if found is None else write(found)

    def array(*arguments: Any) -> list[str | None] | None:
        found = json_query(*arguments)
        if isinstance(found, list):
            return [_item_text(item) for item in found]
        if found is not None and arguments[5] == "ERROR":
            raise _failed("JSON_QUERY", "there is an object where an array was to be returned")
        return [] if found is not None and arguments[5] == "EMPTY ARRAY" else None

    run = array if isinstance(call.result, t.ArrayType) else text
    return lambda *arguments: None if None in arguments[:2] else run(*arguments)


def _item_text(item: Any) -> str | None:
    return None if item is None else plain_text(item) if is_scalar(item) else write(item)


def _json_query_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    if len(operands) not in (2, 6):
        return None
    texts = [STRING(operand) for operand in operands[:2]]
    result = operands[2].type if len(operands) == 6 else VARCHAR
    is_array = isinstance(result, t.ArrayType) and kinds.is_character(result.element_type)
    if texts[0] is None or texts[1] is None or not (is_array or kinds.is_character(result)):
        return None
    objects = any(operand.literal == "EMPTY OBJECT" for operand in operands[4:])
    if is_array and objects:
        return None
    rest = tuple(operand.type for operand in operands[2:])
    return CallTypes((texts[0], texts[1], *rest), result.nullable())


# --- entries -------------------------------------------------------------------------------------


def _json(name: str, doc: str, form: str, **more: Any) -> FunctionEntry:
    return FunctionEntry(name=name, category="json", doc=doc, forms=(form,), **more)


ENTRIES = (
    *(
        _is_json_entry(kind, negated=negated)
        for kind in ("VALUE", "OBJECT", "ARRAY", "SCALAR")
        for negated in (False, True)
    ),
    _json(
        "JSON_EXISTS",
        "Whether a path leads to something.",
        "JSON_EXISTS(json, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])",
        rule=takes(STRING, STRING, _WORD, needs=2, gives=t.BooleanType(), nullable=True),
        row=json_exists,
    ),
    _json(
        "JSON_VALUE",
        "The scalar that a path leads to.",
        "JSON_VALUE(json, path [RETURNING {STRING | BOOLEAN | INT | DOUBLE}] "
        "[{NULL | ERROR | DEFAULT value} ON EMPTY] [{NULL | ERROR | DEFAULT value} ON ERROR])",
        rule=_json_value_rule,
        row_of=_json_value_body,
        strict=False,
    ),
    _json(
        "JSON_QUERY",
        "The object or array that a path leads to.",
        "JSON_QUERY(json, path [RETURNING {STRING | ARRAY<STRING>}] [{WITHOUT | WITH "
        "[CONDITIONAL | UNCONDITIONAL]} [ARRAY] WRAPPER] "
        "[{NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR} ON EMPTY] "
        "[{NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR} ON ERROR])",
        rule=_json_query_rule,
        row_of=_json_query_body,
        strict=False,
    ),
)
