"""Functions that make expressions: ``col``, ``lit``, ``concat`` and the others.

In: names, values and expressions.  Out: `Expression`.  Next: table/expression.py
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.sql.api_ast import (
    ColumnRange,
    InlineCall,
    OverMark,
    RowInterval,
    SelectedColumns,
    TypedLiteral,
)
from headrace.sql.ast import (
    ArrayConstructor,
    BinaryOperation,
    DescriptorArgument,
    FunctionCall,
    Identifier,
    JsonClauses,
    JsonEntry,
    MapConstructor,
    RowConstructor,
    SqlKeyword,
    Star,
    UnaryOperation,
)
from headrace.table.expressing.base import called, expression, operand, written
from headrace.table.expressing.literals import literal_of, typed_literal
from headrace.table.expression import Expression, JsonOnNull, TimePointUnit

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.table.udf import UserDefinedFunctionWrapper

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]

UNBOUNDED_ROW: Expression[Any] = expression(OverMark("UNBOUNDED_ROW"), "UNBOUNDED_ROW")
UNBOUNDED_RANGE: Expression[Any] = expression(OverMark("UNBOUNDED_RANGE"), "UNBOUNDED_RANGE")
CURRENT_ROW: Expression[Any] = expression(OverMark("CURRENT_ROW"), "CURRENT_ROW")
CURRENT_RANGE: Expression[Any] = expression(OverMark("CURRENT_RANGE"), "CURRENT_RANGE")


def col(name: str) -> Expression[Any]:
    """A column of the table.

    Example:
        >>> str(col("price") > 10)
        'greaterThan(price, 10)'
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"the name of a column is text, not {name!r}")
    if name == "*":
        return expression(Star(), "*")
    return expression(Identifier((name,)), name)


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """A constant.

    Args:
        v: a number, a text, a date or time, a timedelta, bytes, or None.
        data_type: its type; by default the one that fits the value.
    """
    return expression(*(literal_of(v) if data_type is None else typed_literal(v, data_type)))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Columns from one to another, by name or by place from 1; for with_columns."""
    shown = [each if isinstance(each, str) else str(each) for each in (start, end)]
    return expression(ColumnRange(start, end), f"rangeTo({', '.join(shown)})")


def _joined(sign: str, name: str, parts: tuple[Any, ...]) -> Expression[Any]:
    operands = [operand(part) for part in parts]
    node = reduce(
        lambda left, right: BinaryOperation(sign, left, right), [each._value for each in operands]
    )
    return expression(node, written(name, *operands))


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[Any]:
    """Whether all conditions are true."""
    return _joined("AND", "and", (predicate0, predicate1, *predicates))


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[Any]:
    """Whether one of the conditions is true."""
    return _joined("OR", "or", (predicate0, predicate1, *predicates))


def not_(expression: Any) -> Expression[Any]:
    """The opposite; unknown stays unknown."""
    condition = operand(expression)
    return Expression(UnaryOperation("NOT", condition._value), written("not", condition))


def _bare(function: str, name: str) -> Expression[Any]:
    """A function that SQL writes without parentheses."""
    return expression(FunctionCall((function,), parentheses=False), f"{name}()")


def current_database() -> Expression[Any]:
    """The current database."""
    return called("CURRENT_DATABASE", "currentDatabase")


def current_date() -> Expression[Any]:
    """Today, in the zone of the session."""
    return _bare("CURRENT_DATE", "currentDate")


def current_time() -> Expression[Any]:
    """The time of day, in the zone of the session."""
    return _bare("CURRENT_TIME", "currentTime")


def current_timestamp() -> Expression[Any]:
    """Now, as TIMESTAMP_LTZ."""
    return _bare("CURRENT_TIMESTAMP", "currentTimestamp")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """The watermark of this step, NULL if there is none yet."""
    return called("CURRENT_WATERMARK", "CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression[Any]:
    """The time of day, in the zone of the session."""
    return _bare("LOCALTIME", "localTime")


def local_timestamp() -> Expression[Any]:
    """Now, as TIMESTAMP in the zone of the session."""
    return _bare("LOCALTIMESTAMP", "localTimestamp")


def _optional(function: str, name: str, *arguments: Any) -> Expression[Any]:
    """A call without the arguments that were left out at its end."""
    given = list(arguments)
    while given and given[-1] is None:
        given.pop()
    return called(function, name, *given)


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """A text as a date."""
    return _optional("TO_DATE", "toDate", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """A text as a TIMESTAMP."""
    return _optional("TO_TIMESTAMP", "toTimestamp", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """A number of seconds or milliseconds, or a text, as a TIMESTAMP_LTZ."""
    return called("TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[Any]:
    """Whether two spans of time overlap; each has a begin, and an end or a length."""
    parts = [operand(each) for each in (left_time_point, left_temporal)]
    others = [operand(each) for each in (right_time_point, right_temporal)]
    left, right = (
        RowConstructor(tuple(each._value for each in pair), explicit=False)
        for pair in (parts, others)
    )
    node = BinaryOperation("OVERLAPS", left, right)
    return expression(node, written("temporalOverlaps", *parts, *others))


def date_format(timestamp: Any, format: Any) -> Expression[Any]:
    """A time as text."""
    return called("DATE_FORMAT", "dateFormat", timestamp, format)


def timestamp_diff(
    time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any
) -> Expression[Any]:
    """How many units are between two times."""
    first, second = operand(time_point1), operand(time_point2)
    unit = SqlKeyword(time_point_unit.name)
    node = FunctionCall(("TIMESTAMPDIFF",), (unit, first._value, second._value))
    return expression(node, f"timestampDiff({time_point_unit.name}, {first}, {second})")


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[Any]:
    """A text with a time of one zone as that of another."""
    return called("CONVERT_TZ", "convertTz", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[Any]:
    """Seconds since 1970 as text."""
    return _optional("FROM_UNIXTIME", "fromUnixtime", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[Any]:
    """Seconds since 1970: now, or of a text."""
    return _optional("UNIX_TIMESTAMP", "unixTimestamp", date_str, format)


def array(head: Any, *tail: Any) -> Expression[Any]:
    """An array of values."""
    items = [operand(each) for each in (head, *tail)]
    node = ArrayConstructor(tuple(each._value for each in items))
    return expression(node, written("array", *items))


def row(head: Any, *tail: Any) -> Expression[Any]:
    """A row of values."""
    items = [operand(each) for each in (head, *tail)]
    return expression(RowConstructor(tuple(each._value for each in items)), written("row", *items))


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """A map of keys and values in turn."""
    items = [operand(each) for each in (key, value, *tail)]
    if len(items) % 2:
        raise InvalidArgumentError(
            "map_ takes keys and values in turn", fix="give every key a value"
        )
    nodes = [each._value for each in items]
    entries = tuple(zip(nodes[::2], nodes[1::2], strict=True))
    return expression(MapConstructor(entries), written("map", *items))


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    """A map of an array of keys and an array of values."""
    return called("MAP_FROM_ARRAYS", "MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression[Any]:
    """Names of columns, as an argument of a table function."""
    names = ", ".join(column_names)
    return expression(DescriptorArgument(column_names), f"DESCRIPTOR({names})")


def object_of(class_name: str, *args: Any) -> Expression[Any]:
    """A structured object; headrace has no such types, so the resolver refuses it."""
    return called("OBJECT_OF", "OBJECT_OF", class_name, *args)


def row_interval(rows: int) -> Expression[Any]:
    """So many lines, as a bound of a window."""
    return expression(RowInterval(rows), str(rows))


def pi() -> Expression[Any]:
    """3.14159..."""
    return called("PI", "pi")


def e() -> Expression[Any]:
    """2.71828..."""
    return called("E", "e")


def rand(seed: Any = None) -> Expression[Any]:
    """A random number from 0 up to 1."""
    return _optional("RAND", "rand", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression[Any]:
    """A random whole number from 0 up to a bound."""
    if seed is None:
        return called("RAND_INTEGER", "randInteger", bound)
    return called("RAND_INTEGER", "randInteger", seed, bound)


def atan2(y: Any, x: Any) -> Expression[Any]:
    """The angle of a point."""
    return called("ATAN2", "atan2", y, x)


def negative(v: Any) -> Expression[Any]:
    """The number with the other sign."""
    return -operand(v)


def concat(first: Any, *others: Any) -> Expression[Any]:
    """Texts one behind the other; NULL if one of them is."""
    return called("CONCAT", "concat", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[Any]:
    """Texts with a separator between them; those that are NULL are left out."""
    return called("CONCAT_WS", "concat_ws", separator, first, *others)


def uuid() -> Expression[Any]:
    """A random UUID."""
    return called("UUID", "uuid")


def null_of(data_type: DataType) -> Expression[Any]:
    """NULL of a type."""
    return expression(TypedLiteral(None, data_type.nullable()), "null")


def log(v: Any, base: Any = None) -> Expression[Any]:
    """The logarithm to a base, the natural one without."""
    return called("LOG", "log", v) if base is None else called("LOG", "log", base, v)


def source_watermark() -> Expression[Any]:
    """The watermark of the source itself, for Schema.Builder.watermark."""
    return called("SOURCE_WATERMARK", "SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """One of two values."""
    return operand(condition).then(if_true, if_false)


def coalesce(*args: Any) -> Expression[Any]:
    """The first value that is not NULL."""
    return called("COALESCE", "COALESCE", *args)


def with_all_columns() -> Expression[Any]:
    """All columns of the table."""
    return col("*")


def _columns(head: Any, tails: tuple[Any, ...], *, others: bool, name: str) -> Expression[Any]:
    items = [operand(each) for each in (head, *tails)]
    node = SelectedColumns(tuple(each._value for each in items), others=others)
    return expression(node, written(name, *items))


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Some columns, by name, by place from 1, or as a range."""
    return _columns(head, tails, others=False, name="withColumns")


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """All columns but some, by name, by place from 1, or as a range."""
    return _columns(head, tails, others=True, name="withoutColumns")


