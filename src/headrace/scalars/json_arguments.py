"""The clauses of JSON functions as arguments of their calls.

    JSON_VALUE(j, '$.a' RETURNING INT NULL ON EMPTY)
        ──▶  call("JSON_VALUE", json_value_arguments(j, path, INT, on_empty=("NULL", None)))

Clauses become constants at fixed places; a type is a NULL of that type.  The result of JSON,
JSON_OBJECT and JSON_ARRAY goes into a JSON constructor as it is, other texts are quoted.

In: rel/resolve.  Out: arguments for scalars/build.py.  Next: scalars/functions/json.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.nodes import Call, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.data_types import DataType
    from headrace.scalars.nodes import Scalar

_JSON_CALLS = ("JSON", "JSON_OBJECT", "JSON_ARRAY")
_STRING = t.VarCharType(kinds.MAX_LENGTH)


def _word(text: str) -> Literal:
    return Literal(text, t.VarCharType(max(len(text), 1), nullable=False))


def _nothing() -> Literal:
    return Literal(None, t.NullType())


def json_exists_arguments(
    json: Scalar, path: Scalar, on_error: str | None = None
) -> tuple[Scalar, ...]:
    """Of JSON_EXISTS; `on_error` is TRUE, FALSE, UNKNOWN or ERROR, FALSE by default."""
    return (json, path, _word(on_error or "FALSE"))


def json_value_arguments(
    json: Scalar,
    path: Scalar,
    returning: DataType | None = None,
    *,
    on_empty: tuple[str, Scalar | None] | None = None,
    on_error: tuple[str, Scalar | None] | None = None,
) -> tuple[Scalar, ...]:
    """Of JSON_VALUE; behaviours are NULL, ERROR or DEFAULT with its value, NULL by default."""
    arguments: list[Scalar] = [json, path, Literal(None, (returning or _STRING).nullable())]
    for behaviour in (on_empty, on_error):
        kind, value = behaviour or ("NULL", None)
        arguments += [_word(kind), _nothing() if value is None else value]
    return tuple(arguments)


def json_query_arguments(
    json: Scalar,
    path: Scalar,
    returning: DataType | None = None,
    *,
    wrapper: str | None = None,
    on_empty: str | None = None,
    on_error: str | None = None,
) -> tuple[Scalar, ...]:
    """Of JSON_QUERY; words as in sql/ast.py, JsonClauses."""
    words = (wrapper or "WITHOUT ARRAY", on_empty or "NULL", on_error or "NULL")
    typed = Literal(None, (returning or _STRING).nullable())
    return (json, path, typed, *(_word(word) for word in words))


def json_object_arguments(
    entries: Sequence[tuple[Scalar, Scalar]], on_null: str | None = None
) -> tuple[Scalar, ...]:
    """Of JSON_OBJECT; `on_null` is NULL or ABSENT, NULL by default."""
    marks = "".join(_mark(value) for _, value in entries)
    parts = (part for entry in entries for part in entry)
    return (_word(on_null or "NULL"), _word(marks), *parts)


def json_array_arguments(
    values: Sequence[Scalar], on_null: str | None = None
) -> tuple[Scalar, ...]:
    """Of JSON_ARRAY; `on_null` is NULL or ABSENT, ABSENT by default."""
    marks = "".join(_mark(value) for value in values)
    return (_word(on_null or "ABSENT"), _word(marks), *values)


def is_json(value: Scalar) -> bool:
    """Whether a value is JSON already, so that it goes into other JSON as it is."""
    return isinstance(value, Call) and value.function in _JSON_CALLS


def _mark(value: Scalar) -> str:
    """`r` for a value that is JSON already, `v` for any other."""
    return "r" if is_json(value) else "v"
