"""Which columns a name may mean at some place of a query.

    FROM orders AS o JOIN users ON ...      o.price   ──▶ column 2
                                            users.name ─▶ column 5
                                            address.zip ▶ field of the ROW in column 6

In: the tables behind FROM.  Out: columns by number, of this query or of the one around it.
Next: expressions.py
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from headrace.common import data_types as t
from headrace.rel.nodes import TimeAttribute
from headrace.rel.resolve.problems import near, problem
from headrace.scalars.nodes import Outer, Ref

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.rel.nodes import Schema
    from headrace.scalars.nodes import Scalar
    from headrace.sql.ast import SqlNode


class FoundColumn(NamedTuple):
    """What a name means: a column, and the fields that are asked of it."""

    column: Ref | Outer
    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class NamedTable:
    """A table behind FROM.

    Attributes:
        path: what it is called: its alias, or its name with catalog and database.
        schema: its columns.
        first: the place of its first column among all of the query.
        hidden: columns that a name alone does not mean, since USING made one of two.
    """

    path: tuple[str, ...]
    schema: Schema
    first: int
    hidden: frozenset[str] = frozenset()

    def is_called(self, parts: tuple[str, ...]) -> bool:
        """Whether a qualifier means this table."""
        return bool(parts) and self.path[-len(parts) :] == parts

    def has(self, place: int) -> bool:
        """Whether a column of the query is one of this table."""
        return self.first <= place < self.first + len(self.schema)

    def place(self, name: str) -> int | None:
        """The place of a column."""
        for index, column in enumerate(self.schema):
            if column.name == name:
                return self.first + index
        return None


@dataclass(frozen=True)
class NameScope:
    """The tables whose columns can be named, and the scope of the query around.

    Attributes:
        tables: those behind FROM.
        around: of the query around.
        width: how many columns there are.
        listed: what names of the SELECT list stand for, as text: they mean nothing here.
    """

    tables: tuple[NamedTable, ...] = ()
    around: NameScope | None = None
    width: int = field(default=0)
    listed: Mapping[str, str] = field(default_factory=dict, compare=False)

    def with_table(self, path: tuple[str, ...], schema: Schema) -> NameScope:
        """One more table behind the others."""
        table = NamedTable(path, schema, self.width)
        return replace(self, tables=(*self.tables, table), width=self.width + len(schema))

    def beside(self, other: NameScope, hidden: frozenset[str] = frozenset()) -> NameScope:
        """The tables of both, those of the other behind."""
        moved = tuple(
            replace(table, first=table.first + self.width, hidden=table.hidden | hidden)
            for table in other.tables
        )
        return replace(self, tables=(*self.tables, *moved), width=self.width + other.width)

    def retyped(self, schema: Schema) -> NameScope:
        """The same tables with the types that their columns have behind a join."""
        tables = tuple(
            replace(table, schema=schema[table.first : table.first + len(table.schema)])
            for table in self.tables
        )
        return replace(self, tables=tables)

    def column_at(self, place: int) -> Ref:
        """A column by its place."""
        for table in self.tables:
            if table.has(place):
                return Ref(place, table.schema[place - table.first].type)
        raise AssertionError(place)

    def is_rowtime(self, scalar: Scalar) -> bool:
        """Whether a scalar is a time attribute of event time."""
        if not isinstance(scalar, Ref):
            return False
        fields = [field for table in self.tables for field in table.schema]
        return scalar.index < len(fields) and fields[scalar.index].time is TimeAttribute.ROWTIME

    def within(self, around: NameScope | None) -> NameScope:
        """The same inside of another query."""
        return replace(self, around=around)

    def columns(self) -> Iterator[tuple[int, NamedTable, str]]:
        """Place, table and name of all columns, as ``*`` lists them."""
        for table in self.tables:
            for index, column in enumerate(table.schema):
                if column.name not in table.hidden:
                    yield table.first + index, table, column.name

    def columns_of(self, qualifier: tuple[str, ...], node: SqlNode) -> list[tuple[int, str]]:
        """Places and names of the columns of one table, as ``t.*`` lists them."""
        for table in self.tables:
            if table.is_called(qualifier):
                return [(table.first + i, column.name) for i, column in enumerate(table.schema)]
        name = ".".join(qualifier)
        fix = near(name, (table.path[-1] for table in self.tables))
        raise problem(f"there is no table {name} here", node, fix)

    def qualifying(self, qualifier: tuple[str, ...], node: SqlNode) -> FoundColumn | None:
        """The column before the point of ``t.nested.*``; None if a table stands there."""
        if any(table.is_called(qualifier) for table in self.tables):
            return None
        return self._find(qualifier, node)

    def find(self, parts: tuple[str, ...], node: SqlNode) -> FoundColumn:
        """What a name means.

        Raises:
            SqlError: nothing, or more than one thing.
        """
        found = self._find(parts, node) or self._peek(parts, node)
        scope, depth = self.around, 1
        while found is None and scope is not None:
            outside = scope._find(parts, node) or scope._peek(parts, node)
            if outside is not None:
                column = Outer(outside.column.index, outside.column.type, depth)
                found = outside._replace(column=column)
            scope, depth = scope.around, depth + 1
        if found is None:
            raise self._unknown(parts, node)
        return found

    def _find(self, parts: tuple[str, ...], node: SqlNode) -> FoundColumn | None:
        # the longest qualifier first: a table's column before a column's field
        for cut in range(len(parts) - 1, -1, -1):
            qualifier, name, fields = parts[:cut], parts[cut], parts[cut + 1 :]
            matches = [
                (table, place)
                for table in self.tables
                if (table.is_called(qualifier) if qualifier else name not in table.hidden)
                and (place := table.place(name)) is not None
            ]
            if fields:
                matches = [
                    (table, place)
                    for table, place in matches
                    if isinstance(table.schema[place - table.first].type, t.RowType)
                ]
            if len(matches) > 1:
                tables = " and ".join(table.path[-1] or "a subquery" for table, _ in matches)
                fix = f"say which: {matches[0][0].path[-1]}.{name}"
                raise problem(f"column {name} is in {tables}", node, fix)
            if matches:
                table, place = matches[0]
                kind = table.schema[place - table.first].type
                return FoundColumn(Ref(place, kind), fields[-1] if fields else name, fields)
        return None

    def _peek(self, parts: tuple[str, ...], node: SqlNode) -> FoundColumn | None:
        """A field of a ROW by its name alone: where no column is called so, as in Flink."""
        found = [
            FoundColumn(Ref(table.first + place, column.type), parts[-1], path)
            for table in self.tables
            for place, column in enumerate(table.schema)
            if column.name not in table.hidden
            for path in _paths_to(column.type, parts)
        ]
        if len(found) > 1:
            raise problem(
                f"several columns have a field {'.'.join(parts)}", node, "say which: column.field"
            )
        return found[0] if found else None

    def _unknown(self, parts: tuple[str, ...], node: SqlNode) -> Exception:
        name = ".".join(parts)
        if name in self.listed:
            return problem(
                f"there is no column {name} here, only in the SELECT list",
                node,
                f"write {self.listed[name]}: ORDER BY and QUALIFY alone know names of the list",
            )
        known = [column for _, _, column in self.columns()]
        if len(parts) > 1 and any(table.is_called(parts[:-1]) for table in self.tables):
            known = [column for _, column in self.columns_of(parts[:-1], node)]
            return problem(
                f"table {'.'.join(parts[:-1])} has no column {parts[-1]}",
                node,
                near(parts[-1], known),
            )
        if len(parts) > 1:
            known = [f"{table.path[-1]}.{parts[-1]}" for table in self.tables] + known
        if not self.tables:
            return problem(f"there is no column {name}: the query has no FROM", node)
        return problem(f"there is no column {name} here", node, near(name, known))


def _paths_to(kind: t.DataType, parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Where a ROW has a field, at any depth."""
    if not isinstance(kind, t.RowType):
        return
    for each in kind.fields:
        if each.name == parts[0] and _has_fields(each.data_type, parts[1:]):
            yield parts
        for path in _paths_to(each.data_type, parts):
            yield (each.name, *path)


def _has_fields(kind: t.DataType, parts: tuple[str, ...]) -> bool:
    for name in parts:
        if not isinstance(kind, t.RowType) or name not in kind.names:
            return False
        kind = kind.fields[kind.names.index(name)].data_type
    return True