def json(value: Any) -> Expression[Any]:
    """A JSON text as a part of json_object and json_array, not as text."""
    return called("JSON", "JSON", value)


def json_string(value: Any) -> Expression[Any]:
    """A value as JSON."""
    return called("JSON_STRING", "JSON_STRING", value)


def _json_call(
    name: str, on_null: JsonOnNull, arguments: tuple[Any, ...], operands: list[Expression[Any]]
) -> Expression[Any]:
    word = "NULL" if on_null is JsonOnNull.NULL else "ABSENT"
    clauses = JsonClauses(on_null=word)  # type: ignore[arg-type]
    text = f"{name}({', '.join([on_null.name, *map(str, operands)])})"
    return expression(FunctionCall((name,), arguments, json=clauses), text)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[Any]:
    """A JSON object of keys and values in turn."""
    items = [operand(each) for each in args]
    if len(items) % 2:
        raise InvalidArgumentError("json_object takes keys and values in turn")
    nodes = [each._value for each in items]
    pairs = zip(nodes[::2], nodes[1::2], strict=True)
    return _json_call("JSON_OBJECT", on_null, tuple(JsonEntry(k, v) for k, v in pairs), items)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression[Any]:
    """A JSON object of the keys and values of all lines."""
    items = [operand(key_expr), operand(value_expr)]
    entry = JsonEntry(items[0]._value, items[1]._value)
    return _json_call("JSON_OBJECTAGG", on_null, (entry,), items)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[Any]:
    """A JSON array of values."""
    items = [operand(each) for each in args]
    return _json_call("JSON_ARRAY", on_null, tuple(each._value for each in items), items)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[Any]:
    """A JSON array of the values of all lines."""
    item = operand(item_expr)
    return _json_call("JSON_ARRAYAGG", on_null, (item._value,), [item])


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """The value of a line before this one, in an over window."""
    return _optional("LAG", "lag", expr, offset, default)


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """The value of a line behind this one, in an over window."""
    return _optional("LEAD", "lead", expr, offset, default)


def call(f: str | UserDefinedFunctionWrapper, *args: Any) -> Expression[Any]:
    """A call of a function: by its name in a catalog, or one that udf and its kin made.

    Args:
        f: a name, perhaps with catalog and database, or a function.
        args: expressions or values.
    """
    operands = [operand(argument) for argument in args]
    nodes = tuple(each._value for each in operands)
    if isinstance(f, str):
        parts = tuple(f.split("."))
        name = (parts[0].upper(),) if len(parts) == 1 else parts
        return expression(FunctionCall(name, nodes), written(f, *operands))
    found = InlineCall(f._definition, nodes)
    return expression(found, written(f._name, *operands))


def call_sql(sql_expression: str) -> Expression[Any]:
    """An expression in SQL.

    Example:
        >>> call_sql("UPPER(name)")  # doctest: +SKIP
    """
    from headrace.table.parsing import parsed_expression

    return expression(parsed_expression(sql_expression), f"[{sql_expression}]")
