"""Lookup joins: what a table outside has for the keys of lines."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.data_types import DataTypes
from headrace.errors import ConnectorError
from headrace.runtime.table.joins.lookup import LookupJoinOperator, LookupRetry
from headrace.scalars.nodes import Call, Ref
from headrace.scalars.session import ScalarSession
from headrace.spi.lookup_cache import CacheRules
from table_operators import INT, STRING, OperatorRun, lines_of

TABLE = {1: [(1, "one"), (1, "uno")], 2: [(2, "two")]}


class Asked:
    """A table outside."""

    calls: list[list[Any]] = []  # noqa: RUF012
    late: dict[int, int] = {}  # noqa: RUF012

    def open(self) -> None:
        Asked.calls = []
        Asked.late = {3: 2}

    def lookup(self, keys: list[Any]) -> list[Any]:
        Asked.calls.append(keys)
        found = [TABLE.get(key[0], []) for key in keys]
        for key in keys:
            if key[0] in Asked.late:
                Asked.late[key[0]] -= 1
                if Asked.late[key[0]] < 0:
                    found[keys.index(key)] = [(key[0], "late")]
        return found

    def close(self) -> None:
        pass


def start(kind: str, **options: Any) -> OperatorRun:
    changes = options.pop("changes", False)
    operator = LookupJoinOperator(
        lines_of(STRING, INT, changes=changes), lines_of(INT, STRING),
        lines_of(STRING, INT, INT, STRING, changes=changes), lookup=options.pop("lookup", Asked()),
        keys=[Ref(1, INT)], kind=kind, **options, session=ScalarSession()
    )  # fmt: skip
    return OperatorRun(operator)


def lines(*keys: int | None) -> list[Any]:
    return [("+I", f"l{n}", key) for n, key in enumerate(keys)]


def test_every_line_gets_all_lines_of_its_key() -> None:
    run = start("left")
    run.lines(lines(2, None, 1, 9, 2))
    assert run.taken() == [
        ("+I", "l0", 2, 2, "two"), ("+I", "l1", None, None, None), ("+I", "l2", 1, 1, "one"),
        ("+I", "l2", 1, 1, "uno"), ("+I", "l3", 9, None, None), ("+I", "l4", 2, 2, "two"),
    ]  # fmt: skip
    assert Asked.calls == [[(2,), (1,), (9,)]]  # each once, and none for NULL


def test_an_inner_join_drops_lines_without_a_partner() -> None:
    run = start("inner")
    run.lines(lines(9, None))
    assert run.taken() == []
    run.lines(lines(2, 9))
    assert run.taken() == [("+I", "l0", 2, 2, "two")]


def test_the_condition_decides_over_pairs() -> None:
    uno = Call("=", (Ref(3, STRING), Ref(0, STRING)), DataTypes.BOOLEAN())
    run = start("left", condition=uno)
    run.lines([("+I", "uno", 1), ("+I", "dos", 1)])
    assert run.taken() == [("+I", "uno", 1, 1, "uno"), ("+I", "dos", 1, None, None)]


def test_kinds_are_those_of_the_lines() -> None:
    run = start("left", changes=True)
    run.lines([("-U", "a", 2), ("+U", "a", 9)])
    assert run.taken() == [("-U", "a", 2, 2, "two"), ("+U", "a", 9, None, None)]


def test_what_is_known_is_not_asked_again() -> None:
    run = start("left", cache=CacheRules(max_rows=100))
    run.lines(lines(1, 9))
    run.lines(lines(9, 1, 2))
    assert Asked.calls == [[(1,), (9,)], [(2,)]]
    run = start("left", cache=CacheRules(missing_keys=False))
    run.lines(lines(1, 9))
    run.lines(lines(9, 1))
    assert Asked.calls == [[(1,), (9,)], [(9,)]]


def test_a_key_without_lines_is_asked_for_again() -> None:
    run = start("left", retry=LookupRetry(delay_ms=1, max_attempts=2))
    waited: list[float] = []
    run.operator.wait = waited.append
    run.lines(lines(3, 1, 9))
    assert [line[-1] for line in run.taken()] == ["late", "one", "uno", None]
    assert Asked.calls == [[(3,), (1,), (9,)], [(3,), (9,)], [(3,), (9,)]]
    assert waited == [0.001, 0.001]


class Wrong(Asked):
    def lookup(self, keys: list[Any]) -> list[Any]:
        return []


def test_an_answer_too_few_is_an_error() -> None:
    with pytest.raises(ConnectorError, match="0 answers for 1 keys"):
        start("left", lookup=Wrong()).lines(lines(1))
