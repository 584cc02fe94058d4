"""INSERT INTO: the lines of a query as those that a table takes.

    INSERT INTO t (b) SELECT x   ──▶   Calc(NULL AS a, CAST(x) AS b) ──▶ TableTarget of t

In: a query's node and a table.  Out: an `Insert`.  Next: rel/planner.py plans it
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.rel.building import project, ref
from headrace.rel.connected_tables import target_of
from headrace.rel.functions import cast
from headrace.scalars.common_types import implicitly_castable
from headrace.scalars.nodes import Literal
from headrace.scalars.types import with_nullability
from headrace.table.declared import table_definition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.common.data_types import DataType
    from headrace.rel import nodes as n
    from headrace.rel.catalogs import FunctionSource
    from headrace.rel.tables import TableTarget
    from headrace.scalars.nodes import Scalar
    from headrace.table.catalogs.names import ObjectIdentifier
    from headrace.table.catalogs.objects import CatalogBaseTable


@dataclass(frozen=True)
class Insert:
    """Lines on their way into a table.

    Attributes:
        rel: the lines, with the columns of the table.
        target: where they go.
        name: of the table, for results.
        identifier: of the table; None for one without a name.
    """

    rel: n.Rel
    target: TableTarget
    name: str
    identifier: ObjectIdentifier | None = None


@dataclass(frozen=True)
class WrittenColumns:
    """Which columns of a table a statement gives.

    Attributes:
        columns: by name, in the order of the query; None for all.
        constants: columns with a value that the statement says: PARTITION (day = '...').
        overwrite: whether what is there is replaced.
        options: of the hint OPTIONS.
        on_conflict: whether ON CONFLICT is there.
    """

    columns: Sequence[str] | None = None
    constants: Mapping[str, Scalar] | None = None
    overwrite: bool = False
    options: Mapping[str, str] | None = None
    on_conflict: bool = False


def insert_of(
    rel: n.Rel,
    name: str,
    table: CatalogBaseTable,
    functions: FunctionSource,
    how: WrittenColumns | None = None,
    identifier: ObjectIdentifier | None = None,
) -> Insert:
    """The lines of a query on their way into a table.

    Raises:
        InvalidArgumentError: their columns are not those of the table.
    """
    how = how or WrittenColumns()
    if table._view is not None:
        raise InvalidArgumentError(f"{name} is a view: nothing can be written into it")
    if how.overwrite:
        raise UnsupportedStepError(
            f"INSERT OVERWRITE requires that the table {name} can replace what it has",
            fix="remove what is there, and use INSERT INTO",
        )
    options = dict(table._options) | dict(how.options or {})
    definition = table_definition(name, table._with(options=options), functions)
    wanted = {f.name: f.data_type for f in definition.written_type().fields}
    declared = [column.name for column in table._schema._columns if column.name in wanted]
    scalars = _values(rel, name, wanted, declared, how)
    made = project(rel, [scalars[column] for column in wanted], list(wanted))
    target = replace(target_of(definition), on_conflict=how.on_conflict)
    return Insert(made, target, name, identifier)


def _values(
    rel: n.Rel,
    name: str,
    wanted: dict[str, DataType],
    declared: list[str],
    how: WrittenColumns,
) -> dict[str, Scalar]:
    constants = dict(how.constants or {})
    given = (
        list(how.columns)
        if how.columns is not None
        else [column for column in declared if column not in constants]
    )
    for column in (*given, *constants):
        if column not in wanted:
            raise InvalidArgumentError(
                f"the table {name} has no column {column!r} to write into",
                fix=f"it has: {', '.join(declared)}",
            )
    kinds = [wanted[column] for column in given]
    fits = len(rel.schema) == len(given) and all(
        implicitly_castable(field.type, kind) for field, kind in zip(rel.schema, kinds, strict=True)
    )
    if not fits:
        raise _mismatch(rel, name, given, wanted)
    scalars: dict[str, Scalar] = {}
    for place, (column, kind) in enumerate(zip(given, kinds, strict=True)):
        scalars[column] = _as_type(ref(rel, place), kind)
    for column, scalar in constants.items():
        scalars[column] = _as_type(scalar, wanted[column])
    for column in declared:
        if column not in scalars:
            if not wanted[column].is_nullable:
                raise InvalidArgumentError(
                    f"Column '{column}' has no default value and does not allow NULLs"
                )
            scalars[column] = Literal(None, wanted[column])
    return scalars


def _as_type(scalar: Scalar, kind: DataType) -> Scalar:
    return cast(scalar, with_nullability(kind, scalar.type.is_nullable))


def _mismatch(
    rel: n.Rel, name: str, given: Sequence[str], wanted: Mapping[str, DataType]
) -> InvalidArgumentError:
    cause = "Different number of columns."
    fix = f"give {len(given)} columns instead of {len(rel.schema)}, or name those that are given"
    for place, (field, column) in enumerate(zip(rel.schema, given, strict=False)):
        if len(rel.schema) == len(given) and not implicitly_castable(field.type, wanted[column]):
            cause = f"Incompatible types for sink column '{column}' at position {place}."
            fix = "cast the columns of the query: CAST(x AS ...), or name others"
            break
    query = ", ".join(f"{field.name}: {field.type}" for field in rel.schema)
    sink = ", ".join(f"{column}: {wanted[column]}" for column in given)
    return InvalidArgumentError(
        f"Column types of query result and sink for '{name}' do not match.\n"
        f"Cause: {cause}\n\nQuery schema: [{query}]\nSink schema:  [{sink}]",
        fix=fix,
    )
