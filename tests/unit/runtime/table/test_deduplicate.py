"""The first or last line of a key: Flink's changelogs, whatever the cut of the input."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import RecordError
from headrace.runtime.table.deduplicate import DeduplicateSpec, deduplicate_operator
from table_operators import (
    END,
    INT,
    STRING,
    T3,
    OperatorRun,
    W,
    at,
    every_way,
    lines_of,
    whole_input,
)  # fmt: skip


def dedup(*, last: bool, event: bool = True, **options: Any) -> Any:
    spec = DeduplicateSpec(last, 1 if event else None, **options)
    insert_only = options.get("insert_only") or (not event and not last)
    kinds = (STRING, T3, INT)
    return deduplicate_operator(spec, lines_of(*kinds), lines_of(*kinds, changes=not insert_only))


def plus(*lines: Any) -> list[Any]:
    return [("+I", key, at(time), value) for key, time, value in lines]


LINES = plus(("a", 20, 1), ("a", 10, 2), ("b", 5, 3), ("a", 20, 4), ("a", 15, 5))


def kinds(found: list[Any]) -> list[tuple[str, int]]:
    return [(line[0], line[3]) for line in found if line[1] == "a"]


def test_the_first_to_come_stays() -> None:
    found = every_way(dedup(last=False, event=False), LINES, (0,), entries=2)
    assert found == [LINES[0], LINES[2]]


def test_the_last_to_come_replaces() -> None:
    assert kinds(every_way(dedup(last=True, event=False), LINES, (0,), entries=2)) == [
        ("+I", 1), ("-U", 1), ("+U", 2), ("-U", 2), ("+U", 4), ("-U", 4), ("+U", 5),
    ]  # fmt: skip


def test_an_equal_line_says_nothing_unless_state_ends_some_time() -> None:
    twice = [*LINES[:1], *LINES[:1]]
    assert len(every_way(dedup(last=True, event=False), twice, (0,))) == 1
    assert len(every_way(dedup(last=True, event=False, ttl_ms=10_000), twice, (0,))) == 3


def test_the_latest_replaces_also_at_the_same_time() -> None:
    assert kinds(every_way(dedup(last=True), LINES, (0,), entries=2)) == [
        ("+I", 1), ("-U", 1), ("+U", 4),
    ]  # fmt: skip


def test_only_an_earlier_one_replaces_the_earliest() -> None:
    assert kinds(every_way(dedup(last=False), LINES, (0,), entries=2)) == [
        ("+I", 1), ("-U", 1), ("+U", 2),
    ]  # fmt: skip


def test_nobody_wants_what_was_before() -> None:
    found = every_way(dedup(last=True, before=False), LINES, (0,))
    assert kinds(found) == [("+I", 1), ("+U", 4)]
    found = every_way(dedup(last=True, before=False, inserts=False), LINES, (0,))
    assert kinds(found) == [("+U", 1), ("+U", 4)]
    found = every_way(dedup(last=True, event=False, before=False, inserts=False), LINES, (0,),
                      entries=0)  # fmt: skip
    assert kinds(found) == [("+U", 1), ("+U", 2), ("+U", 4), ("+U", 5)]


def test_the_earliest_waits_for_event_time_if_nothing_may_be_taken_back() -> None:
    script = [*LINES, W(9), *plus(("a", 8, 6), ("a", 9, 7)), W(10), *plus(("a", 10, 8)), END]
    found = every_way(dedup(last=False, insert_only=True), script, (0,), entries=2)
    assert found == [*plus(("b", 5, 3)), *plus(("a", 9, 7))]


def test_a_time_that_is_null_is_an_error() -> None:
    run = OperatorRun(dedup(last=True), (0,))
    with pytest.raises(RecordError, match="NULL"):
        run.lines([("+I", "a", None, 1)])


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"last": True}, 4),
        ({"last": False}, 2),
        ({"last": True, "event": False}, 5),
        ({"last": False, "event": False}, 1),
        ({"last": False, "insert_only": True}, 2),
    ],
)
def test_batch_mode_emits_each_key_once(options: dict[str, Any], value: int) -> None:
    found = whole_input(dedup(**options), LINES, (0,))
    assert sorted((line[0], line[1], line[3]) for line in found) == [
        ("+I", "a", value), ("+I", "b", 3),
    ]  # fmt: skip


def test_lines_without_a_limit_get_one_later() -> None:
    run = OperatorRun(dedup(last=True, event=False), (0,))
    run.lines(plus(("a", 1, 1)))
    run.end_of_batch()
    other = OperatorRun(dedup(last=True, event=False, ttl_ms=10), (0,))
    other.store = run.store
    other.time = 1_000_000
    other._open()
    other.lines(plus(("a", 1, 2)))
    assert kinds(other.taken()) == [("-U", 1), ("+U", 2)]
    other.end_of_batch()
    other.time += 10
    other.lines(plus(("a", 1, 3)))
    assert kinds(other.taken()) == [("+I", 3)]
