"""Table functions behind FROM: windows, UNNEST, and those of the user.

    TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES))   ──▶ WindowTvf
    TABLE(TUMBLE((SELECT ts, a FROM bids), DESCRIPTOR(ts), ...))       ──▶ the same over the query
    orders CROSS JOIN UNNEST(items) AS t (name)                        ──▶ Correlate
    LATERAL TABLE(split(text)) AS t (word)                             ──▶ Correlate

In: table references of the syntax tree.  Out: nodes.  Next: ../building.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.rel import nodes as n
from headrace.rel.building import as_nullable, project, refs, window_tvf
from headrace.rel.functions import user_operands
from headrace.rel.resolve.constants import milliseconds
from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.problems import near, not_there, problem
from headrace.rel.resolve.scope import NameScope
from headrace.sql import ast
from headrace.sql import query_ast as q

if TYPE_CHECKING:
    from headrace.rel.resolve.from_clause import From
    from headrace.rel.resolve.queries import QueryResolver
    from headrace.scalars.nodes import Scalar

WINDOWS = {
    "TUMBLE": n.WindowKind.TUMBLE,
    "HOP": n.WindowKind.HOP,
    "CUMULATE": n.WindowKind.CUMULATE,
    "SESSION": n.WindowKind.SESSION,
}
# the names of arguments, in their order
_PARAMETERS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
UNNEST = "UNNEST"
UNNEST_WITH_ORDINALITY = "UNNEST WITH ORDINALITY"


def table_function(
    resolver: QueryResolver,
    node: q.TableFunctionCall | q.UnnestTable,
    around: NameScope | None,
    alias: q.AliasedTable | None = None,
) -> n.Rel:
    """A table function that stands alone behind FROM."""
    if isinstance(node, q.TableFunctionCall) and isinstance(node.call, ast.FunctionCall):
        name = node.call.name[-1].upper()
        if name in WINDOWS and len(node.call.name) == 1:
            return window_function(resolver, node.call, name)
    single = n.Values(((0,),), schema=(n.Field("$none", t.IntType()),))
    made = correlate(resolver, single, NameScope(around=around), node, n.JoinKind.INNER, alias)
    return project(made, refs(made)[1:], [field.name for field in made.schema[1:]])


# --- windows -------------------------------------------------------------------------------------


def window_function(resolver: QueryResolver, call: ast.FunctionCall, name: str) -> n.Rel:
    """A window table function over a table or query."""
    given = _named(call, name)
    data = _data(given.get("DATA"), call, name)
    rel, path = resolver.table_argument(data)
    time = _time_column(rel, given.get("TIMECOL"), call, name)
    partition = _partition(resolver, rel, path, data, name)
    spec = window_spec(rel.schema[time], time, WINDOWS[name], given, call, partition)
    if spec.kind is n.WindowKind.HOP and spec.size_ms % spec.slide_ms:
        raise problem("the size of HOP is a multiple of its slide", call)
    return window_tvf(rel, spec)


def _data(node: ast.SqlExpression | None, call: ast.FunctionCall, name: str) -> ast.TableArgument:
    if isinstance(node, ast.ScalarSubquery):
        return ast.TableArgument(node.query, position=node.position)
    if not isinstance(node, ast.TableArgument):
        raise problem(
            f"the first argument of {name} is a table or a query",
            node or call,
            f"{name}(TABLE t, ...), or {name}((SELECT ...), ...)",
        )
    return node


def _named(call: ast.FunctionCall, name: str) -> dict[str, ast.SqlExpression]:
    parameters = _PARAMETERS[name]
    found: dict[str, ast.SqlExpression] = {}
    for place, argument in enumerate(call.arguments):
        if isinstance(argument, ast.NamedArgument):
            key = argument.name.upper()
            if key not in parameters:
                raise problem(
                    f"{name} has no argument {argument.name}", argument, near(key, parameters)
                )
            found[key] = argument.value
        elif place >= len(parameters):
            raise problem(f"{name} takes {', '.join(parameters)}", argument)
        else:
            found[parameters[place]] = argument
    return found


def _time_column(
    rel: n.Rel, node: ast.SqlExpression | None, call: ast.FunctionCall, name: str
) -> int:
    if not isinstance(node, ast.DescriptorArgument) or len(node.columns) != 1:
        raise problem(f"{name} needs DESCRIPTOR(time column)", node or call)
    column = node.columns[0]
    names = [field.name for field in rel.schema]
    if column not in names:
        raise problem(f"there is no column {column} in the table", node, near(column, names))
    return names.index(column)


def _partition(
    resolver: QueryResolver, rel: n.Rel, path: tuple[str, ...], data: ast.TableArgument, name: str
) -> tuple[int, ...]:
    if not data.partition_by:
        return ()
    if name != "SESSION":
        raise problem(f"{name} takes no PARTITION BY", data, "only SESSION has it")
    scope = NameScope().with_table(path, rel.schema)
    expressions = ExpressionResolver(scope, resolver.catalogs)
    from headrace.scalars.nodes import Ref

    found = []
    for each in data.partition_by:
        scalar = expressions.scalar(each)
        if not isinstance(scalar, Ref):
            raise problem("PARTITION BY of SESSION names columns", each)
        found.append(scalar.index)
    return tuple(found)


def window_spec(
    field: n.Field,
    time: int,
    kind: n.WindowKind,
    given: dict[str, ast.SqlExpression],
    node: ast.SqlNode,
    partition: tuple[int, ...] = (),
) -> n.WindowSpec:
    """The window that a call describes, checked; it goes by a field, which has a place."""
    if not isinstance(field.type, t.TimestampType | t.LocalZonedTimestampType):
        raise problem(f"the time of a window is a TIMESTAMP, {field.name} is {field.type}", node)
    size = _ms(given, "GAP" if kind is n.WindowKind.SESSION else "SIZE", node)
    slide = (
        _ms(given, "SLIDE" if kind is n.WindowKind.HOP else "STEP", node)
        if kind
        in (
            n.WindowKind.HOP,
            n.WindowKind.CUMULATE,
        )
        else 0
    )
    if size <= 0 or (kind in (n.WindowKind.HOP, n.WindowKind.CUMULATE) and slide <= 0):
        raise problem("the size of a window is above 0", node)
    if kind is n.WindowKind.CUMULATE and size % slide:
        raise problem("the size of CUMULATE is a multiple of its step", node)
    offset = milliseconds(given["OFFSET"], "OFFSET") if "OFFSET" in given else 0
    return n.WindowSpec(
        kind=kind,
        time=time,
        size_ms=size,
        slide_ms=slide,
        offset_ms=offset,
        event_time=field.time is not n.TimeAttribute.PROCTIME,
        local=isinstance(field.type, t.LocalZonedTimestampType),
        partition=partition,
    )


def _ms(given: dict[str, ast.SqlExpression], name: str, node: ast.SqlNode) -> int:
    if name not in given:
        raise problem(f"the window has no {name}", node, f"give it: {name} => INTERVAL '1' HOUR")
    return milliseconds(given[name], f"the {name} of a window")


# --- a table for each line -----------------------------------------------------------------------


def correlated(
    resolver: QueryResolver,
    left: From,
    node: q.JoinedTable,
    right: q.TableReference,
    alias: q.AliasedTable | None,
) -> From:
    """``left JOIN LATERAL TABLE(f(left.x)) AS t (a, b) ON ...``."""
    from headrace.rel.resolve.from_clause import From as Joined

    if node.kind not in ("INNER", "CROSS", "LEFT"):
        raise problem(f"{node.kind} JOIN with a table function is not possible", node, "LEFT JOIN")
    if isinstance(right, q.DerivedTable):
        return _lateral_query(resolver, left, node, right, alias)
    assert isinstance(right, q.TableFunctionCall | q.UnnestTable)
    kind = n.JoinKind.LEFT if node.kind == "LEFT" else n.JoinKind.INNER
    rel = left.rel()
    made = correlate(resolver, rel, left.scope, right, kind, alias)
    width = len(rel.schema)
    name = ("",) if alias is None else (alias.alias,)
    scope = left.scope.with_table(name, made.schema[width:])
    if node.condition is not None:
        from dataclasses import replace

        condition = ExpressionResolver(scope, resolver.catalogs).condition(node.condition)
        from headrace.rel.conditions import conjunction, conjuncts

        made = replace(made, condition=conjunction(conjuncts(condition)))
    return Joined([made], scope)


def _lateral_query(
    resolver: QueryResolver,
    left: From,
    node: q.JoinedTable,
    right: q.DerivedTable,
    alias: q.AliasedTable | None,
) -> From:
    """``left JOIN LATERAL (SELECT ...) AS t ON ...``."""
    from headrace.rel.resolve.from_clause import From as Joined
    from headrace.rel.resolve.from_clause import renamed
    from headrace.rel.resolve.subqueries import lateral_join

    rel = left.rel()
    query = resolver.query(right.query, left.scope)
    if alias is not None:
        query = renamed(query, alias)
    name = ("",) if alias is None else (alias.alias,)
    scope = left.scope.with_table(name, query.schema)
    on = None
    if node.condition is not None:
        on = ExpressionResolver(scope, resolver.catalogs).condition(node.condition)
    kind = n.JoinKind.LEFT if node.kind == "LEFT" else n.JoinKind.INNER
    made = lateral_join(rel, query, kind, on, node)
    return Joined([made], scope.retyped(made.schema))


def correlate(
    resolver: QueryResolver,
    rel: n.Rel,
    scope: NameScope,
    node: q.TableFunctionCall | q.UnnestTable,
    kind: n.JoinKind,
    alias: q.AliasedTable | None = None,
) -> n.Correlate:
    """Every line of a node with what a table function makes of it."""
    assert kind in (n.JoinKind.INNER, n.JoinKind.LEFT)
    expressions = ExpressionResolver(scope, resolver.catalogs)
    function: object
    if isinstance(node, q.UnnestTable):
        function, arguments, made = _unnest(expressions, node)
    else:
        function, arguments, made = _user_function(resolver, expressions, node)
    names = alias.columns if alias is not None and alias.columns is not None else None
    if names is not None:
        if len(names) != len(made):
            raise problem(
                f"the function gives {len(made)} columns, but there are {len(names)} names", node
            )
        made = tuple(field._replace(name=name) for field, name in zip(made, names, strict=True))
    elif alias is not None and len(made) == 1 and made[0].name == "EXPR$0":
        made = (made[0]._replace(name=alias.alias),) if isinstance(node, q.UnnestTable) else made
    if kind is n.JoinKind.LEFT:
        made = tuple(map(as_nullable, made))
    return n.Correlate(rel, function, arguments, kind, schema=(*rel.schema, *made))


def _unnest(
    expressions: ExpressionResolver, node: q.UnnestTable
) -> tuple[str, tuple[Scalar, ...], n.Schema]:
    if len(node.items) != 1:
        raise not_there(
            "UNNEST of several collections", node, "join with one UNNEST after the other"
        )
    collection = expressions.scalar(node.items[0])
    kind = collection.type
    match kind:
        case t.ArrayType() | t.MultisetType():
            element = kind.element_type
            if isinstance(element, t.RowType):
                made = [n.Field(field.name, field.data_type) for field in element.fields]
                if element.is_nullable:
                    made = [as_nullable(field) for field in made]
            else:
                made = [n.Field("EXPR$0", element)]
        case t.MapType():
            made = [n.Field("KEY", kind.key_type), n.Field("VALUE", kind.value_type)]
        case _:
            raise problem(f"UNNEST takes an ARRAY, MAP or MULTISET, not {kind}", node.items[0])
    if node.ordinality:
        made.append(n.Field("ORDINALITY", t.IntType().not_null()))
    return UNNEST_WITH_ORDINALITY if node.ordinality else UNNEST, (collection,), tuple(made)


def _user_function(
    resolver: QueryResolver, expressions: ExpressionResolver, node: q.TableFunctionCall
) -> tuple[object, tuple[Scalar, ...], n.Schema]:
    if not isinstance(node.call, ast.FunctionCall):
        raise problem("TABLE(...) takes a call of a table function", node)
    found = resolver.catalogs.find_function(node.call.name)
    if found is None or found.kind != "table":
        name = ".".join(node.call.name)
        raise problem(f"there is no table function {name}", node.call, "register it, made by udtf")
    operands = expressions.operands(node.call.arguments)
    row = found.result_type
    if isinstance(row, t.RowType):
        made = tuple(n.Field(field.name, field.data_type) for field in row.fields)
    else:
        made = (n.Field("f0", row),)
    return found, user_operands(found, operands, node.call), made
