"""Random queries with subqueries in every place, over three small tables with NULLs.

In: a seed.  Out: tables and texts that Flink's dialect and DuckDB's read alike.  No LATERAL
aggregates: there Flink, and headrace with it, differ from SQL.  Next: test_second_opinion.py
"""

from __future__ import annotations

import random
from itertools import count
from typing import Any

COLUMNS = ("id", "x", "y", "z")
SIGNS = ("=", "=", "=", "<", ">", "<>", "<=", ">=")
# Of each query around, from the outermost, the names of its tables.
Scope = tuple[tuple[str, ...], ...]


def tables(seed: int) -> dict[str, list[tuple[Any, ...]]]:
    """Lines of small numbers and NULLs, the first a key."""
    chance = random.Random(seed)

    def line(number: int) -> tuple[Any, ...]:
        return (number, *(chance.choice((None, 0, 1, 2, 3, 4)) for _ in COLUMNS[1:]))

    return {name: [line(i) for i in range(size)] for name, size in (("t", 9), ("s", 7), ("r", 5))}


class RandomQueries:
    """Makes texts."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._numbers = count(1)

    def text(self) -> str:
        """A query."""
        made: str = self._one_of(self._derived, self._lateral, self._grouped, *[self._plain] * 4)()
        return made

    # --- whole queries -------------------------------------------------------------------------

    def _plain(self) -> str:
        tables, scope = self._tables(())
        items = [f"{name}.id" for name in scope[-1]]
        if self._odds(0.4):
            items.append(self._value(scope, 2))
        if self._odds(0.3):
            other = self._one_of("0", self._aggregate(scope, 1))
            items.append(f"CASE WHEN {self._condition(scope, 2)} THEN 1 ELSE {other} END")
        if self._odds(0.2):
            items.append(self._condition(scope, 1))
        return f"SELECT {', '.join(items)} FROM {tables}{self._where(scope, 2)}"

    def _derived(self) -> str:
        tables, scope = self._tables(())
        named = [(f"{t}.{c}", f"{c}{i}") for i, t in enumerate(scope[-1]) for c in COLUMNS[1:]]
        items = ", ".join(f"{column} AS {name}" for column, name in named)

        def compared() -> str:
            names = [name for _, name in named]
            return f"{self._one_of(*names)} {self._one_of(*SIGNS)} {self._one_of(*names, '1')}"

        pairs = [f"({compared()} AND {compared()})" for _ in range(2)]
        where = self._one_of(compared(), " OR ".join(pairs))
        inner = f"SELECT {items} FROM {tables}{self._where(scope, 1)}"
        return f"SELECT * FROM ({inner}) {self._name()} WHERE {where}"

    def _grouped(self) -> str:
        tables, scope = self._tables(())
        key = f"{scope[-1][0]}.x"
        having = self._one_of(
            f"COUNT(*) > {self._aggregate((), 1)}", f"{key} IN ({self._query((), 1)})"
        )
        item = self._aggregate((), 0)
        where = self._where(scope, 2)
        return f"SELECT {key}, COUNT(*), {item} FROM {tables}{where} GROUP BY {key} HAVING {having}"

    def _lateral(self) -> str:
        outer, inner, name = self._name(), self._name(), self._name()
        scope: Scope = ((outer,), (inner,))
        behind = f"FROM {self._table()} {inner}{self._where(scope, 1)}"
        order = f"ORDER BY {inner}.y DESC NULLS LAST, {inner}.id LIMIT {self._number(1, 3)}"
        number = f"ROW_NUMBER() OVER (PARTITION BY {inner}.x ORDER BY {inner}.id)"
        query = self._one_of(
            f"SELECT {inner}.id AS i, {self._value(scope, 0)} AS v {behind}",
            f"SELECT {inner}.id AS i, {inner}.x AS v {behind} {order}",
            f"SELECT {inner}.x AS i, COUNT(*) AS v {behind} GROUP BY {inner}.x",
            f"SELECT {inner}.id AS i, {number} AS v {behind}",
        )
        join = self._one_of(
            f", LATERAL ({query}) {name}",
            f" LEFT JOIN LATERAL ({query}) {name} ON TRUE",
            f" LEFT JOIN LATERAL ({query}) {name} ON {name}.v > {outer}.x",
        )
        return f"SELECT {outer}.id, {name}.i, {name}.v FROM {self._table()} {outer}{join}"

    # --- parts ---------------------------------------------------------------------------------

    def _tables(self, around: Scope) -> tuple[str, Scope]:
        one, other = self._name(), self._name()
        first = f"{self._table()} {one}"
        if self._odds(0.65):
            return first, (*around, (one,))
        scope = (*around, (one, other))
        kind = self._one_of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", ",")
        second = f"{self._table()} {other}"
        if kind == ",":
            return f"{first}, {second}", scope
        on = f"{one}.{self._column()} = {other}.{self._column()}"
        if self._odds(0.4):
            on = f"{on} AND {self._condition(scope[-1:], 0)}"
        return f"{first} {kind} {second} ON {on}", scope

    def _where(self, scope: Scope, depth: int) -> str:
        parts = [self._condition(scope, depth) for _ in range(self._number(0, 2))]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _condition(self, scope: Scope, depth: int) -> str:
        value, sign = self._value(scope, 0), self._one_of(*SIGNS)
        negated = self._one_of("", "NOT ")
        ways = [lambda: f"{value} {sign} {self._value(scope, 0)}"] * 4
        if depth > 0:
            less = depth - 1
            ways += [
                lambda: f"({self._condition(scope, less)} OR {self._condition(scope, less)})",
                lambda: f"NOT ({self._condition(scope, less)} AND {self._condition(scope, less)})",
                lambda: f"{negated}EXISTS ({self._query(scope, less)})",
                lambda: f"{value} {negated}IN ({self._query(scope, less)})",
                lambda: f"{value} {sign} {self._one_of('ANY', 'ALL')} ({self._query(scope, less)})",
                lambda: f"{value} {sign} {self._aggregate(scope, less)}",
                lambda: f"{value} IS {negated}NULL",
            ]
        made: str = self._one_of(*ways)()
        return made

    def _value(self, scope: Scope, depth: int) -> str:
        # a third of all names are of the queries around
        tables = scope[-1] if len(scope) == 1 or self._odds(0.65) else self._one_of(*scope[:-1])
        column = f"{self._one_of(*tables)}.{self._column()}"
        ways = [column] * 4 + [str(self._number(0, 4)), f"({column} + {self._number(0, 2)})"]
        if depth > 0:
            ways.append(self._aggregate(scope, depth - 1))
        made: str = self._one_of(*ways)
        return made

    def _aggregate(self, around: Scope, depth: int) -> str:
        """A subquery with one value."""
        tables, scope = self._tables(around)
        column = f"{scope[-1][0]}.{self._column()}"
        item = self._one_of(
            f"MAX({column})", f"COALESCE(SUM({column}), 7)", "COUNT(*)", f"COUNT({column}) + 1"
        )
        return f"(SELECT {item} FROM {tables}{self._where(scope, depth)})"

    def _query(self, around: Scope, depth: int) -> str:
        """A subquery with one column."""
        tables, scope = self._tables(around)
        where = self._where(scope, depth)
        column = f"{scope[-1][0]}.{self._column()}"
        made: str = self._one_of(
            *[f"SELECT {self._value(scope, 0)} FROM {tables}{where}"] * 3,
            f"SELECT DISTINCT {column} FROM {tables}{where}",
            f"SELECT {self._one_of('MAX', 'COUNT')}({column}) FROM {tables}{where}",
            f"SELECT {column} FROM {tables}{where} GROUP BY {column} HAVING COUNT(*) > 1",
            f"SELECT {column} FROM {tables}{where} UNION ALL SELECT 3 FROM t {self._name()}",
        )
        return made

    # --- chance --------------------------------------------------------------------------------

    def _one_of(self, *ways: Any) -> Any:
        return self._chance.choice(ways)

    def _odds(self, share: float) -> bool:
        return self._chance.random() < share

    def _number(self, low: int, high: int) -> int:
        return self._chance.randint(low, high)

    def _name(self) -> str:
        return f"q{next(self._numbers)}"

    def _table(self) -> str:
        return self._chance.choice("tsr")

    def _column(self) -> str:
        return self._chance.choice(COLUMNS[1:])
