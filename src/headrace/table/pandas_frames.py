"""Tables as pandas DataFrames, and DataFrames as tables.

In: lines, or a DataFrame.  Out: the other.  Next: table/elements.py
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.common.types import RowKind
from headrace.data.arrow_types import create_arrow_schema, from_arrow_type, to_arrow_type
from headrace.errors import ArgumentTypeError, EnvironmentSetupError
from headrace.scalars.session import zone_named
from headrace.table.elements import lines_rel
from headrace.table.rows import row_maker
from headrace.table.running import collected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.data_types import DataType, RowType
    from headrace.rel.nodes import Rel
    from headrace.table.table import Table
    from headrace.table.table_environment import TableEnvironment


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise EnvironmentSetupError("pandas is not installed", fix="pip install pandas") from None
    return pandas


def frame_rel(
    env: TableEnvironment,
    frame: Any,
    schema: RowType | Sequence[str] | Sequence[DataType] | None,
) -> Rel:
    """The node of a DataFrame's lines."""
    pandas = _pandas()
    if not isinstance(frame, pandas.DataFrame):
        raise ArgumentTypeError(f"Unsupported type, expected pandas.DataFrame, got {type(frame)}")
    row_type = _row_type(frame, schema)
    zone = zone_named(env.get_config().get_local_timezone())
    columns = [
        _values_of(frame.iloc[:, place], kind, zone)
        for place, kind in enumerate(row_type.field_types())
    ]
    return lines_rel(env, list(zip(*columns, strict=True)), row_type)


def _row_type(frame: Any, schema: Any) -> RowType:
    import pyarrow as pa

    if isinstance(schema, t.RowType):
        return schema
    arrow = pa.Schema.from_pandas(frame, preserve_index=False)
    kinds = [from_arrow_type(field.type, field.nullable) for field in arrow]
    names = list(arrow.names)
    if schema is None:
        pass
    elif isinstance(schema, list | tuple) and all(isinstance(each, str) for each in schema):
        names = list(schema)
    elif isinstance(schema, list | tuple) and all(isinstance(e, t.DataType) for e in schema):
        kinds = list(schema)
    else:
        raise ArgumentTypeError(
            "Unsupported schema type, it could only be of RowType, a list of str or a list of "
            f"DataType, got {schema}"
        )
    return t.RowType([t.RowField(name, kind) for name, kind in zip(names, kinds, strict=True)])


def _values_of(series: Any, kind: DataType, zone: datetime.tzinfo) -> list[Any]:
    import pyarrow as pa

    wanted = to_arrow_type(kind)
    if isinstance(kind, t.LocalZonedTimestampType):
        local = series if series.dt.tz is not None else series.dt.tz_localize(zone)
        moments = local.dt.tz_convert("UTC").dt.to_pydatetime()
        return [None if value is None or value != value else value for value in moments]
    array = pa.Array.from_pandas(series, type=wanted, safe=False)
    return array.to_pylist()  # type: ignore[no-any-return]


def collected_frame(table: Table) -> Any:
    """The lines of a table as a DataFrame, once all are there."""
    pandas = _pandas()
    import pyarrow as pa

    env = table._t_env
    lines, changes, schema, _ = collected(env._env, env._planner(), table._rel)
    kinds = [field.type for field in schema]
    names = [field.name for field in schema]
    rows = list(lines)
    if not changes.only_inserts:
        rows = final_lines(rows, len(kinds))
    if not rows:
        return pandas.DataFrame.from_records([], columns=names)
    zone = zone_named(env.get_config().get_local_timezone())
    make = row_maker(kinds, changes=False)
    made = [make(row[: len(kinds)]) for row in rows]
    arrow = create_arrow_schema(names, kinds)
    arrays = [
        pa.array([_frame_value(row[i], kind, _kept_in(kind, zone)) for row in made], type=f.type)
        for i, (kind, f) in enumerate(zip(kinds, arrow, strict=True))
    ]
    frame = pa.Table.from_arrays(arrays, schema=arrow).to_pandas(date_as_object=True)
    for name, kind in zip(names, kinds, strict=True):
        if isinstance(kind, t.LocalZonedTimestampType):
            frame[name] = frame[name].dt.tz_localize("UTC").dt.tz_convert(zone)
    return frame


def _kept_in(kind: DataType, zone: datetime.tzinfo) -> datetime.tzinfo:
    """On whose clock a column is filled: a clock that shows an hour twice would lose one."""
    return datetime.UTC if isinstance(kind, t.LocalZonedTimestampType) else zone


def _frame_value(value: Any, kind: DataType, zone: datetime.tzinfo) -> Any:
    if value is None:
        return None
    if isinstance(kind, t.LocalZonedTimestampType):
        moment = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value
        return moment.astimezone(zone).replace(tzinfo=None)
    if isinstance(kind, t.RowType):
        parts = zip(kind.field_names(), value, kind.field_types(), strict=True)
        return {name: _frame_value(item, inner, zone) for name, item, inner in parts}
    if isinstance(kind, t.ArrayType):
        return [_frame_value(item, kind.element_type, zone) for item in value]
    return value


def final_lines(lines: list[tuple[Any, ...]], width: int) -> list[tuple[Any, ...]]:
    """The lines that are left when all changes are done, in the order in which they came."""
    kept: dict[Any, list[int]] = {}
    alive: dict[int, tuple[Any, ...]] = {}
    added = (RowKind.INSERT.value, RowKind.UPDATE_AFTER.value)
    for number, line in enumerate(lines):
        values, kind = line[:width], line[width] or 0
        key = repr(values)
        if kind in added:
            kept.setdefault(key, []).append(number)
            alive[number] = values
        elif kept.get(key):
            del alive[kept[key].pop()]
    return [alive[number] for number in sorted(alive)]
