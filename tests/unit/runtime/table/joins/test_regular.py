"""Regular joins: Flink's changelogs, line by line."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace.common.data_types import DataTypes
from headrace.runtime.table.joins import line_store, run_storage
from headrace.runtime.table.joins.regular import RegularJoinOperator
from headrace.scalars.nodes import Call, Ref
from headrace.scalars.session import ScalarSession
from join_reference import Line, ReferenceJoin, by_line
from table_operators import INT, STRING, OperatorRun, lines_of

LEFT_SMALLER = Call("<", (Ref(1, INT), Ref(3, INT)), DataTypes.BOOLEAN())
SIDE = (STRING, INT)


def join(kind: str, **options: Any) -> RegularJoinOperator:
    both = SIDE if kind in ("semi", "anti") else (*SIDE, *SIDE)
    changes = options.pop("changes", True)
    out = lines_of(*both, changes=changes or kind not in ("inner", "semi"))
    keys: dict[str, Any] = {"left_keys": (0,), "right_keys": (0,)}
    given = lines_of(*SIDE, changes=changes)
    return RegularJoinOperator(
        given, given, out, kind=kind, **(keys | options), session=ScalarSession()
    )


def start(operator: RegularJoinOperator, **options: Any) -> OperatorRun:
    return OperatorRun(operator, *operator.keys_of_sides, **options)


def feed(run: OperatorRun, *script: tuple[int, str, Line]) -> list[Line]:
    for side, kind, values in script:
        run.lines([(kind, *values)], side)
    return run.taken()


def L(kind: str, *values: Any) -> tuple[int, str, Line]:
    return 0, kind, values


def R(kind: str, *values: Any) -> tuple[int, str, Line]:
    return 1, kind, values


def test_pairs_of_an_inner_join_have_the_kind_of_the_line() -> None:
    run = start(join("inner"))
    assert feed(run, L("+I", "a", 1), R("+U", "a", 5)) == [("+U", "a", 1, "a", 5)]
    assert feed(run, R("+I", "a", 6), L("-U", "a", 1)) == [
        ("+I", "a", 1, "a", 6), ("-U", "a", 1, "a", 5), ("-U", "a", 1, "a", 6),
    ]  # fmt: skip
    assert feed(run, R("+I", "a", 7)) == []


def test_a_left_line_is_alone_until_the_first_partner_and_behind_the_last() -> None:
    run = start(join("left"))
    assert feed(run, L("+U", "a", 1)) == [("+I", "a", 1, None, None)]
    assert feed(run, R("+U", "a", 5)) == [
        ("-D", "a", 1, None, None), ("+I", "a", 1, "a", 5),
    ]  # fmt: skip
    assert feed(run, R("+I", "a", 6)) == [("+I", "a", 1, "a", 6)]
    assert feed(run, R("-U", "a", 5)) == [("-U", "a", 1, "a", 5)]
    assert feed(run, R("-D", "a", 6)) == [
        ("-D", "a", 1, "a", 6), ("+I", "a", 1, None, None),
    ]  # fmt: skip
    assert feed(run, L("-U", "a", 1)) == [("-D", "a", 1, None, None)]


def test_a_line_of_a_full_join_takes_back_each_lonely_line_before_its_pair() -> None:
    run = start(join("full"))
    feed(run, L("+I", "a", 1), L("+I", "a", 2))
    assert feed(run, R("+I", "a", 5)) == [
        ("-D", "a", 1, None, None), ("+I", "a", 1, "a", 5),
        ("-D", "a", 2, None, None), ("+I", "a", 2, "a", 5),
    ]  # fmt: skip
    assert feed(run, R("-D", "a", 5)) == [
        ("-D", "a", 1, "a", 5), ("+I", "a", 1, None, None),
        ("-D", "a", 2, "a", 5), ("+I", "a", 2, None, None),
    ]  # fmt: skip


def test_nobody_gets_update_before_who_does_not_want_it() -> None:
    run = start(join("inner", before=False))
    feed(run, L("+I", "a", 1), R("+I", "a", 5))
    assert feed(run, L("-U", "a", 1), L("+U", "a", 2)) == [("+U", "a", 2, "a", 5)]


def test_semi_and_anti_joins_give_left_lines() -> None:
    semi, anti = start(join("semi")), start(join("anti"))
    script = [L("+I", "a", 1), R("+I", "a", 5), R("+I", "a", 5), R("-U", "a", 5), R("-D", "a", 5)]
    assert [feed(semi, step) for step in script] == [
        [], [("+I", "a", 1)], [], [], [("-D", "a", 1)],
    ]  # fmt: skip
    assert [feed(anti, step) for step in script] == [
        [("+I", "a", 1)], [("-D", "a", 1)], [], [], [("+I", "a", 1)],
    ]  # fmt: skip


def test_null_equals_null_only_if_told() -> None:
    script = [L("+I", None, 1), R("+I", None, 2)]
    assert feed(start(join("inner")), *script) == []
    assert feed(start(join("inner", null_safe=(True,))), *script) == [("+I", None, 1, None, 2)]
    assert feed(start(join("full")), *script) == [
        ("+I", None, 1, None, None), ("+I", None, None, None, 2),
    ]  # fmt: skip


def test_lines_with_null_are_not_kept() -> None:
    run = start(join("full"))
    feed(run, L("+I", None, 1), R("+I", None, 1))
    assert [len(side) for side in run.operator.sides] == [0, 0]


def test_a_line_with_the_same_unique_key_replaces() -> None:
    run = start(join("inner", unique_keys=((1,), (0,))))
    feed(run, L("+I", "a", 1), L("+U", "a", 1), R("+I", "a", 5), R("+U", "a", 6))
    assert [len(side) for side in run.operator.sides] == [1, 1]
    assert feed(run, L("+I", "a", 2)) == [("+I", "a", 2, "a", 6)]
    assert feed(run, R("-D", "a", 99), L("+I", "a", 3)) == [("-D", "a", 1, "a", 99),
                                                            ("-D", "a", 2, "a", 99)]  # fmt: skip


def test_what_takes_back_the_unknown_is_ignored_by_its_side() -> None:
    run = start(join("inner"))
    run.lines([("-D", "a", 1), ("+I", "a", 1)], 0)
    assert len(run.operator.sides[0]) == 1
    run.lines([("+I", "a", 1), ("-D", "a", 1), ("-D", "a", 1), ("-D", "a", 1)], 0)
    assert len(run.operator.sides[0]) == 0


def test_a_join_without_keys_pairs_everything() -> None:
    run = start(join("inner", left_keys=(), right_keys=(), condition=LEFT_SMALLER))
    feed(run, L("+I", "a", 1), L("+I", "b", 3))
    assert feed(run, R("+I", "c", 2)) == [("+I", "a", 1, "c", 2)]


def test_a_line_ends_with_its_time() -> None:
    run = start(join("left", ttl_ms=(0, 1000)))
    run.clock(10_000)
    feed(run, R("+I", "a", 5))
    run.clock(10_500)
    assert feed(run, L("+I", "a", 1)) == [("+I", "a", 1, "a", 5)]
    run.restart()
    run.clock(11_000)
    assert feed(run, L("+I", "a", 2)) == [("+I", "a", 2, None, None)]


def test_a_line_is_kept_longer_if_it_is_written_again() -> None:
    run = start(join("left", ttl_ms=(1000, 0)))
    run.clock(10_000)
    feed(run, L("+I", "a", 1), L("+I", "b", 1))
    run.clock(10_900)
    feed(run, R("+I", "a", 5))  # counts a partner
    feed(run, L("+I", "b", 1))  # equals a kept one
    run.clock(11_500)
    run.restart()
    assert feed(run, R("+I", "a", 6)) == [("+I", "a", 1, "a", 6)]
    assert len(feed(run, R("+I", "b", 6))) == 4
    run.clock(20_000)
    run.end_of_batch()
    assert len(run.operator.sides[0]) == 0


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full", "semi", "anti"])
def test_a_bounded_join_gives_the_final_lines_only(kind: str) -> None:
    out = lines_of(*(SIDE if kind in ("semi", "anti") else (*SIDE, *SIDE)))
    given = lines_of(*SIDE)
    operator = RegularJoinOperator(
        given,
        given,
        out,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        condition=LEFT_SMALLER,
        session=ScalarSession(),
    )
    run = start(operator, bounded=True)
    left = [("a", 1), ("a", 9), ("b", 1), (None, 1)]
    right = [("a", 5), ("a", 6), ("c", 1), (None, 2)]
    run.lines([("+I", *line) for line in left], 0)
    run.lines([("+I", *line) for line in right], 1)
    run.operator.finish_keys()
    expected: dict[str, list[Any]] = {
        "inner": [("a", 1, "a", 5), ("a", 1, "a", 6)],
        "semi": [("a", 1)],
        "anti": [("a", 9), ("b", 1), (None, 1)],
    }
    alone_left = [("a", 9, None, None), ("b", 1, None, None), (None, 1, None, None)]
    alone_right = [(None, None, "c", 1), (None, None, None, 2)]
    expected["left"] = expected["inner"] + alone_left
    expected["right"] = expected["inner"] + alone_right
    expected["full"] = expected["left"] + alone_right
    assert sorted(map(repr, run.taken())) == sorted(repr(("+I", *e)) for e in expected[kind])
    assert not run.store.content


# --- against the reference -----------------------------------------------------------------------


def random_script(seed: int, length: int, *, changes: bool) -> list[tuple[int, str, Line]]:
    numbers = random.Random(seed)
    script = []
    for _ in range(length):
        kinds = ("+I", "+U", "-U", "-D") if changes else ("+I",)
        key = numbers.choice(["a", "b", "c", None])
        values = (key, numbers.randrange(4))
        script.append((numbers.randrange(2), numbers.choice(kinds), values))
    return script


def played(
    run: OperatorRun, script: list[tuple[int, str, Line]], numbers: random.Random, largest: int
) -> list[Line]:
    """The changes, with lines of a side that follow each other in calls of any size."""
    place = 0
    while place < len(script):
        side = script[place][0]
        size = numbers.randint(1, largest)
        part: list[Any] = []
        while place < len(script) and script[place][0] == side and len(part) < size:
            part.append((script[place][1], *script[place][2]))
            place += 1
        run.lines(part, side)
        if numbers.random() < 0.3:
            run.restart() if numbers.random() < 0.3 else run.end_of_batch()
    return run.taken()


UNIQUE = [(None, None), ((1,), None), (None, (0,)), ((0,), (1,)), ((1,), (1,))]


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full", "semi", "anti"])
@pytest.mark.parametrize("unique", UNIQUE)
def test_every_cut_gives_what_lists_give(
    kind: str, unique: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_storage, "RECENT_WEIGHT", 8)
    monkeypatch.setattr(run_storage, "RANGE_LINES", 12)
    monkeypatch.setattr(run_storage, "RUN_LINES", 16)
    monkeypatch.setattr(run_storage, "LOADED_BYTES", 500)
    monkeypatch.setattr(line_store, "PAIRS_AT_ONCE", 5)
    for seed in range(4):
        conditioned = seed % 2 == 1
        condition = LEFT_SMALLER if conditioned else None
        null_safe = (seed % 3 == 0,)
        reference = ReferenceJoin(
            kind, ((0,), (0,)), (2, 2), unique=unique, null_safe=null_safe,
            holds=(lambda left, right: left[1] < right[1]) if conditioned else lambda *_: True,
        )  # fmt: skip
        script = random_script(seed, 90, changes=True)
        if seed > 1:  # long stretches of one side
            script.sort(key=lambda step: (str(step[2][0]) + str(step[2][1] % 2), step[0]))
        expected = [change for step in script for change in reference.take(*step)]
        run = start(join(kind, unique_keys=unique, null_safe=null_safe, condition=condition))
        found = played(run, script, random.Random(seed), largest=(1, 4, 50)[seed % 3])
        assert by_line(found) == by_line(expected), seed
        kept = [sorted(str(k.values) for k in side if k.values[0] is not None or null_safe[0])
                for side in reference.sides]  # fmt: skip
        assert [len(side) for side in run.operator.sides] == [len(side) for side in kept]
