"""Conditions go to where lines are first known, and no product of tables is made for a filter."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from headrace.rel import nodes as n
from headrace.rel.conditions import conjuncts, implied
from headrace.rel.functions import call
from headrace.scalars.nodes import Literal, Ref
from headrace.scalars.session import ScalarSession
from rel_tables import BIGINT, INT, planned, resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.scalars.nodes import Scalar

# Each joins by a key, however far from its tables the condition is written.
KEYED = [
    "SELECT * FROM (SELECT o.k, o.a, u.name FROM orders o, users u) WHERE k = name AND a > 1",
    "SELECT * FROM orders o, users u WHERE (o.k = u.name AND a = 1) OR (o.k = u.name AND a = 2)",
    "SELECT * FROM (SELECT * FROM orders CROSS JOIN users) AS t WHERE t.k = t.name",
    "SELECT * FROM bids b, users u, orders o WHERE u.name = o.k AND b.item = o.k",
]


def nodes(root: n.Rel) -> Iterator[n.Rel]:
    yield root
    for part in root.inputs:
        yield from nodes(part)


def joins(text: str) -> list[n.Join]:
    return [node for node in nodes(planned(resolved(text))) if isinstance(node, n.Join)]


@pytest.mark.parametrize("text", KEYED)
def test_equations_become_keys_of_joins(text: str) -> None:
    found = joins(text)
    assert found
    assert all(join.left_keys for join in found)


def test_tables_that_nothing_connects_are_joined_last() -> None:
    text = "SELECT * FROM bids x, orders o, users u WHERE o.k = u.name AND o.a < x.price"
    product, keyed = joins(text)
    assert not product.left_keys
    assert keyed.left_keys
    assert keyed in list(nodes(product.right))


def has_filter(node: n.Rel) -> bool:
    return isinstance(node, n.Calc) and node.condition is not None


# kind of join, condition of ON, of WHERE: whether a filter is left above, and which sides have one
SIDES = {
    ("JOIN", "o.a > 1", "u.age > 1"): (False, True, True),
    ("LEFT JOIN", "u.age > 1", "o.a > 1"): (False, True, True),
    ("LEFT JOIN", "o.a > 1", "u.age > 1"): (True, False, False),
    ("RIGHT JOIN", "o.a > 1", "u.age > 1"): (False, True, True),
    ("RIGHT JOIN", "u.age > 1", "o.a > 1"): (True, False, False),
    ("FULL JOIN", "u.age > 1", "o.a > 1"): (True, False, False),
}


@pytest.mark.parametrize("asked", SIDES)
def test_outer_joins_keep_the_lines_that_they_must(asked: tuple[str, str, str]) -> None:
    kind, on, where = asked
    text = f"SELECT * FROM orders o {kind} users u ON o.k = u.name AND {on} WHERE {where}"
    root = planned(resolved(text))
    (join,) = (node for node in nodes(root) if isinstance(node, n.Join))
    assert (has_filter(root), has_filter(join.left), has_filter(join.right)) == SIDES[asked]


def test_a_filter_on_keys_goes_below_the_groups() -> None:
    text = "SELECT * FROM (SELECT k, COUNT(*) AS c FROM orders GROUP BY k) WHERE k = 'x' AND c > 1"
    root = planned(resolved(text))
    (groups,) = (node for node in nodes(root) if isinstance(node, n.GroupAggregate))
    assert has_filter(groups.input)
    assert isinstance(root, n.Calc)
    assert len(conjuncts(root.condition)) == 1


def test_a_filter_goes_into_every_part_of_a_union() -> None:
    text = "SELECT * FROM (SELECT a FROM orders UNION ALL SELECT age FROM users) WHERE a > 1"
    root = planned(resolved(text))
    assert isinstance(root, n.Union)
    assert all(map(has_filter, root.parts))


def test_what_can_differ_whenever_it_is_asked_stays_where_it_is() -> None:
    text = "SELECT * FROM (SELECT * FROM orders o JOIN users u ON o.k = u.name) WHERE RAND() > 0.5"
    root = planned(resolved(text))
    assert has_filter(root)


# --- OR ------------------------------------------------------------------------------------------


def equals(column: int, value: int) -> Scalar:
    return call("=", (Ref(column, INT), Literal(value, BIGINT)))


def test_what_all_branches_say_is_said_once() -> None:
    a, b, c = (equals(i, i) for i in range(3))
    either = call("OR", (call("AND", (a, b)), call("AND", (c, a))))
    assert conjuncts(either) == [a, call("OR", (b, c))]
    assert conjuncts(call("OR", (a, call("AND", (b, a))))) == [a]
    assert conjuncts(call("OR", (b, c))) == [call("OR", (b, c))]


def test_an_or_over_two_tables_says_something_of_each() -> None:
    a, b, c, d = (equals(i % 2, i) for i in range(4))
    either = call("OR", (call("AND", (a, b)), call("AND", (c, d))))
    assert implied(either, lambda column: column == 0) == call("OR", (a, c))
    assert implied(call("OR", (call("AND", (a, b)), c)), lambda column: column == 1) is None


def test_factoring_keeps_the_meaning_of_null() -> None:
    from headrace.common import data_types as t
    from headrace.rel.conditions import conjunction
    from headrace.scalars.evaluate import row_function

    a, b, c = (Ref(i, t.BooleanType()) for i in range(3))
    either = call("OR", (call("AND", (a, b)), call("AND", (c, a))))
    factored = conjunction(conjuncts(either))
    assert factored is not None
    before, after = (
        row_function(either, session=ScalarSession()),
        row_function(factored, session=ScalarSession()),
    )
    for row in itertools.product((True, False, None), repeat=3):
        assert before(row) == after(row)
