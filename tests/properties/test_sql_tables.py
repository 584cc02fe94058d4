"""Top-N and deduplication against tables by definition, for any lines, cuts and restarts."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.runtime.table.deduplicate import DeduplicateSpec, deduplicate_operator
from headrace.runtime.table.rank import RankSpec, RankStrategy, rank_operator
from table_operators import INT, STRING, T3, OperatorRun, at, lines_of, play

lines = st.tuples(
    st.sampled_from("ab"),
    st.one_of(st.none(), st.integers(0, 5)),
    st.one_of(st.none(), st.integers(0, 2)),
)
orders = st.sampled_from(
    [
        ((1, False, False),),
        ((1, True, True),),
        ((1, True, False), (2, False, True)),
        ((2, False, False), (1, True, True)),
    ]
)


def sort_key(order: Any, row: Any) -> list[Any]:
    """An order of small numbers by definition."""
    found = []
    for place, down, last in order:
        value = row[place]
        rank = 2 if last else 0
        found.append((rank, 0) if value is None else (1, -value if down else value))
    return found


def table_after(changes: list[Any]) -> list[Any]:
    """The lines that are left; what is taken back must be there."""
    left: list[Any] = []
    for kind, *line in changes:
        if kind in ("+I", "+U"):
            left.append(tuple(line))
        else:
            left.remove(tuple(line))
    return sorted(left, key=repr)


def top_by_definition(rows: list[Any], order: Any, first: int, last: int, *, number: bool) -> Any:
    found = []
    for key in "ab":
        mine = sorted((r for r in rows if r[0] == key), key=lambda row: sort_key(order, row))
        for place, row in enumerate(mine[first - 1 : last], start=first):
            found.append((*row, place) if number else row)
    return sorted(found, key=repr)


@settings(max_examples=150)
@given(
    st.lists(lines, max_size=20), orders, st.integers(1, 2), st.integers(0, 2), st.booleans(),
    st.sampled_from(["append", "retract"]), st.integers(1, 5), st.booleans(), st.data(),
)  # fmt: skip
def test_the_first_of_each_partition(
    rows: list[Any], order: Any, first: int, more: int, number: bool, strategy: str, size: int,
    restart: bool, data: Any,
) -> None:  # fmt: skip
    last = first + more
    spec = RankSpec(order, first, last, number, strategy=RankStrategy(strategy))
    columns = (STRING, INT, INT)
    operator = rank_operator(
        spec,
        lines_of(*columns, changes=strategy == "retract"),
        lines_of(*columns, *([INT] if number else []), changes=True),
    )
    script = [("+I", *row) for row in rows]
    left = list(rows)
    if strategy == "retract":
        for row in data.draw(st.lists(st.sampled_from(rows), max_size=8)) if rows else ():
            script.append(("-D", *row))
            if row in left:
                left.remove(row)
    found = play(OperatorRun(operator, (0,)), script, size=size, restart=restart)
    assert table_after(found) == top_by_definition(left, order, first, last, number=number)
    assert found == play(OperatorRun(operator, (0,)), script)


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.integers(0, 2)), max_size=20),
    st.booleans(), st.booleans(), st.integers(1, 5), st.booleans(),
)  # fmt: skip
def test_one_line_a_key(rows: list[Any], last: bool, event: bool, size: int, restart: bool) -> None:
    columns = (STRING, T3, INT)
    spec = DeduplicateSpec(last, 1 if event else None)
    operator = deduplicate_operator(spec, lines_of(*columns), lines_of(*columns, changes=True))
    script = [("+I", key, at(time), value) for key, time, value in rows]
    found = play(OperatorRun(operator, (0,)), script, size=size, restart=restart)
    kept: dict[str, Any] = {}
    changes = []
    for _, key, time, value in script:
        row, old = (key, time, value), kept.get(key)
        if event:
            taken = old is None or (time >= old[1] if last else time < old[1])
        else:
            taken = old is None or (last and old != row)
        if taken:
            changes += [] if old is None else [("-U", *old)]
            changes.append(("+I" if old is None else "+U", *row))
            kept[key] = row
    assert found == changes
