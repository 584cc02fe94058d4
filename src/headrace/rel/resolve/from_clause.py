"""The tables behind FROM: inner joins as a list of factors, everything else as nodes.

    FROM a, b JOIN c ON .. WHERE ..     factors a, b, c; conditions of ON and WHERE together

Conditions of inner joins are kept apart until WHERE is known, so that it does not matter where they
are written, and a condition stands as far down as it can.  In: table references of the syntax
tree.  Out: `From`.  Next: table_functions.py (windows, UNNEST, LATERAL), temporal.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.rel import nodes as n
from headrace.rel.building import filtered, joined, project, ref
from headrace.rel.conditions import conjunction, conjuncts, has_outer, moved
from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.match_recognize import match_recognize
from headrace.rel.resolve.problems import near, not_there, problem
from headrace.rel.resolve.scope import NameScope
from headrace.rel.resolve.subqueries import has_subquery
from headrace.rel.resolve.table_functions import correlated, table_function
from headrace.rel.resolve.temporal import temporal_join
from headrace.scalars.nodes import columns_of
from headrace.sql import query_ast as q

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.rel.resolve.queries import QueryResolver
    from headrace.scalars.nodes import Scalar

_KINDS = {
    "INNER": n.JoinKind.INNER,
    "CROSS": n.JoinKind.INNER,
    "LEFT": n.JoinKind.LEFT,
    "RIGHT": n.JoinKind.RIGHT,
    "FULL": n.JoinKind.FULL,
    "SEMI": n.JoinKind.SEMI,
    "ANTI": n.JoinKind.ANTI,
}


@dataclass
class From:
    """Tables that are joined with each other, and the conditions they must fulfil."""

    factors: list[n.Rel]
    scope: NameScope
    conditions: list[Scalar] = field(default_factory=list)

    def rel(self, where: Sequence[Scalar] = ()) -> n.Rel:
        """All of it as one node, whose columns are those of the scope."""
        return join_factors(self.factors, [*self.conditions, *where])


def from_clause(resolver: QueryResolver, node: q.TableReference, around: NameScope | None) -> From:
    """What stands behind FROM."""
    found = _from_clause(resolver, node, around)
    if isinstance(node, q.TableName | q.AliasedTable):
        resolver.hints.saw(found.scope.tables[-1].path, found.factors[-1])
    return found


def _from_clause(resolver: QueryResolver, node: q.TableReference, around: NameScope | None) -> From:
    match node:
        case q.TableName():
            path, rel = resolver.table(node)
            return _one(rel, path, around)
        case q.AliasedTable():
            return _aliased(resolver, node, around)
        case q.DerivedTable():
            rel = resolver.query(node.query, around)
            return _one(rel, ("",), around)
        case q.JoinedTable():
            return _joined(resolver, node, around)
        case q.TableFunctionCall() | q.UnnestTable():
            rel = table_function(resolver, node, around)
            return _one(rel, ("",), around)
        case q.SystemTimeTable():
            raise problem(
                "FOR SYSTEM_TIME AS OF stands behind JOIN", node, "JOIN t FOR SYSTEM_TIME AS OF x"
            )
        case q.MatchRecognize():
            source = from_clause(resolver, node.table, around)
            return _one(match_recognize(source, node, resolver.catalogs), ("",), around)
        case _:
            raise problem(f"{type(node).__name__} cannot stand behind FROM", node)


def _one(rel: n.Rel, path: tuple[str, ...], around: NameScope | None) -> From:
    return From([rel], NameScope(around=around).with_table(path, rel.schema))


def _aliased(resolver: QueryResolver, node: q.AliasedTable, around: NameScope | None) -> From:
    rel = from_clause(resolver, node.table, around).rel()
    return _one(renamed(rel, node), (node.alias,), around)


def renamed(rel: n.Rel, node: q.AliasedTable) -> n.Rel:
    """With the names that stand behind the alias."""
    if node.columns is None:
        return rel
    if len(node.columns) != len(rel.schema):
        raise problem(
            f"{node.alias} has {len(rel.schema)} columns, but {len(node.columns)} names", node
        )
    return project(rel, [ref(rel, i) for i in range(len(rel.schema))], node.columns)


# --- joins ---------------------------------------------------------------------------------------


def _joined(resolver: QueryResolver, node: q.JoinedTable, around: NameScope | None) -> From:
    left = from_clause(resolver, node.left, around)
    right_node, alias = _unaliased(node.right)
    if isinstance(right_node, q.SystemTimeTable):
        return temporal_join(resolver, left, node, right_node, alias)
    if _looks_left(right_node):
        return correlated(resolver, left, node, right_node, alias)
    right = from_clause(resolver, node.right, around)
    kind = _KINDS[node.kind]
    scope, using = _both(left.scope, right.scope, node)
    if node.condition is not None and has_subquery(node.condition):
        return _joined_by_query(resolver, node, left, right, scope)
    conditions = _conditions(resolver, node, scope, using)
    if kind is n.JoinKind.INNER:
        conditions = [*left.conditions, *_shifted(right, left.scope.width), *conditions]
        return From([*left.factors, *right.factors], scope, conditions)
    rel = joined(left.rel(), right.rel(), kind, conjunction(conditions))
    if kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        return From([rel], left.scope)
    return From([rel], scope.retyped(rel.schema))


def _joined_by_query(
    resolver: QueryResolver, node: q.JoinedTable, left: From, right: From, scope: NameScope
) -> From:
    """``ON`` with subqueries: of inner joins it is as good as WHERE; else it asks one side."""
    from headrace.rel.resolve.select import ast_conjuncts, with_conditions

    assert node.condition is not None
    kind = _KINDS[node.kind]
    parts = ast_conjuncts(node.condition)
    plain = [
        each
        for part in parts
        if not has_subquery(part)
        for each in conjuncts(ExpressionResolver(scope, resolver.catalogs).condition(part))
    ]
    queries = [part for part in parts if has_subquery(part)]
    if kind is n.JoinKind.INNER:
        conditions = [*left.conditions, *_shifted(right, left.scope.width), *plain]
        rel = From([*left.factors, *right.factors], scope, conditions).rel()
        return From([with_conditions(resolver, rel, scope, queries)], scope)
    if kind is not n.JoinKind.LEFT:
        raise not_there(
            f"a subquery in the ON of a {node.kind} JOIN", node, "join with it before, in FROM"
        )
    # lines of the right side that do not fulfil it have no partner
    below = with_conditions(resolver, right.rel(), right.scope, queries)
    rel = joined(left.rel(), below, kind, conjunction(plain))
    return From([rel], scope.retyped(rel.schema))


def _unaliased(node: q.TableReference) -> tuple[q.TableReference, q.AliasedTable | None]:
    if isinstance(node, q.AliasedTable):
        return node.table, node
    return node, None


def _looks_left(node: q.TableReference) -> bool:
    """Whether it is made anew for each line of the left side."""
    match node:
        case q.UnnestTable():
            return True
        case q.TableFunctionCall():
            return node.lateral or not _is_window_tvf(node)
        case q.DerivedTable():
            return node.lateral
        case _:
            return False


def _is_window_tvf(node: q.TableFunctionCall) -> bool:
    from headrace.sql.ast import FunctionCall

    names = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
    return isinstance(node.call, FunctionCall) and node.call.name[-1].upper() in names


def _both(left: NameScope, right: NameScope, node: q.JoinedTable) -> tuple[NameScope, list[str]]:
    """The scope of both sides, and the columns that USING or NATURAL make one of."""
    using: list[str] = []
    if node.natural:
        names = {name for _, _, name in right.columns()}
        using = [name for _, _, name in left.columns() if name in names]
    elif node.using is not None:
        using = list(node.using)
    return left.beside(right, frozenset(using)), using


def _conditions(
    resolver: QueryResolver, node: q.JoinedTable, scope: NameScope, using: list[str]
) -> list[Scalar]:
    expressions = ExpressionResolver(scope, resolver.catalogs)
    if node.condition is not None:
        return conjuncts(expressions.condition(node.condition))
    found = []
    for name in using:
        places = [
            scope.column_at(place)
            for table in scope.tables
            if (place := table.place(name)) is not None
        ]
        if len(places) < 2:
            fix = near(name, (column for _, _, column in scope.columns()))
            raise problem(f"USING names {name}, which is not in both tables", node, fix)
        found.append(expressions.called("=", node, places[0], places[-1]))
    return found


def _shifted(right: From, width: int) -> list[Scalar]:
    return [moved(condition, lambda i: i + width) for condition in right.conditions]


# --- factors -------------------------------------------------------------------------------------


def join_factors(factors: Sequence[n.Rel], conditions: Sequence[Scalar]) -> n.Rel:
    """Inner joins of all factors; the columns are those of the factors in their order.

    Each condition stands where all of its columns are there first.  Factors that are connected by
    an equation come before others, so that no product is made that need not be.
    """
    firsts = [sum(len(f.schema) for f in factors[:i]) for i in range(len(factors))]
    owner = [i for i, factor in enumerate(factors) for _ in factor.schema]
    waiting = [part for condition in conditions for part in conjuncts(condition)]
    on_top = [part for part in waiting if has_outer(part) or not columns_of(part)]
    waiting = [part for part in waiting if part not in on_top]
    below: list[n.Rel] = []
    for i, factor in enumerate(factors):
        own = [part for part in waiting if {owner[c] for c in columns_of(part)} == {i}]
        waiting = [part for part in waiting if part not in own]
        first = firsts[i]
        mine = conjunction([moved(part, lambda c, first=first: c - first) for part in own])  # type: ignore[misc]
        below.append(filtered(factor, mine))
    rel, places = _FactorJoins(below, firsts, owner, waiting).all()
    width = len(owner)
    if places != list(range(width)):
        names = [factors[owner[c]].schema[c - firsts[owner[c]]].name for c in range(width)]
        rel = project(rel, [ref(rel, places[c]) for c in range(width)], names)
    return filtered(rel, conjunction(on_top))


class _FactorJoins:
    """Joins factors one by one; conditions wait until all of their columns are there.

    Args:
        factors: what is joined.
        firsts: of each factor, the place of its first column among all.
        owner: of each column, its factor.
        waiting: conditions over the columns of all.
    """

    def __init__(
        self,
        factors: Sequence[n.Rel],
        firsts: Sequence[int],
        owner: Sequence[int],
        waiting: Sequence[Scalar],
    ) -> None:
        self._factors = factors
        self._firsts = firsts
        self._waiting = list(waiting)
        self._owners = {id(part): {owner[c] for c in columns_of(part)} for part in waiting}

    def all(self) -> tuple[n.Rel, list[int]]:
        """The join of all, and the place that each column has in it."""
        left = list(range(len(self._factors)))
        rel, done = self._connected(left)
        while left:  # nothing equals anything in what is there: what is left is joined by itself
            other, more = self._connected(left)
            rel, done = self._joined(rel, done, other, more)
        assert not self._waiting
        places: dict[int, int] = {}
        for factor in done:
            for offset in range(len(self._factors[factor].schema)):
                places[self._firsts[factor] + offset] = len(places)
        return rel, [places[column] for column in range(len(places))]

    def _connected(self, left: list[int]) -> tuple[n.Rel, list[int]]:
        """The first factor with all that equations connect it with; takes them out of `left`."""
        chosen: int | None = left.pop(0)
        assert chosen is not None
        rel, done = self._factors[chosen], [chosen]
        while (chosen := self._next(done, left)) is not None:
            left.remove(chosen)
            rel, done = self._joined(rel, done, self._factors[chosen], [chosen])
        return rel, done

    def _next(self, done: list[int], left: list[int]) -> int | None:
        for candidate in left:
            for part in self._waiting:
                owners = self._owners[id(part)]
                if candidate in owners and owners <= {*done, candidate} and _is_equation(part):
                    return candidate
        return None

    def _joined(
        self, rel: n.Rel, done: list[int], other: n.Rel, more: list[int]
    ) -> tuple[n.Rel, list[int]]:
        together = [*done, *more]
        ready = [part for part in self._waiting if self._owners[id(part)] <= {*together}]
        self._waiting = [part for part in self._waiting if part not in ready]
        places: dict[int, int] = {}
        for factor in together:
            for offset in range(len(self._factors[factor].schema)):
                places[self._firsts[factor] + offset] = len(places)
        condition = conjunction([moved(part, places.__getitem__) for part in ready])
        return joined(rel, other, n.JoinKind.INNER, condition), together


def _is_equation(part: Scalar) -> bool:
    from headrace.scalars.nodes import Call

    return isinstance(part, Call) and part.function == "="
