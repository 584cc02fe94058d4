"""Tables that are grouped, windowed or aggregated, and lack their select.

In: a table, keys and windows.  Out: tables.  Next: table/table.py
"""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.common.data_types import LocalZonedTimestampType, TimestampType
from headrace.errors import InvalidArgumentError
from headrace.rel.resolve.group_windows import WindowGroups
from headrace.rel.resolve.resolver import Resolver
from headrace.scalars.nodes import Ref
from headrace.sql import ast
from headrace.sql.api_ast import InlineCall, SelectedColumns, WindowPropertyAccess
from headrace.table.calls import aggregated, bound_name, row_call, spelled, with_arguments
from headrace.table.declared import marked
from headrace.table.expressing.base import expression, operand
from headrace.table.expression import Expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.rel.catalogs import Catalogs
    from headrace.rel.nodes import Rel
    from headrace.table.table import Table
    from headrace.table.udf import UserDefinedFunctionWrapper
    from headrace.table.window import GroupWindow, OverWindow

Fields = tuple[Expression[Any], ...]


def _nodes(fields: Sequence[Expression[Any]]) -> list[ast.SqlExpression]:
    return [operand(field)._value for field in fields]


class GroupedTable:
    """A table in groups."""

    def __init__(self, table: Table, keys: Fields) -> None:
        self._table, self._keys = table, _nodes(keys)

    def select(self, *fields: Expression[Any]) -> Table:
        """One line for each group: keys and aggregates."""
        resolver, rel = self._table._resolver, self._table._rel
        items = spelled(resolver, rel, fields)
        return self._table._with(resolver.group(rel, self._keys, items))

    def aggregate(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> AggregatedTable:
        """One line for each group: the keys, and the columns of an aggregate function."""
        resolver, rel = self._table._resolver, self._table._rel
        return AggregatedTable(self._table._with(aggregated(resolver, rel, self._keys, func)))

    def flat_aggregate(
        self, func: Expression[Any] | UserDefinedFunctionWrapper
    ) -> FlatAggregateTable:
        """Some lines for each group: the keys, and the columns of a table aggregate function."""
        resolver, rel = self._table._resolver, self._table._rel
        call, names = row_call(func, "table_aggregate")
        call = _inline(resolver, call)
        made = resolver.flat_aggregate(rel, self._keys, with_arguments(rel, call), names)
        return FlatAggregateTable(self._table._with(made))


def _inline(resolver: Resolver, call: ast.SqlExpression) -> ast.SqlExpression:
    """A call by name as one of the function itself."""
    if isinstance(call, ast.FunctionCall):
        definition = resolver.catalogs.find_function(call.name)
        if definition is not None:
            return InlineCall(definition, call.arguments)
    return call


class AggregatedTable:
    """A table that was aggregated."""

    def __init__(self, table: Table, window: str | None = None) -> None:
        self._table, self._window = table, window

    def select(self, *fields: Expression[Any]) -> Table:
        """Some of the keys and columns."""
        if self._window is None:
            visible = self._table
            return visible.select(*fields)
        alias = self._window
        shown = [_with_bounds(operand(field), alias) for field in fields]
        return self._table.select(*shown)


def _with_bounds(field: Expression[Any], alias: str) -> Expression[Any]:
    """``w.start`` as the column that holds it."""
    return expression(_replaced(field._value, alias), str(field))


def _replaced(node: Any, alias: str) -> Any:
    if isinstance(node, WindowPropertyAccess) and node.operand == ast.Identifier((alias,)):
        return ast.Identifier((bound_name(alias, node.what),))
    if isinstance(node, tuple):
        return tuple(_replaced(part, alias) for part in node)
    if is_dataclass(node) and isinstance(node, ast.SqlNode):
        changes = {
            part.name: _replaced(getattr(node, part.name), alias)
            for part in dataclass_fields(node)
            if part.name != "position"
        }
        return replace(node, **changes)
    return node


class FlatAggregateTable:
    """A table that was aggregated to several lines a group."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def select(self, *fields: Expression[Any]) -> Table:
        """Some of the keys and columns."""
        return self._table.select(*fields)


class GroupWindowedTable:
    """A table in windows."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table, self._window = table, window

    def group_by(self, *fields: Expression[Any]) -> WindowGroupedTable:
        """Groups of lines with equal values and the same window; its alias must be among them."""
        return WindowGroupedTable(self._table, self._window, fields)


def _with_time(table: Table, window: GroupWindow) -> Table:
    """In batch mode every timestamp can put lines into windows: all are there at the end."""
    if table._t_env._streaming or not isinstance(window.time, ast.Identifier):
        return table
    rel, name = table._rel, window.time.parts[-1]
    names = [field.name for field in rel.schema]
    if name not in names or rel.schema[names.index(name)].time is not None:
        return table
    if not isinstance(rel.schema[names.index(name)].type, TimestampType | LocalZonedTimestampType):
        return table
    return table._with(replace(rel, schema=marked(rel.schema, names.index(name))))


class WindowGroupedTable:
    """A table in groups of windows."""

    def __init__(self, table: Table, window: GroupWindow, keys: Fields) -> None:
        self._table, self._keys = _with_time(table, window), _nodes(keys)
        assert window.time is not None
        kind = window.kind.upper()
        self._window = WindowGroups(window.name, kind, window.time, window.size, window.slide)
        if not any(self._window.takes(key) for key in self._keys):
            raise InvalidArgumentError(
                f"group_by must name the window {window.name!r}",
                fix=f'add col("{window.name}") to group_by',
            )

    def select(self, *fields: Expression[Any]) -> Table:
        """One line for each group: keys, aggregates, bounds of the window."""
        resolver, rel = self._table._resolver, self._table._rel
        items = spelled(resolver, rel, fields)
        return self._table._with(resolver.group(rel, self._keys, items, self._window))

    def aggregate(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> AggregatedTable:
        """One line for each group: the keys, and the columns of an aggregate function."""
        resolver, rel = self._table._resolver, self._table._rel
        if not isinstance(func, Expression):
            call, names = row_call(func, "aggregate")
            assert isinstance(call, InlineCall)
            others = SelectedColumns((self._window.time,), others=True)
            node: ast.SqlExpression = replace(call, arguments=(others,))
            func = expression(node, "aggregate")
            func = func.alias(*names) if names else func
        made = aggregated(resolver, rel, self._keys, func, self._window)
        return AggregatedTable(self._table._with(made), self._window.alias)


class OverWindowedTable:
    """A table whose lines see others around them."""

    def __init__(self, table: Table, windows: Sequence[OverWindow]) -> None:
        self._table = table
        self._windows = {window.name: window.window for window in windows}

    def select(self, *fields: Expression[Any]) -> Table:
        """Values of every line, and aggregates over its window."""
        resolver, rel = self._table._resolver, self._table._rel
        items = spelled(resolver, rel, fields)
        if self._table._t_env._streaming:
            self._check_order(resolver, rel)
        named = _NamedCalls(resolver.catalogs)
        made = Resolver(named).over(rel, [named.taken(item) for item in items], self._windows)
        return self._table._with(made)

    def _check_order(self, resolver: Resolver, rel: Rel) -> None:
        """Over windows of the Table API go by time; SQL's can go by other columns, too."""
        for window in self._windows.values():
            found = resolver.expressions(rel).scalar(window.order_by[0].expression)
            if not isinstance(found, Ref) or rel.schema[found.index].time is None:
                raise InvalidArgumentError(
                    "Second argument in OVER window must be a TIME ATTRIBUTE, but is: "
                    f"{found.type}",
                    fix="order by a column with a watermark, or by proctime",
                )


class _NamedCalls:
    """Catalogs in which functions that are called as Python objects have names."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._functions: list[UserFunctionDefinition] = []

    def taken(self, node: Any) -> Any:
        """An expression whose calls over windows are calls by name."""
        if isinstance(node, InlineCall) and node.over is not None:
            self._functions.append(node.function)
            name = f"$inline{len(self._functions) - 1}"
            window = ast.OverClause(node.over, named_only=True)
            arguments = tuple(self.taken(argument) for argument in node.arguments)
            return ast.FunctionCall((name,), arguments, distinct=node.distinct, over=window)
        if isinstance(node, tuple):
            return tuple(self.taken(part) for part in node)
        if is_dataclass(node) and isinstance(node, ast.SqlExpression):
            changes = {
                part.name: self.taken(getattr(node, part.name))
                for part in dataclass_fields(node)
                if part.name != "position"
            }
            return replace(node, **changes)
        return node

    def find_function(self, path: tuple[str, ...]) -> UserFunctionDefinition | None:
        """One that was taken, or one of the catalogs."""
        if len(path) == 1 and path[0].startswith("$inline"):
            return self._functions[int(path[0].removeprefix("$inline"))]
        return self._catalogs.find_function(path)

    def find_table(
        self, path: tuple[str, ...], options: dict[str, str] | None = None
    ) -> tuple[tuple[str, ...], Rel] | None:
        """As the catalogs say."""
        return self._catalogs.find_table(path, options)

    def table_names(self) -> list[str]:
        """As the catalogs say."""
        return self._catalogs.table_names()
