"""Temporal joins: the version that held at the time of a line."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace.runtime.table.joins import run_storage, timed_lines
from headrace.runtime.table.joins.temporal import EventTimeTemporalJoin, ProcessingTimeTemporalJoin
from headrace.scalars.session import ScalarSession
from table_operators import END, INT, STRING, T3, OperatorRun, at, lines_of

SIDE = (STRING, INT, T3)


def join(kind: str, *, changes: bool = False, **options: Any) -> EventTimeTemporalJoin:
    return EventTimeTemporalJoin(
        lines_of(*SIDE, changes=changes), lines_of(*SIDE, changes=True),
        lines_of(*SIDE, *SIDE, changes=changes), kind=kind, left_keys=(0,), right_keys=(0,),
        times=(2, 2), **options, session=ScalarSession()
    )  # fmt: skip


def start(kind: str, **options: Any) -> OperatorRun:
    return OperatorRun(join(kind, **options), (0,), (0,))


def line(kind: str, key: str | None, value: int, time: int) -> tuple[Any, ...]:
    return (kind, key, value, at(time))


def test_a_line_gets_the_version_of_its_time() -> None:
    run = start("left")
    run.lines([line("+I", "a", 5, 5), line("+U", "a", 9, 9), line("-D", "a", 12, 12)], 1)
    run.lines([line("+I", "a", t, t) for t in (4, 5, 8, 9, 11, 12)], 0)
    assert run.taken() == []
    run.restart()
    run.watermark(20)
    assert [(found[2], found[5]) for found in run.taken()] == [
        (4, None), (5, 5), (8, 5), (9, 9), (11, 9), (12, None),
    ]  # fmt: skip


def test_lines_go_out_in_the_order_in_which_they_came() -> None:
    run = start("left")
    run.lines([line("+I", "a", t, t) for t in (9000, 3, 5000, 1)], 0)
    run.watermark(6000)
    assert [found[2] for found in run.taken()] == [3, 5000, 1]
    run.watermark(9000)
    assert [found[2] for found in run.taken()] == [9000]


def test_the_result_has_the_kinds_of_the_left_side() -> None:
    run = start("inner", changes=True)
    run.lines([line("+I", "a", 5, 5)], 1)
    run.lines([line("+I", "a", 1, 7), line("-U", "a", 1, 7), line("+U", "a", 2, 7)], 0)
    run.watermark(7)
    assert [(found[0], found[2], found[5]) for found in run.taken()] == [
        ("+I", 1, 5), ("-U", 1, 5), ("+U", 2, 5),
    ]  # fmt: skip


def test_only_the_latest_version_stays() -> None:
    run = start("inner")
    run.lines([line("+I", "a", t, t) for t in range(10)], 1)
    run.watermark(7)
    assert len(run.operator.versions) == 3  # that of 7, and those to come
    run.watermark(END.time)
    assert len(run.operator.versions) == 1
    assert len(run.operator.passing) == 0


def test_a_key_that_is_not_used_ends_some_time() -> None:
    run = start("left", ttl_ms=1000)
    run.clock(10_000)
    run.lines([line("+I", "a", 1, 1)], 1)
    run.watermark(5)
    run.clock(11_400)
    run.lines([line("+I", "a", 2, 10)], 0)
    run.watermark(10)
    assert [found[5] for found in run.taken()] == [1]  # and the version is used
    run.clock(12_000)
    run.lines([line("+I", "a", 3, 11)], 0)
    run.watermark(11)
    assert [found[5] for found in run.taken()] == [1]
    run.clock(14_000)
    run.lines([line("+I", "a", 4, 12)], 0)
    run.watermark(12)
    assert [found[5] for found in run.taken()] == [None]


def test_the_watermark_of_the_left_side_alone_counts_in_processing_time() -> None:
    given = lines_of(STRING, INT)
    operator = ProcessingTimeTemporalJoin(
        given, lines_of(STRING, INT, changes=True), lines_of(STRING, INT, STRING, INT), kind="left",
        left_keys=(0,), right_keys=(0,), session=ScalarSession()
    )  # fmt: skip
    run = OperatorRun(operator, (0,), (0,))
    run.lines([("+I", "a", 1)], 0)
    run.lines([("+I", "a", 5), ("+U", "a", 6), ("+I", "b", 7)], 1)
    run.lines([("+I", "a", 2), ("+I", None, 2)], 0)
    run.restart()
    run.lines([("-D", "a", 6)], 1)
    run.lines([("+I", "a", 3), ("+I", "b", 3)], 0)
    assert run.taken() == [
        ("+I", "a", 1, None, None), ("+I", "a", 2, "a", 6), ("+I", None, 2, None, None),
        ("+I", "a", 3, None, None), ("+I", "b", 3, "b", 7),
    ]  # fmt: skip
    run.operator.watermark(100, 1)
    assert run.out.watermarks == []
    run.operator.watermark(50, 0)
    assert run.out.watermarks == [50]


@pytest.mark.parametrize("kind", ["inner", "left"])
@pytest.mark.parametrize("bounded", [False, True])
def test_every_cut_gives_what_lists_give(
    kind: str, bounded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_storage, "RECENT_WEIGHT", 8)
    monkeypatch.setattr(run_storage, "RANGE_LINES", 12)
    monkeypatch.setattr(run_storage, "LOADED_BYTES", 500)
    monkeypatch.setattr(timed_lines, "BUCKET_MS", 16)
    for seed in range(5):
        numbers = random.Random(seed)
        run = OperatorRun(join(kind), (0,), (0,), bounded=bounded)
        versions: dict[tuple[Any, int], tuple[str, int]] = {}
        expected: list[Any] = []
        found: list[Any] = []
        waiting: list[Any] = []
        watermark = 0
        for _ in range(30):
            times = [watermark + numbers.randint(1, 60) for _ in range(numbers.randint(1, 6))]
            keys = [numbers.choice(["a", "b", None]) for _ in times]
            right = numbers.random() < 0.5
            part = [
                line(numbers.choice(["+I", "+U", "-D"]) if right else "+I", key, n, time)
                for n, (key, time) in enumerate(zip(keys, times, strict=True))
            ]
            for (change, key, n, _), time in zip(part, times, strict=True):
                if right:
                    versions[key, time] = (change, n)
                else:
                    waiting.append((key, n, time))
            run.lines(part, int(right))
            if bounded:
                continue
            if numbers.random() < 0.5:
                watermark += numbers.randint(0, 50)
                run.watermark(watermark)
                found += run.taken()
            if numbers.random() < 0.3:
                run.restart()
        run.operator.finish_keys() if bounded else run.watermark(END.time)
        found += run.taken()
        for key, value, time in waiting:
            past = [t for k, t in versions if k == key is not None and t <= time]
            held = versions[key, max(past)] if past else ("-D", 0)
            if held[0] != "-D":
                expected.append(("+I", key, value, at(time), key, held[1], at(max(past))))
            elif kind == "left":
                expected.append(("+I", key, value, at(time), None, None, None))
        assert sorted(map(repr, found)) == sorted(map(repr, expected)), seed
