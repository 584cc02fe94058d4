"""Streams as tables, and tables as streams.

    DataStream ──▶ RecordsToLines ──▶ Scan          Table ──▶ LinesToRecords ──▶ DataStream

In: streams with their types, and schemas.  Out: nodes and streams of the same program.
Next: runtime/table/conversions.py converts the records
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.common.changes import Changes
from headrace.common.data_type_infos import from_type_info
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.common.typeinfo import RowTypeInfo, TupleTypeInfo, Types
from headrace.common.types import Row, RowKind
from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.rel import nodes as n
from headrace.rel.building import project, ref
from headrace.rel.functions import cast
from headrace.runtime.table.conversions import LinesToRecords, RecordsToLines
from headrace.sql import ast
from headrace.sql.api_ast import AliasedExpression, WindowPropertyAccess
from headrace.table.declared import StreamOrigin, completed
from headrace.table.expression import Expression
from headrace.table.parsing import parsed_expression
from headrace.table.schema import DeclaredColumn, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.common.typeinfo import TypeInformation
    from headrace.datastream.data_stream import DataStream
    from headrace.rel.nodes import Rel
    from headrace.scalars.nodes import Scalar
    from headrace.table.changelog_mode import ChangelogMode
    from headrace.table.table import Table
    from headrace.table.table_environment import TableEnvironment

_ROWTIME_KEY = "rowtime"
_ROWTIME = t.LocalZonedTimestampType(3)
_ANY_DIGITS = t.DecimalType(38, 18)


@dataclass(frozen=True)
class _Column:
    """A column of a stream: a field of its records by place, or their timestamp."""

    name: str
    type: t.DataType
    rowtime: bool = False


def columns_of(stream: DataStream) -> list[_Column]:
    """The columns that records of a stream have by themselves."""
    kind = from_type_info(stream.get_type())
    if isinstance(kind, t.RowType):
        return [_Column(field.name, field.data_type) for field in kind.fields]
    return [_Column("f0", kind)]


def _scan(
    env: TableEnvironment,
    stream: DataStream,
    columns: Sequence[_Column],
    changes: Changes,
    primary_key: tuple[int, ...] = (),
) -> Rel:
    """A node that reads a stream: its fields in order, and the timestamp where one is asked for."""
    row_type = t.RowType([t.RowField(column.name, column.type) for column in columns])
    lines = RowDataTypeInfo(row_type, not changes.only_inserts)
    rowtime = next((place for place, column in enumerate(columns) if column.rowtime), None)

    def made(_: object) -> DataStream:
        if stream.get_type() == lines:
            return stream
        operator = RecordsToLines(stream.get_type(), lines, rowtime)
        return stream._transform("lines", "Lines", operator, lines)

    origin = StreamOrigin(
        name=f"Unregistered_DataStream_Source_{env._next_number()}",
        stream=made,
        changes=changes,
        primary_key=primary_key,
        bounded=False,
    )
    schema = tuple(n.Field(column.name, column.type) for column in columns)
    return n.Scan(origin, schema=schema)


def stream_rel(env: TableEnvironment, stream: DataStream, fields_or_schema: Sequence[Any]) -> Rel:
    """The node of a stream whose records are lines to add."""
    if not fields_or_schema:
        return _scan(env, stream, columns_of(stream), Changes.INSERT)
    if len(fields_or_schema) == 1 and isinstance(fields_or_schema[0], Schema):
        return _with_schema(env, stream, fields_or_schema[0], Changes.INSERT)
    if all(isinstance(each, Expression) for each in fields_or_schema):
        return _with_fields(env, stream, [each._value for each in fields_or_schema])
    if len(fields_or_schema) == 1 and isinstance(fields_or_schema[0], str):
        nodes = [parsed_expression(part) for part in fields_or_schema[0].split(",")]
        return _with_fields(env, stream, nodes)
    raise InvalidArgumentError(
        f"Invalid arguments for 'fields': {list(fields_or_schema)!r}",
        fix='give expressions, col("a"), or one Schema',
    )


def changelog_rel(
    env: TableEnvironment,
    stream: DataStream,
    schema: Schema | None,
    mode: ChangelogMode | None,
) -> Rel:
    """The node of a stream whose records are changes."""
    changes = Changes.ALL if mode is None else mode._changes
    return _with_schema(env, stream, schema or Schema(), changes)


def _with_declared_digits(
    own: Sequence[_Column], declared: Mapping[int, DeclaredColumn]
) -> list[_Column]:
    """Decimals of a stream have any digits (BIG_DEC): they get those that are declared."""
    found = []
    for place, column in enumerate(own):
        wanted = declared[place].type if place in declared else None
        kind = None if wanted is None else wanted.data_type
        if column.type.nullable() == _ANY_DIGITS and isinstance(kind, t.DecimalType):
            kind = kind.nullable() if column.type.is_nullable else kind.not_null()
            column = replace(column, type=kind)
        found.append(column)
    return found


def _with_schema(
    env: TableEnvironment, stream: DataStream, schema: Schema, changes: Changes
) -> Rel:
    """A stream with declared columns: physical ones by name, or by place if no name fits."""
    own = columns_of(stream)
    physical = [column for column in schema._columns if column.physical]
    if not physical:
        declared = [_as_declared(column) for column in own]
        schema = Schema([*declared, *schema._columns], schema._watermark, schema._primary_key)
        physical = declared
    source = _matched(own, physical)
    extra = [column for column in schema._columns if column.metadata]
    for column in extra:
        if (column.key or column.name) != _ROWTIME_KEY:
            raise InvalidArgumentError(
                f"a stream has no metadata {column.key or column.name!r}",
                fix="it has 'rowtime': the timestamp of the record",
            )
    key = schema._primary_key
    places = () if key is None else tuple(source[name] for name in key.columns if name in source)
    own = [
        replace(column, type=column.type.not_null()) if place in places else column
        for place, column in enumerate(own)
    ]
    own = _with_declared_digits(own, {source[column.name]: column for column in physical})
    columns = [*own, *(_Column("$rowtime", _ROWTIME, rowtime=True) for _ in extra[:1])]
    scan = _scan(env, stream, columns, changes, places)
    scalars = []
    names = [column.name for column in schema._columns if column.expression is None]
    for declared_column in schema._columns:
        if declared_column.expression is not None:
            continue
        assert declared_column.type is not None
        place = len(own) if declared_column.metadata else source[declared_column.name]
        kind = declared_column.type.data_type
        if key is not None and declared_column.name in key.columns:
            kind = kind.not_null()
        scalars.append(cast(ref(scan, place), kind, always=True))
    declared_names = {column.name for column in schema._columns}
    for place, extra_column in enumerate(own):  # computed columns may read what is not declared
        if extra_column.name not in declared_names:
            scalars.append(ref(scan, place))
            names.append(extra_column.name)
    return completed(project(scan, scalars, names), schema, env._lookup)


def _as_declared(column: _Column) -> DeclaredColumn:
    from headrace.table.schema import DeclaredType

    return DeclaredColumn(column.name, DeclaredType(column.type))


def _matched(own: Sequence[_Column], wanted: Sequence[DeclaredColumn]) -> dict[str, int]:
    """Which field each declared column takes."""
    names = [column.name for column in own]
    if all(column.name in names for column in wanted):
        return {column.name: names.index(column.name) for column in wanted}
    if len(wanted) == len(own) and not any(column.name in names for column in wanted):
        return {column.name: place for place, column in enumerate(wanted)}
    missing = next(column.name for column in wanted if column.name not in names)
    raise InvalidArgumentError(
        f"Unable to find a field named '{missing}' in the physical data type derived from the "
        f"given type information for schema declaration: the stream has {names}",
        fix="name the fields of the stream, or all columns by place",
    )


# --- columns by expressions ------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """A column that an expression asks for."""

    field: str
    name: str
    time: str | None = None


def _asked(node: ast.SqlExpression) -> _Asked:
    alias = None
    if isinstance(node, AliasedExpression):
        alias, node = node.names[0], node.operand
    time: str | None = None
    if isinstance(node, WindowPropertyAccess):
        time, node = node.what, node.operand
        if isinstance(node, AliasedExpression):
            alias, node = node.names[0], node.operand
    if isinstance(node, ast.FieldAccess) and node.name in ("rowtime", "proctime"):
        time, node = node.name, node.operand
    if isinstance(node, ast.Identifier):
        parts = node.parts
        if len(parts) == 2 and parts[1] in ("rowtime", "proctime"):
            time, parts = parts[1], parts[:1]
        return _Asked(parts[0], alias or parts[0], time)
    raise InvalidArgumentError(
        "columns of a stream are named: col('a'), col('a').alias('b'), col('t').rowtime"
    )


def _with_fields(
    env: TableEnvironment, stream: DataStream, nodes: Sequence[ast.SqlExpression]
) -> Rel:
    """A stream with named columns: by name where the names are its fields, else by place."""
    own = columns_of(stream)
    names = [column.name for column in own]
    asked = [_asked(node) for node in nodes]
    plain = [each for each in asked if each.time is None]
    by_name = all(each.field in names for each in plain)
    if not by_name and len(plain) > len(own):
        raise InvalidArgumentError(f"{len(plain)} columns are named, and the stream has {names}")
    columns = [*own]
    if any(each.time == "rowtime" for each in asked):
        columns.append(_Column("$rowtime", t.TimestampType(3), rowtime=True))
    scan = _scan(env, stream, columns, Changes.INSERT)
    scalars: list[Scalar] = []
    fields, position = [], 0
    for each in asked:
        if each.time is None:
            place = names.index(each.field) if by_name else position
            position += 1
            scalars.append(ref(scan, place))
        elif each.time == "rowtime":
            scalars.append(ref(scan, len(own)))
        else:
            scalars.append(env._resolver().expressions(scan).scalar(_PROCTIME))
        fields.append(each.name)
    rel = project(scan, scalars, fields)
    return _marked_times(rel, asked)


_PROCTIME = ast.FunctionCall(("PROCTIME",))


def _marked_times(rel: Rel, asked: Sequence[_Asked]) -> Rel:
    times = {
        "rowtime": n.TimeAttribute.ROWTIME,
        "proctime": n.TimeAttribute.PROCTIME,
    }
    schema = tuple(
        field if each.time is None else field._replace(time=times[each.time])
        for field, each in zip(rel.schema, asked, strict=True)
    )
    return rel if schema == rel.schema else replace(rel, schema=schema)


# --- tables as streams -----------------------------------------------------------------------


def _rows_of(env: TableEnvironment, rel: Rel, type_info: TypeInformation | None) -> Any:
    stream, changes, schema = env._planner().to_stream(rel)
    lines = stream.get_type()
    assert isinstance(lines, RowDataTypeInfo)
    rowtimes = [i for i, f in enumerate(schema) if f.time is n.TimeAttribute.ROWTIME]
    rowtime = rowtimes[0] if len(rowtimes) == 1 else None
    wanted = lines.to_row_type_info() if type_info is None else type_info
    operator = LinesToRecords(lines, wanted, rowtime)
    return stream._transform("records", "Records", operator, wanted), changes


def _need_inserts(changes: Changes, what: str, instead: str) -> None:
    if not changes.only_inserts:
        raise InvalidArgumentError(
            f"Table sink '{what}' doesn't support consuming update and delete changes: "
            f"the query gives [{changes}]",
            fix=f"use {instead}",
        )


def to_data_stream(env: TableEnvironment, table: Table) -> DataStream:
    """The lines of a table as rows."""
    _need_inserts(
        env._planner().changes_of(table._rel), "*anonymous_datastream_sink*", "to_changelog_stream"
    )
    stream: DataStream = _rows_of(env, table._rel, None)[0]
    return stream


def to_changelog_stream(
    env: TableEnvironment, table: Table, schema: Schema | None, mode: ChangelogMode | None
) -> DataStream:
    """The changes of a table as rows with their kinds."""
    rel, dropped = (table._rel, None) if schema is None else _as_schema(table._rel, schema)
    given = env._planner().changes_of(rel)
    if mode is not None and mode._changes.only_inserts:
        _need_inserts(given, "*anonymous_datastream_sink*", "ChangelogMode.all()")
    stream: DataStream = _rows_of(env, rel, None)[0]
    if mode is not None and Changes.UPDATE_BEFORE not in mode._changes:
        before = RowKind.UPDATE_BEFORE
        stream = stream.filter(lambda row: row.get_row_kind() is not before)
    return stream if dropped is None else _without(stream, dropped)


def _without(stream: DataStream, place: int) -> DataStream:
    """Rows without a column, which has become their timestamp."""
    info = stream.get_type()
    assert isinstance(info, RowTypeInfo)
    names, kinds = info.get_field_names(), info.get_field_types()
    kept = [i for i in range(len(names)) if i != place]
    kept_names = [names[i] for i in kept]

    def shorter(row: Any) -> Any:
        made = Row.of_values(tuple(row[i] for i in kept), kept_names)
        made.set_row_kind(row.get_row_kind())
        return made

    return stream.map(shorter, Types.ROW_NAMED(kept_names, [kinds[i] for i in kept]))


def _as_schema(rel: Rel, schema: Schema) -> tuple[Rel, int | None]:
    """The columns as a schema wants them, and the place of the one that is only a timestamp."""
    wanted = [column for column in schema._columns if column.expression is None]
    metadata = [column for column in wanted if column.metadata]
    if not wanted:
        return rel, None
    if len(metadata) == len(wanted):  # the columns of the table, the last rowtime as metadata
        times = [i for i, f in enumerate(rel.schema) if f.time is n.TimeAttribute.ROWTIME]
        return rel, times[0] if times else None
    own = [_Column(field.name, field.type) for field in rel.schema]
    names = [column.name for column in own]
    if all(column.name in names for column in wanted) or len(wanted) != len(own):
        places = _matched(own, wanted)
    else:
        places = {column.name: place for place, column in enumerate(wanted)}
    scalars = []
    for column in wanted:
        assert column.type is not None
        found = ref(rel, places[column.name])
        is_time = column.metadata or rel.schema[found.index].time is not None
        scalars.append(found if is_time else cast(found, column.type.data_type, always=True))
    made = project(rel, scalars, [column.name for column in wanted])
    dropped = [i for i, column in enumerate(wanted) if column.metadata]
    return made, dropped[0] if dropped else None


def to_append_stream(env: TableEnvironment, table: Table, type_info: TypeInformation) -> DataStream:
    """The lines of a table as records of a type."""
    _need_inserts(env._planner().changes_of(table._rel), "toAppendStream", "to_retract_stream")
    stream: DataStream = _rows_of(env, table._rel, _checked(type_info))[0]
    return stream


def to_retract_stream(
    env: TableEnvironment, table: Table, type_info: TypeInformation
) -> DataStream:
    """The changes of a table as pairs of a flag and a record."""
    is_row = isinstance(_checked(type_info), RowTypeInfo)
    rows: DataStream = _rows_of(env, table._rel, type_info if is_row else None)[0]
    added, is_tuple = (RowKind.INSERT, RowKind.UPDATE_AFTER), isinstance(type_info, TupleTypeInfo)

    def pair(row: Any) -> tuple[bool, Any]:
        flag = row.get_row_kind() in added
        row.set_row_kind(RowKind.INSERT)
        return flag, row if is_row else (tuple(row) if is_tuple else row[0])

    return rows.map(pair, output_type=Types.TUPLE([Types.BOOLEAN(), type_info]))


def _checked(type_info: Any) -> TypeInformation:
    from headrace.common.typeinfo import TypeInformation

    if not isinstance(type_info, TypeInformation):
        raise ArgumentTypeError(f"{type_info!r} is no type", fix="use Types.ROW([...])")
    return type_info
