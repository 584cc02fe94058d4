"""GROUP BY and aggregates: expressions over groups become columns of an aggregate.

    SELECT k, SUM(a + 1) / 2 FROM t GROUP BY k
        ──▶ Calc(k, a + 1) ──▶ Aggregate(keys 0, SUM(1)) ──▶ Calc(0, 1 / 2)

In: the keys and the expressions of a SELECT, or of `Table.group_by`.  Out: a node, and a resolver
for what stands above it.  Next: over.py, select.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.rel import nodes as n
from headrace.rel.building import field_of, project
from headrace.rel.functions import call, cast, user_operands
from headrace.rel.resolve.expressions import ColumnAtPlace, ExpressionResolver
from headrace.rel.resolve.problems import near, not_there, problem
from headrace.rel.resolve.table_functions import WINDOWS, window_spec
from headrace.rel.windows import WindowColumns, window_aggregate, window_schema
from headrace.scalars.aggregate_rules import aggregate_names, aggregate_rule, is_aggregate
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.json_arguments import is_json
from headrace.scalars.nodes import Literal, Ref, columns_of
from headrace.sql import ast
from headrace.sql.api_ast import InlineCall, WindowPropertyAccess
from headrace.sql.query_ast import GroupingSets, SqlQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.rel.catalogs import FunctionSource
    from headrace.rel.resolve.scope import NameScope
    from headrace.scalars.nodes import Scalar


def has_aggregate(node: ast.SqlNode, functions: FunctionSource) -> bool:
    """Whether an expression aggregates lines: not with OVER, and not in a subquery."""
    if isinstance(node, SqlQuery):
        return False
    if isinstance(node, ast.FunctionCall) and is_call_of_aggregate(node, functions):
        return True
    if isinstance(node, InlineCall) and node.over is None and _inline_aggregates(node):
        return True
    return any(has_aggregate(part, functions) for part in ast.parts_of(node))


def has_over(node: ast.SqlNode) -> bool:
    """Whether a call in an expression is OVER the lines around each; not in a subquery."""
    if isinstance(node, SqlQuery):
        return False
    if isinstance(node, ast.FunctionCall | InlineCall) and node.over is not None:
        return True
    return any(map(has_over, ast.parts_of(node)))


def is_call_of_aggregate(node: ast.FunctionCall, functions: FunctionSource) -> bool:
    """Whether a call itself aggregates lines; what it is called with may, too."""
    if node.over is not None:
        return False
    user = functions.find_function(node.name)
    if user is not None:
        return user.kind == "aggregate"
    return len(node.name) == 1 and is_aggregate(node.name[0].upper())


def _inline_aggregates(node: InlineCall) -> bool:
    definition: UserFunctionDefinition = node.function
    return definition.kind == "aggregate"


@dataclass(frozen=True)
class GroupByWindow:
    """``GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)``: the window, its time, and how it is written.

    The place of the time in `spec` is told when the groups are built.
    """

    name: str
    node: ast.FunctionCall
    time: Scalar
    spec: n.WindowSpec


class GroupResolver(ExpressionResolver):
    """Resolves expressions over groups; what it needs is collected until `build` is called.

    Args:
        rel: what is grouped.
        scope: of its columns.
        functions: of the user.
        keys: expressions of GROUP BY; sets of them for GROUPING SETS.
        inner: resolves keys and arguments, which are over lines.
    """

    def __init__(
        self,
        rel: n.Rel,
        scope: NameScope,
        functions: FunctionSource,
        keys: Sequence[ast.SqlExpression | GroupingSets],
        inner: ExpressionResolver | None = None,
    ) -> None:
        super().__init__(scope, functions)
        self.rel = rel
        self.inner = inner or ExpressionResolver(scope, functions)
        self.window: GroupByWindow | None = None
        self.window_alias: str | None = None
        self.keys: list[Scalar] = []
        self.key_names: list[str] = []
        self.sets: list[frozenset[int]] | None = None
        self.arguments: list[Scalar] = []
        self.calls: list[tuple[AggregateCall, tuple[Scalar, ...], Scalar | None]] = []
        self.properties: list[n.WindowProperty] = []
        self._read_keys(keys)

    # --- keys ----------------------------------------------------------------------------------

    def _read_keys(self, keys: Sequence[ast.SqlExpression | GroupingSets]) -> None:
        sets: list[frozenset[int]] = [frozenset()]
        grouped = False
        for key in keys:
            if isinstance(key, GroupingSets):
                grouped = True
                sets = [one | other for one in sets for other in self._sets(key)]
            elif not self._read_window(key):
                place = self._key(key)
                sets = [each | {place} for each in sets]
        if grouped:
            self.sets = sets

    def _read_window(self, key: ast.SqlExpression) -> bool:
        if not isinstance(key, ast.FunctionCall) or len(key.name) != 1:
            return False
        name = key.name[0].upper()
        if name not in ("TUMBLE", "HOP", "SESSION"):
            return False
        if self.window is not None:
            raise problem("GROUP BY has two windows", key)
        time = self.inner.scalar(key.arguments[0])
        if isinstance(time.type, t.DateType):  # as Flink has it in batch mode
            time = cast(time, t.TimestampType(3, nullable=time.type.is_nullable))
        names = {"TUMBLE": ("SIZE",), "HOP": ("SLIDE", "SIZE"), "SESSION": ("GAP",)}[name]
        given = dict(zip((*names, "OFFSET"), key.arguments[1:], strict=False))
        field = field_of(self.rel, time, name_of(key.arguments[0]) or "its time")
        spec = window_spec(field, 0, WINDOWS[name], given, key)
        self.window = GroupByWindow(name, key, time, spec)
        return True

    def _key(self, key: ast.SqlExpression) -> int:
        scalar = self.inner.scalar(key)
        if scalar not in self.keys:
            self.keys.append(scalar)
            self.key_names.append(name_of(key) or f"EXPR${len(self.keys) - 1}")
        return self.keys.index(scalar)

    def _sets(self, node: GroupingSets) -> list[frozenset[int]]:
        parts: list[list[frozenset[int]]] = []
        for each in node.sets:
            if isinstance(each, GroupingSets):
                parts.append(self._sets(each))
            else:
                parts.append([frozenset(self._key(key) for key in each)])
        if node.kind == "GROUPING SETS":
            return [found for part in parts for found in part]
        elements = [part[0] for part in parts]
        if node.kind == "ROLLUP":
            return [frozenset().union(*elements[:count]) for count in range(len(elements), -1, -1)]
        found: list[frozenset[int]] = [frozenset()]
        for element in reversed(elements):
            found = [*(each | element for each in found), *found]
        return found

    # --- expressions ---------------------------------------------------------------------------

    def before(self, node: ast.SqlExpression) -> Scalar | None:
        """A key, an aggregate or a constant; None if parts of it are."""
        if isinstance(node, ast.FunctionCall) and node.over is None:
            found = self._special(node)
            if found is not None:
                return found
            if is_call_of_aggregate(node, self.functions):
                return self._aggregate(node)
        if isinstance(node, WindowPropertyAccess) and self._is_window(node.operand):
            return self._bound(node, node.what.upper())
        if isinstance(node, InlineCall) and _inline_aggregates(node):
            return self._collected(*inline_aggregate(self.inner, node), None)
        if has_aggregate(node, self.functions) or _has_special(node, self):
            return None
        scalar = self._try_inner(node)
        if scalar is None:
            return None
        if scalar in self.keys:
            return self.key_column(scalar)
        if not columns_of(scalar):
            return scalar
        if isinstance(node, ast.Identifier | ColumnAtPlace):
            name = node.name if isinstance(node, ColumnAtPlace) else ".".join(node.parts)
            raise problem(
                f"{name} is neither grouped nor aggregated",
                node,
                f"add it to GROUP BY, or aggregate it: MAX({name})",
            )
        return None

    def key_column(self, key: Scalar) -> Ref:
        """A key as a column of the groups."""
        place = self.keys.index(key)
        nullable = self.sets is not None and not all(place in each for each in self.sets)
        return Ref(place, key.type.nullable() if nullable else key.type)

    def _try_inner(self, node: ast.SqlExpression) -> Scalar | None:
        if has_over(node) or any(isinstance(part, SqlQuery) for part in ast.walk_nodes(node)):
            return None
        return self.inner.scalar(node)

    def _aggregate(self, node: ast.FunctionCall) -> Scalar:
        arguments = tuple(a for a in node.arguments if not isinstance(a, ast.Star))
        operands = self.inner.operands(_plain(arguments))
        condition = None if node.filter is None else self.inner.condition(node.filter)
        return self._collected(*aggregate_call(node, operands, self.functions), condition)

    def _collected(
        self, call_: AggregateCall, operands: tuple[Scalar, ...], condition: Scalar | None
    ) -> Scalar:
        entry = (call_, operands, condition)
        if entry not in self.calls:
            self.calls.append(entry)
        # places are known at the end: windows and grouping sets add keys
        return Ref(_CALLS + self.calls.index(entry), call_.type)

    def _special(self, node: ast.FunctionCall) -> Scalar | None:
        name = node.name[-1].upper()
        if self.window is not None and name.startswith(f"{self.window.name}_"):
            return self._window_property(node, name.removeprefix(f"{self.window.name}_"))
        if name in ("GROUPING", "GROUPING_ID", "GROUP_ID") and len(node.name) == 1:
            return self._grouping(node, name)
        return None

    def _window_property(self, node: ast.FunctionCall, part: str) -> Scalar:
        assert self.window is not None
        if node.arguments != self.window.node.arguments:
            raise problem(
                f"{self.window.name}_{part} has other arguments than the window in GROUP BY",
                node,
                "give it the same ones",
            )
        return self._bound(node, part)

    def _is_window(self, node: ast.SqlExpression) -> bool:
        return isinstance(node, ast.Identifier) and node.parts == (self.window_alias,)

    def _bound(self, node: ast.SqlExpression, part: str) -> Scalar:
        assert self.window is not None
        if part == "PROCTIME":
            spec = replace(self.window.spec, asks_clock=True)
            self.window = replace(self.window, spec=spec)
            return call("PROCTIME", (), node)
        if part == "ROWTIME" and not self.window.spec.event_time:
            raise problem(
                "windows of processing time have no ROWTIME",
                node,
                "ask for their PROCTIME, or group by windows of event time",
            )
        bounds = n.WindowProperty
        bound = {"START": bounds.START, "END": bounds.END}.get(part, bounds.TIME)
        if bound not in self.properties:
            self.properties.append(bound)
        kind: t.DataType = t.TimestampType(3).not_null()
        if bound is bounds.TIME:
            kind = self.window.time.type.not_null()
        return Ref(_PROPERTIES + self.properties.index(bound), kind)

    def _grouping(self, node: ast.FunctionCall, name: str) -> Scalar:
        if self.sets is None or name == "GROUP_ID":
            return Literal(0, t.BigIntType().not_null())
        places = [self.keys.index(self.inner.scalar(each)) for each in node.arguments]
        masks = [
            sum((p not in each) << i for i, p in enumerate(reversed(places))) for each in self.sets
        ]
        marker = Ref(_MARKER, t.BigIntType().not_null())
        found: Scalar = Literal(masks[-1], t.BigIntType().not_null())
        from headrace.scalars.nodes import Case

        branches = tuple(
            (
                call("=", (marker, Literal(number, t.BigIntType().not_null())), node),
                Literal(mask, t.BigIntType().not_null()),
            )
            for number, mask in enumerate(masks[:-1])
        )
        return Case(branches, found, t.BigIntType().not_null()) if branches else found

    # --- building ------------------------------------------------------------------------------

    def build(self) -> n.Rel:
        """The aggregate; what `placed` gives is over its columns."""
        columns: list[Scalar] = list(self.keys)
        calls = [self._placed_call(columns, *entry) for entry in self.calls]
        if self.window is not None and self.window.time not in columns:
            columns.append(self.window.time)
        names = self.key_names + [f"$c{i}" for i in range(len(self.keys), len(columns))]
        below = project(self.rel, columns, names)
        keys = tuple(range(len(self.keys)))
        if self.window is not None:
            return self._group_window(below, columns, keys, calls)
        if self.sets is not None:
            return self._grouping_sets(below, keys, calls)
        output = [*self.key_names, *(f"$a{i}" for i in range(len(calls)))]
        windowed = window_aggregate(below, keys, calls, output)
        return windowed or aggregate(below, keys, calls)

    def _placed_call(
        self,
        columns: list[Scalar],
        call_: AggregateCall,
        operands: tuple[Scalar, ...],
        condition: Scalar | None,
    ) -> AggregateCall:
        def place(scalar: Scalar) -> int:
            if scalar not in columns:
                columns.append(scalar)
            return columns.index(scalar)

        arguments = tuple(place(each) for each in operands)
        return replace(
            call_, arguments=arguments, filter=None if condition is None else place(condition)
        )

    def _group_window(
        self, below: n.Rel, columns: list[Scalar], keys: tuple[int, ...], calls: list[AggregateCall]
    ) -> n.Rel:
        assert self.window is not None
        spec, time = self.window.spec, columns.index(self.window.time)
        partition = keys if spec.kind is n.WindowKind.SESSION else ()
        spec = replace(spec, time=time, partition=partition)
        windows = WindowColumns(spec, None, None, time)
        schema = window_schema(below, keys, calls, self.properties, windows)
        return n.WindowAggregate(
            below, spec, keys, tuple(calls), tuple(self.properties), schema=schema
        )

    def _grouping_sets(
        self, below: n.Rel, keys: tuple[int, ...], calls: list[AggregateCall]
    ) -> n.Rel:
        assert self.sets is not None
        from headrace.rel.building import ref

        width = len(below.schema)
        projections = []
        # a key that is also an argument keeps its value there: keys are columns of their own
        for number, each in enumerate(self.sets):
            kept = [
                ref(below, key) if key in each else Literal(None, below.schema[key].type.nullable())
                for key in keys
            ]
            marker = Literal(number, t.BigIntType().not_null())
            projections.append((*(ref(below, i) for i in range(width)), *kept, marker))
        schema = (
            *below.schema,
            *(below.schema[key]._replace(type=below.schema[key].type.nullable()) for key in keys),
            n.Field("$e", t.BigIntType().not_null()),
        )
        expanded = n.Expand(below, tuple(projections), schema=schema)
        all_keys = tuple(range(width, width + len(keys) + 1))
        names = [f"$g{place}" for place in range(len(all_keys) + len(calls))]
        windowed = window_aggregate(expanded, all_keys, calls, names)
        return windowed or aggregate(expanded, all_keys, calls)

    def placed(self, scalar: Scalar) -> Scalar:
        """A scalar of this resolver over the columns of what `build` gave."""
        from headrace.scalars.nodes import rewrite

        marker = len(self.keys)
        first = marker + (self.sets is not None)

        def place(part: Scalar) -> Scalar | None:
            if not isinstance(part, Ref) or part.index < _CALLS:
                return None
            if part.index >= _BEYOND:
                return None
            if part.index >= _MARKER:
                return Ref(marker, part.type)
            if part.index >= _PROPERTIES:
                return Ref(first + len(self.calls) + part.index - _PROPERTIES, part.type)
            return Ref(first + part.index - _CALLS, part.type)

        return rewrite(scalar, place)


# places of what is not known yet, far above all columns
_CALLS = 1_000_000
_PROPERTIES = 2_000_000
_MARKER = 3_000_000
_BEYOND = 4_000_000  # over.py and select.py have theirs there


def _has_special(node: ast.SqlNode, resolver: GroupResolver) -> bool:
    if isinstance(node, SqlQuery):
        return False
    if isinstance(node, WindowPropertyAccess) and resolver._is_window(node.operand):
        return True
    if isinstance(node, ast.FunctionCall) and node.over is None:
        name = node.name[-1].upper()
        if name in ("GROUPING", "GROUPING_ID", "GROUP_ID"):
            return True
        if resolver.window is not None and name.startswith(f"{resolver.window.name}_"):
            return True
    return any(_has_special(part, resolver) for part in ast.parts_of(node))


def _plain(arguments: tuple[ast.SqlExpression, ...]) -> tuple[ast.SqlExpression, ...]:
    """Arguments of aggregates; JSON_OBJECTAGG has a key and a value."""
    found: list[ast.SqlExpression] = []
    for argument in arguments:
        found += (
            [argument.key, argument.value] if isinstance(argument, ast.JsonEntry) else [argument]
        )
    return tuple(found)


def aggregate_call(
    node: ast.FunctionCall, operands: tuple[Scalar, ...], functions: FunctionSource
) -> tuple[AggregateCall, tuple[Scalar, ...]]:
    """An aggregate with its type, and its operands cast to what it takes; places come later."""
    if node.order_by or node.within_group:
        raise not_there("ORDER BY in an aggregate", node, "order the lines before, or leave it out")
    user = functions.find_function(node.name)
    if user is not None:
        given = user_operands(user, operands, node)
        made = AggregateCall(user.name, (), user.result_type, node.distinct, user=user)
        return made, given
    name = node.name[0].upper()
    if not is_aggregate(name):
        message = f"{name} is no aggregate function: it cannot stand in front of OVER"
        raise problem(message, node, near(name, aggregate_names()))
    _check_nulls(name, node)
    types = aggregate_rule(name, tuple(each.type for each in operands), distinct=node.distinct)
    casted = tuple(cast(o, kind, node) for o, kind in zip(operands, types[0], strict=True))
    if name in ("JSON_OBJECTAGG", "JSON_ARRAYAGG") and not is_json(casted[-1]):
        casted = (*casted[:-1], call("JSON_STRING", casted[-1:], node))
    options: tuple[object, ...] = ()
    if node.null_treatment is not None:
        options = (node.null_treatment,)
    if node.json is not None and node.json.on_null is not None:
        options = (*options, node.json.on_null)
    return AggregateCall(name, (), types[1], node.distinct, options=options), casted


def _check_nulls(name: str, node: ast.FunctionCall) -> None:
    """IGNORE NULLS and RESPECT NULLS stand where they change something, and where it is done."""
    if node.null_treatment is None or name == "ARRAY_AGG":
        return
    if name not in ("LAG", "LEAD"):
        raise problem(
            f"{node.null_treatment} cannot stand behind {name}",
            node,
            "leave it out: aggregates of values leave NULL out, as FIRST_VALUE and LAST_VALUE do",
        )
    if node.null_treatment == "IGNORE NULLS":
        raise not_there(
            f"IGNORE NULLS behind {name}", node, "leave NULL out before: WHERE ... IS NOT NULL"
        )


def inline_aggregate(
    resolver: ExpressionResolver, node: InlineCall
) -> tuple[AggregateCall, tuple[Scalar, ...]]:
    """An aggregate that is called as a Python object."""
    user: UserFunctionDefinition = node.function
    operands = user_operands(user, resolver.inline_operands(user, node), node)
    return AggregateCall(user.name, (), user.result_type, node.distinct, user=user), operands


def aggregate(
    rel: n.Rel, keys: tuple[int, ...], calls: Sequence[AggregateCall]
) -> n.GroupAggregate:
    """A GROUP BY."""
    schema = (
        *(rel.schema[key]._replace(time=None) for key in keys),
        *(n.Field(f"$a{place}", _global_type(call, keys)) for place, call in enumerate(calls)),
    )
    return n.GroupAggregate(rel, keys, tuple(calls), schema=schema)


def _global_type(call_: AggregateCall, keys: tuple[int, ...]) -> t.DataType:
    """Without keys there may be no line to aggregate: then all but COUNT are NULL."""
    never_null = call_.function in ("COUNT", "$SUM0")
    return call_.type if keys or never_null else call_.type.nullable()


def distinct(rel: n.Rel) -> n.Rel:
    """Of lines that are equal, one."""
    keys = tuple(range(len(rel.schema)))
    names = [field.name for field in rel.schema]
    return window_aggregate(rel, keys, (), names) or aggregate(rel, keys, ())


def name_of(node: ast.SqlExpression) -> str | None:
    """The name that an expression has by itself."""
    match node:
        case ast.Identifier():
            return node.parts[-1]
        case ast.FieldAccess():
            return node.name
        case _:
            return None
