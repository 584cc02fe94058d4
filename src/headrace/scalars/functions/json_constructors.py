"""JSON made of values of SQL, and texts quoted as JSON.

The first two arguments of JSON_OBJECT and JSON_ARRAY are constants: what becomes of NULL, and a
letter for each value, `r` if it is JSON already (scalars/json_arguments.py makes them).

In: values.  Out: entries.  Next: scalars/json_paths/values.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds
from headrace.scalars.functions.entry import NO_LITERAL, BoundCall, CallTypes, FunctionEntry
from headrace.scalars.functions.rules import STRING, VARCHAR, takes
from headrace.scalars.json_paths.documents import NotJsonError, parse, write
from headrace.scalars.json_paths.values import has_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import Operand, RowBody

# --- constructors --------------------------------------------------------------------------------


def _constructor_rule(operands: tuple[Operand, ...], *, pairs: bool) -> CallTypes | None:
    if len(operands) < 2 or any(operand.literal is NO_LITERAL for operand in operands[:2]):
        return None
    values = operands[3::2] if pairs else operands[2:]
    keys = operands[2::2] if pairs else ()
    if len(values) != len(operands[1].literal) or (pairs and len(keys) != len(values)):
        return None
    fits = all(has_json(value.type) for value in values)
    if not fits or not all(kinds.is_character(key.type) for key in keys):
        return None
    types = tuple(operand.type for operand in operands)
    return CallTypes(types, VARCHAR.not_null())


def _changes(call: BoundCall, types: tuple[DataType, ...]) -> list[Callable[[Any], Any]]:
    marks = call.literals[1]
    return [
        _parsed if mark == "r" else to_json(type_) for mark, type_ in zip(marks, types, strict=True)
    ]


def _parsed(text: str | None) -> Any:
    """A value that is JSON already, with its numbers as they are."""
    again = None if text is None else json_text(text)
    return None if again is None else parse(again)


def _object_body(call: BoundCall) -> RowBody:
    changes = _changes(call, call.arguments[3::2])
    absent = call.literals[0] == "ABSENT"

    def body(_on_null: str, _marks: str, *parts: Any) -> str:
        made: dict[str, Any] = {}
        for key, value, change in zip(parts[::2], parts[1::2], changes, strict=True):
            if key is None:
                message = "JSON_OBJECT was given NULL as a key"
                raise InvalidArgumentError(message, fix="leave that entry out")
            if value is not None or not absent:
                made[key] = change(value)
        return write(made)

    return body


def _array_body(call: BoundCall) -> RowBody:
    changes = _changes(call, call.arguments[2:])
    absent = call.literals[0] == "ABSENT"

    def body(_on_null: str, _marks: str, *values: Any) -> str:
        pairs = zip(changes, values, strict=True)
        return write([change(v) for change, v in pairs if v is not None or not absent])

    return body


def _json_string_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    if len(operands) != 1 or not has_json(operands[0].type):
        return None
    nullable = kinds.is_nullable(operands[0].type)
    return CallTypes((operands[0].type,), kinds.with_nullability(VARCHAR, nullable))


def _json_string_body(call: BoundCall) -> RowBody:
    change = to_json(call.arguments[0])
    return lambda value: write(change(value))


def json_text(text: str) -> str | None:
    """A document written anew; NULL of blanks."""
    if not text.strip("".join(map(chr, range(33)))):
        return None
    try:
        return write(parse(text))
    except NotJsonError as problem:
        message = f"JSON was given {text!r}, which is not JSON: {problem}"
        raise InvalidArgumentError(message, fix="test it with IS JSON first") from None


# --- quoting -------------------------------------------------------------------------------------

_QUOTED = {
    '"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r",
    "\t": "\\t",
}  # fmt: skip
_UNQUOTED = {short[1]: sign for sign, short in _QUOTED.items()}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def json_quote(text: str) -> str:
    """The text as a string of JSON; characters outside of ASCII are written as numbers."""
    return f'"{"".join(_quoted_sign(sign) for sign in text)}"'


def _quoted_sign(sign: str) -> str:
    if sign < "\x80":
        return _QUOTED.get(sign, sign)
    code = f"\\u{ord(sign):04x}"
    # Flink's loop meets a character outside of the first plane twice: whole, and its second half.
    low = "" if sign <= "\uffff" else f"\\u{0xDC00 + (ord(sign) - 0x10000) % 0x400:04x}"
    return code + low


def json_unquote(text: str) -> str:
    """The text of a string of JSON; anything else stays as it is."""
    try:
        parse(text)
    except NotJsonError:
        return text
    if not (text.startswith('"') and text.endswith('"')):
        return text
    units = _ESCAPE.sub(_unquoted_sign, text[1:-1])
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _unquoted_sign(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _UNQUOTED[found[2]]


# --- entries -------------------------------------------------------------------------------------


def _json(name: str, doc: str, form: str, **more: Any) -> FunctionEntry:
    return FunctionEntry(name=name, category="json", doc=doc, forms=(form,), **more)


ENTRIES = (
    _json(
        "JSON_STRING",
        "A value as JSON.",
        "JSON_STRING(value)",
        rule=_json_string_rule,
        row_of=_json_string_body,
    ),
    _json(
        "JSON_OBJECT",
        "An object of keys and values.",
        "JSON_OBJECT([[KEY] key VALUE value]* [{NULL | ABSENT} ON NULL])",
        rule=lambda operands: _constructor_rule(operands, pairs=True),
        row_of=_object_body,
        strict=False,
    ),
    _json(
        "JSON_ARRAY",
        "An array of values.",
        "JSON_ARRAY([value]* [{NULL | ABSENT} ON NULL])",
        rule=lambda operands: _constructor_rule(operands, pairs=False),
        row_of=_array_body,
        strict=False,
    ),
    _json(
        "JSON",
        "JSON that constructors take as it is; an error if it is none.",
        "JSON(string)",
        rule=takes(STRING, gives=VARCHAR),
        row=json_text,
    ),
    _json(
        "JSON_QUOTE",
        "The text as a string of JSON.",
        "JSON_QUOTE(string)",
        rule=takes(STRING, gives=VARCHAR),
        row=json_quote,
    ),
    _json(
        "JSON_UNQUOTE",
        "The text of a string of JSON.",
        "JSON_UNQUOTE(string)",
        rule=takes(STRING, gives=VARCHAR),
        row=json_unquote,
    ),
)
