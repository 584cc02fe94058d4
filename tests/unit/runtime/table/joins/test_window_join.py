"""Window joins: pairs of a window once it has ended."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace.runtime.table.joins.window_join import WindowJoinOperator
from headrace.scalars.session import ScalarSession
from table_operators import INT, STRING, T3, OperatorRun, at, lines_of

SIDE = (STRING, INT, T3)
KINDS = ["inner", "left", "right", "full", "semi", "anti"]


def join(kind: str, **options: Any) -> WindowJoinOperator:
    out = lines_of(*SIDE) if kind in ("semi", "anti") else lines_of(*SIDE, *SIDE)
    given = lines_of(*SIDE)
    return WindowJoinOperator(
        given,
        given,
        out,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        window_ends=(2, 2),
        **options,
        session=ScalarSession(),
    )


def start(kind: str, **options: Any) -> OperatorRun:
    return OperatorRun(join(kind), (0,), (0,), **options)


def line(key: str | None, value: int, end: int) -> tuple[Any, ...]:
    return ("+I", key, value, at(end))


def test_nothing_comes_out_before_the_window_ends() -> None:
    run = start("inner")
    run.lines([line("a", 1, 1000)], 0)
    run.lines([line("a", 2, 1000), line("a", 3, 2000)], 1)
    run.watermark(998)
    assert run.taken() == []
    run.restart()
    run.watermark(999)
    assert run.taken() == [("+I", "a", 1, at(1000), "a", 2, at(1000))]
    run.watermark(5000)
    assert run.taken() == []
    run.end_of_batch()
    assert not run.store.content


def test_late_lines_are_dropped() -> None:
    run = start("left")
    run.watermark(999)
    run.lines([line("a", 1, 1000), line("a", 2, 1001)], 0)
    assert run.metrics.late_records_dropped == 1
    run.watermark(2000)
    assert run.taken() == [("+I", "a", 2, at(1001), None, None, None)]


def test_windows_on_the_wall_clock_end_by_it() -> None:
    run = OperatorRun(join("left", zone="Asia/Shanghai"), (0,), (0,))
    run.lines([line("a", 1, 9 * 3_600_000)], 0)  # nine o'clock in Shanghai is one o'clock UTC
    run.watermark(3_600_000 - 2)
    assert run.taken() == []
    run.watermark(3_600_000 - 1)
    assert len(run.taken()) == 1


def expected(kind: str, left: list[Any], right: list[Any]) -> list[Any]:
    out = []
    used = set()
    for one in left:
        found = [
            n for n, other in enumerate(right)
            if one[1] is not None and other[1] == one[1] and other[3] == one[3]
        ]  # fmt: skip
        used |= set(found)
        if (kind == "semi" and found) or (kind == "anti" and not found):
            out.append(one)
        elif kind not in ("semi", "anti"):
            out += [(*one, *right[n][1:]) for n in found]
            if not found and kind in ("left", "full"):
                out.append((*one, None, None, None))
    if kind in ("right", "full"):
        out += [
            ("+I", None, None, None, *other[1:])
            for n, other in enumerate(right) if n not in used
        ]  # fmt: skip
    return out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounded", [False, True])
def test_every_cut_gives_what_lists_give(kind: str, bounded: bool) -> None:
    for seed in range(3):
        numbers = random.Random(seed)
        sides: tuple[list[Any], list[Any]] = ([], [])
        run = start(kind, bounded=bounded)
        for _ in range(30):
            side = numbers.randrange(2)
            part = [
                line(numbers.choice(["a", "b", None]), numbers.randrange(3),
                     1000 * numbers.randint(1, 9))
                for _ in range(numbers.randint(1, 5))
            ]  # fmt: skip
            sides[side].extend(part)
            run.lines(part, side)
            if not bounded and numbers.random() < 0.3:
                run.restart() if numbers.random() < 0.5 else run.end_of_batch()
        if bounded:
            run.operator.finish_keys()
        else:
            for time in (2000, 2001, 6500, 20_000):
                run.watermark(time)
                run.restart()
        found = run.taken()
        assert sorted(map(repr, found)) == sorted(map(repr, expected(kind, *sides)))
        assert not run.store.content
