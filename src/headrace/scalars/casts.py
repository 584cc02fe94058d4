"""CAST and TRY_CAST: from every type to every other that Flink allows.

    cast_body(STRING, INT, session)("42")    42
    can_cast(DATE, INT)                      False

In: two types and the session.  Out: a body over one value that is not None, and a kernel for whole
columns where there is one (scalars/casting/kernels.py).  Next: scalars/casting/numbers.py
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds
from headrace.scalars.casting import nested, numbers, texts, times
from headrace.scalars.casting.kernels import kernel_of
from headrace.scalars.interval_types import MILLIS, MONTHS, millis_text, months_text
from headrace.scalars.session import ScalarSession

if TYPE_CHECKING:
    from headrace.common.data_types import DataType

Body = Callable[[Any], Any]
Maker = Callable[["DataType", "DataType", ScalarSession], "Body | None"]

_FAMILIES: tuple[tuple[str, tuple[type[DataType], ...]], ...] = (
    ("boolean", (t.BooleanType,)),
    ("integer", (t.IntegralType,)),
    ("approximate", (t.FloatType, t.DoubleType)),
    ("decimal", (t.DecimalType,)),
    ("text", (t.CharType, t.VarCharType)),
    ("bytes", (t.BinaryType, t.VarBinaryType)),
    ("date", (t.DateType,)),
    ("time", (t.TimeType,)),
    ("timestamp", (t.TimestampType,)),
    ("local", (t.LocalZonedTimestampType,)),
    ("months", (t.YearMonthIntervalType,)),
    ("millis", (t.DayTimeIntervalType,)),
    ("array", (t.ArrayType,)),
    ("multiset", (t.MultisetType,)),
    ("map", (t.MapType,)),
    ("row", (t.RowType,)),
)


def _family(type_: DataType) -> str:
    return next((name for name, members in _FAMILIES if isinstance(type_, members)), "other")


def can_cast(source: DataType, target: DataType) -> bool:
    """Whether values of one type may be cast to another; single values may still fail."""
    try:
        _made(source, target, ScalarSession())
    except InvalidArgumentError:
        return False
    return True


def check_castable(source: DataType, target: DataType) -> None:
    """Refuses a cast that can never work.

    Raises:
        InvalidArgumentError: with the way that Flink has instead.
    """
    _made(source, target, ScalarSession())


def cast_body(
    source: DataType, target: DataType, session: ScalarSession, *, lenient: bool = False
) -> Body:
    """The cast of one value that is not None.

    Args:
        source: the type of the value.
        target: the type to get.
        session: for times: its zone.
        lenient: whether a value that cannot be cast gives None.
    """
    made = nested.optional(_made(source, target, session))
    if lenient or session.legacy_cast:
        return _lenient(made)
    return made if kinds.is_nullable(target) else _required(made, target)


def _lenient(body: Body) -> Body:
    def run(value: Any) -> Any:
        try:
            return body(value)
        except (ValueError, ArithmeticError):
            return None

    return run


def _required(body: Body, target: DataType) -> Body:
    """A cast that has a value always: what has too many digits is an error there."""
    if not isinstance(target, t.DecimalType):
        return body

    def run(value: Any) -> Any:
        found = body(value)
        if found is None:
            message = f"it has too many digits for {target}"
            raise ValueError(message)
        return found

    return run


def cast_kernel(source: DataType, target: DataType, session: ScalarSession) -> Body | None:
    """The cast of whole columns; None if there is no kernel for these types."""
    return kernel_of(source, target, session)


def _made(source: DataType, target: DataType, session: ScalarSession) -> Body | None:
    """The body; None if nothing changes."""
    if kinds.is_null(source) or kinds.same_type(source, target):
        return None
    pair = (_family(source), _family(target))
    maker = _MAKERS.get(pair)
    if maker is not None:
        return maker(source, target, session)
    if pair[1] == "text" and pair[0] in _TEXTS:
        return _to_text(source, target, session)
    raise _refused(source, target)


def _refused(source: DataType, target: DataType) -> InvalidArgumentError:
    message = f"{source.nullable()} cannot be cast to {target.nullable()}"
    fix = "cast it to STRING, or to a type in between"
    if kinds.is_numeric(source) and kinds.is_any_timestamp(target):
        fix = "use TO_TIMESTAMP_LTZ(number, precision), or TO_TIMESTAMP(FROM_UNIXTIME(number))"
    elif kinds.is_any_timestamp(source) and kinds.is_numeric(target):
        fix = "use UNIX_TIMESTAMP(CAST(x AS STRING)), or EXTRACT(EPOCH FROM x)"
    return InvalidArgumentError(message, fix=fix)


# --- as text ---------------------------------------------------------------------------------


def text_body(source: DataType, session: ScalarSession) -> Body:
    """How values of a type read, at any length."""
    family = _family(source)
    if kinds.is_null(source):
        return str
    if family == "text":
        return lambda value: value
    maker = _TEXTS.get(family)
    if maker is None:
        raise _refused(source, t.VarCharType(kinds.MAX_LENGTH))
    return maker(source, session)


def _to_text(source: DataType, target: DataType, session: ScalarSession) -> Body:
    show, size = text_body(source, session), texts.sized_text(target)
    return show if size is None else lambda value: size(show(value))


def _nested_text(source: DataType, session: ScalarSession) -> Body:
    match source:
        case t.ArrayType():
            return nested.array_text(text_body(source.element_type, session))
        case t.MultisetType():
            return nested.map_text(text_body(source.element_type, session), str)
        case t.MapType():
            key, item = source.key_type, source.value_type
            return nested.map_text(text_body(key, session), text_body(item, session))
        case _:
            assert isinstance(source, t.RowType)
            return nested.row_text([text_body(kind, session) for kind in source.field_types()])


_TEXTS: dict[str, Callable[[DataType, ScalarSession], Body]] = {
    "boolean": lambda *_: texts.boolean_text,
    "integer": lambda source, _: numbers.number_to_text(source),
    "approximate": lambda source, _: numbers.number_to_text(source),
    "decimal": lambda source, _: numbers.number_to_text(source),
    "bytes": lambda *_: texts.utf8_text,
    "date": times.moment_text,
    "time": times.moment_text,
    "timestamp": times.moment_text,
    "local": times.moment_text,
    "months": lambda *_: months_text,
    "millis": lambda *_: millis_text,
    "array": _nested_text,
    "multiset": _nested_text,
    "map": _nested_text,
    "row": _nested_text,
}


# --- parts of parts --------------------------------------------------------------------------


def _arrays(source: DataType, target: DataType, session: ScalarSession) -> Body:
    assert isinstance(source, t.ArrayType)
    assert isinstance(target, t.ArrayType)
    return nested.array_cast(_made(source.element_type, target.element_type, session))


def _multisets(source: DataType, target: DataType, session: ScalarSession) -> Body:
    assert isinstance(source, t.MultisetType)
    assert isinstance(target, t.MultisetType)
    return nested.map_cast(_made(source.element_type, target.element_type, session), None)


def _maps(source: DataType, target: DataType, session: ScalarSession) -> Body:
    assert isinstance(source, t.MapType)
    assert isinstance(target, t.MapType)
    key = _made(source.key_type, target.key_type, session)
    return nested.map_cast(key, _made(source.value_type, target.value_type, session))


def _rows(source: DataType, target: DataType, session: ScalarSession) -> Body:
    assert isinstance(source, t.RowType)
    assert isinstance(target, t.RowType)
    if len(source) != len(target):
        raise _refused(source, target)
    pairs = zip(source.field_types(), target.field_types(), strict=True)
    return nested.row_cast([_made(one, other, session) for one, other in pairs])


def _to_months(source: DataType, target: DataType, _: ScalarSession) -> Body:
    assert isinstance(target, t.YearMonthIntervalType)
    names = {1: "YEAR", 2: "MONTH"}
    if target.resolution not in names or not kinds.is_exact(source):
        raise _refused(source, target)
    factor = Decimal(MONTHS[names[target.resolution]])
    return lambda value: int(numbers.EXACT.multiply(Decimal(value), factor))


def _to_millis(source: DataType, target: DataType, _: ScalarSession) -> Body:
    assert isinstance(target, t.DayTimeIntervalType)
    factor = MILLIS.get(target.resolution.name)
    if factor is None:
        raise _refused(source, target)
    return lambda value: int(numbers.EXACT.multiply(Decimal(value), Decimal(factor)))


def _plain(make: Callable[[DataType, DataType], Body]) -> Maker:
    return lambda source, target, _: make(source, target)


_MAKERS: dict[tuple[str, str], Maker] = {
    ("boolean", "integer"): _plain(numbers.boolean_to_number),
    ("boolean", "approximate"): _plain(numbers.boolean_to_number),
    ("boolean", "decimal"): _plain(numbers.boolean_to_number),
    ("integer", "boolean"): _plain(numbers.number_to_boolean),
    ("approximate", "boolean"): _plain(numbers.number_to_boolean),
    ("decimal", "boolean"): _plain(numbers.number_to_boolean),
    ("integer", "integer"): _plain(numbers.integer_to_integer),
    ("approximate", "integer"): _plain(numbers.approximate_to_integer),
    ("decimal", "integer"): _plain(numbers.decimal_to_integer),
    ("integer", "approximate"): _plain(numbers.number_to_approximate),
    ("approximate", "approximate"): _plain(numbers.number_to_approximate),
    ("decimal", "approximate"): _plain(numbers.number_to_approximate),
    ("integer", "decimal"): _plain(numbers.number_to_decimal),
    ("approximate", "decimal"): _plain(numbers.number_to_decimal),
    ("decimal", "decimal"): _plain(numbers.number_to_decimal),
    ("integer", "months"): _to_months,
    ("decimal", "months"): _to_months,
    ("integer", "millis"): _to_millis,
    ("decimal", "millis"): _to_millis,
    ("months", "months"): lambda *_: None,
    ("millis", "millis"): lambda *_: None,
    ("text", "text"): lambda _, target, __: texts.sized_text(target),
    ("text", "bytes"): lambda _, target, __: _sized(texts.utf8_bytes, texts.sized_bytes(target)),
    ("bytes", "bytes"): lambda _, target, __: texts.sized_bytes(target),
    ("text", "boolean"): lambda *_: texts.read_boolean,
    ("text", "integer"): lambda _, target, __: texts.integer_reader(target),
    ("text", "approximate"): lambda _, target, __: texts.approximate_reader(target),
    ("text", "decimal"): lambda _, target, __: texts.decimal_reader(target),
    ("text", "date"): lambda *_: times.read_date,
    ("text", "time"): lambda _, target, __: times.time_reader(target),
    ("text", "timestamp"): lambda _, target, session: times.timestamp_reader(target, session),
    ("text", "local"): lambda _, target, session: times.timestamp_reader(target, session),
    ("date", "timestamp"): times.moment_to_moment,
    ("date", "local"): times.moment_to_moment,
    ("time", "time"): times.moment_to_moment,
    ("time", "timestamp"): times.moment_to_moment,
    ("time", "local"): times.moment_to_moment,
    ("timestamp", "date"): times.moment_to_moment,
    ("timestamp", "time"): times.moment_to_moment,
    ("timestamp", "timestamp"): times.moment_to_moment,
    ("timestamp", "local"): times.moment_to_moment,
    ("local", "date"): times.moment_to_moment,
    ("local", "time"): times.moment_to_moment,
    ("local", "timestamp"): times.moment_to_moment,
    ("local", "local"): times.moment_to_moment,
    ("array", "array"): _arrays,
    ("multiset", "multiset"): _multisets,
    ("map", "map"): _maps,
    ("row", "row"): _rows,
}


def _sized(body: Body, size: Body | None) -> Body:
    return body if size is None else lambda value: size(body(value))
