"""Top-N: Flink's changelogs, whatever the cut of the input."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace.errors import UnsupportedStepError
from headrace.runtime.table.rank import RankSpec, RankStrategy, RowRankOperator, rank_operator
from headrace.runtime.table.top_lines import TopLinesOperator
from table_operators import INT, STRING, OperatorRun, every_way, lines_of, whole_input

ASC, DESC = (1, False, False), (1, True, False)


def rank(*order: Any, first: int = 1, last: int = 2, number: bool = False, **options: Any) -> Any:
    strategy = options.setdefault("strategy", RankStrategy.APPEND)
    changes = strategy not in (RankStrategy.APPEND, RankStrategy.FIRST)
    spec = RankSpec(order, first, last, with_number=number, **options)
    out = (STRING, INT, STRING, *([INT] if number else []))
    return rank_operator(
        spec, lines_of(STRING, INT, STRING, changes=changes), lines_of(*out, changes=True)
    )


def plus(*lines: Any) -> list[Any]:
    return [("+I", *line) for line in lines]


A = [("a", 3, "x"), ("a", 1, "y"), ("a", 2, "z"), ("a", 5, "w"), ("a", 1, "v")]


def test_without_numbers_one_leaves_and_one_comes() -> None:
    assert every_way(rank(ASC), plus(*A), (0,), entries=2) == [
        ("+I", "a", 3, "x"),
        ("+I", "a", 1, "y"),
        ("-D", "a", 3, "x"),
        ("+I", "a", 2, "z"),
        ("-D", "a", 2, "z"),
        ("+I", "a", 1, "v"),
    ]


def test_with_numbers_those_behind_are_updated() -> None:
    assert every_way(rank(ASC, number=True), plus(*A[:3]), (0,), entries=2) == [
        ("+I", "a", 3, "x", 1),
        ("-U", "a", 3, "x", 1),
        ("+U", "a", 1, "y", 1),
        ("+I", "a", 3, "x", 2),
        ("-U", "a", 3, "x", 2),
        ("+U", "a", 2, "z", 2),
    ]


def test_a_single_line_is_updated_where_it_is_overtaken() -> None:
    assert every_way(rank(DESC, last=1), plus(*A), (0,), entries=1) == [
        ("+I", "a", 3, "x"),
        ("-U", "a", 3, "x"),
        ("+U", "a", 5, "w"),
    ]
    assert ("-U", "a", 3, "x") not in every_way(rank(DESC, last=1, before=False), plus(*A), (0,))


def test_an_offset_shows_later_lines_only() -> None:
    assert every_way(rank(ASC, first=2, last=3), plus(*A[:4]), (0,), entries=3) == [
        ("+I", "a", 3, "x"),
        ("-U", "a", 3, "x"),
        ("+U", "a", 2, "z"),
        ("+I", "a", 3, "x"),
    ]


def test_lines_that_are_taken_back_make_room_for_others() -> None:
    script = [*plus(*A[:3]), ("-D", "a", 1, "y"), ("-D", "a", 9, "?"), ("-D", "a", 3, "x")]
    assert every_way(rank(ASC, strategy=RankStrategy.RETRACT), script, (0,), entries=2) == [
        ("+I", "a", 3, "x"),
        ("+I", "a", 1, "y"),
        ("-D", "a", 3, "x"),
        ("+I", "a", 2, "z"),
        ("-D", "a", 1, "y"),
        ("+I", "a", 3, "x"),
        ("-D", "a", 3, "x"),
    ]


def test_numbers_move_up_when_a_line_is_taken_back() -> None:
    script = [*plus(*A[:3]), ("-D", "a", 1, "y"), ("-D", "a", 2, "z"), ("-D", "a", 3, "x")]
    found = every_way(
        rank(ASC, number=True, strategy=RankStrategy.RETRACT), script, (0,), entries=0
    )
    assert found[6:] == [
        ("-U", "a", 1, "y", 1),
        ("+U", "a", 2, "z", 1),
        ("-U", "a", 2, "z", 2),
        ("+U", "a", 3, "x", 2),
        ("-U", "a", 2, "z", 1),
        ("+U", "a", 3, "x", 1),
        ("-D", "a", 3, "x", 2),
        ("-D", "a", 3, "x", 1),
    ]


def test_upserts_that_get_better_overtake() -> None:
    operator = rank(DESC, last=3, number=True, strategy=RankStrategy.UPDATE, row_key=(0, 2))
    script = [
        ("+I", "a", 1, "x"),
        ("+I", "a", 2, "y"),
        ("+U", "a", 2, "x"),
        ("+U", "a", 3, "x"),
        ("+U", "a", 3, "x"),
    ]
    assert every_way(operator, script, (0,), entries=1)[3:] == [
        ("+I", "a", 1, "x", 2),
        ("-U", "a", 1, "x", 2),
        ("+U", "a", 2, "x", 2),
        ("-U", "a", 2, "y", 1),
        ("-U", "a", 2, "x", 2),
        ("+U", "a", 3, "x", 1),
        ("+U", "a", 2, "y", 2),
        ("-U", "a", 3, "x", 1),
        ("+U", "a", 3, "x", 1),
    ]


def test_upserts_without_numbers_are_updates_of_themselves() -> None:
    operator = rank(DESC, last=1, strategy=RankStrategy.UPDATE, row_key=(0, 2), first=1)
    script = [("+I", "a", 1, "x"), ("+I", "a", 2, "y"), ("+U", "a", 3, "x")]
    assert every_way(operator, script, (0,), entries=1) == [
        ("+I", "a", 1, "x"),
        ("-U", "a", 1, "x"),
        ("+U", "a", 2, "y"),
        ("-U", "a", 2, "y"),
        ("+U", "a", 3, "x"),
    ]


def test_null_is_lowest_unless_told_otherwise() -> None:
    lines = plus(("a", None, "n"), ("a", 1, "o"))
    assert every_way(rank(ASC, last=1), lines, (0,)) == [("+I", "a", None, "n")]
    last = rank((1, False, True), last=1)
    assert every_way(last, lines, (0,))[-1] == ("+U", "a", 1, "o")


def test_the_first_that_come_need_no_more_than_a_count() -> None:
    operator = rank(strategy=RankStrategy.FIRST, last=2)
    assert every_way(operator, plus(*A), (0,), entries=1) == plus(*A[:2])
    limit = rank(strategy=RankStrategy.FIRST, first=2, last=3)
    assert every_way(limit, plus(*A), (), entries=1) == plus(*A[1:3])


def test_a_partition_says_itself_how_many() -> None:
    operator = rank(DESC, last=0, last_column=1)
    assert every_way(operator, plus(("a", 1, "x"), ("a", 5, "y"), ("b", 0, "z")), (0,)) == [
        ("+I", "a", 1, "x"),
        ("-D", "a", 1, "x"),
        ("+I", "a", 5, "y"),
    ]


def test_many_lines_of_a_key_are_kept_in_pieces() -> None:
    run = OperatorRun(rank(ASC, last=3, strategy=RankStrategy.RETRACT), (0,))
    numbers = [(7 * n) % 1000 for n in range(1000)]
    run.lines(plus(*(("a", n, "x") for n in numbers)))
    run.restart()
    run.taken()
    for number in range(997):
        run.lines([("-D", "a", number, "x")])
    found = run.taken()
    assert found[:2] == [("-D", "a", 0, "x"), ("+I", "a", 3, "x")]
    assert found[-1] == ("+I", "a", 999, "x")
    run.lines([("-D", "a", number, "x") for number in (999, 997, 998)])
    assert run.entries() == 0


def test_a_partition_is_forgotten_after_its_time() -> None:
    for strategy in (RankStrategy.APPEND, RankStrategy.RETRACT, RankStrategy.FIRST):
        run = OperatorRun(rank(ASC, last=1, strategy=strategy, ttl_ms=1000), (0,))
        run.time = 10_000
        run.lines(plus(("a", 1, "x")))
        run.end_of_batch()
        run.time = 12_000
        for _ in range(3):
            run.restart()
        assert run.entries() == 0, strategy
        run.lines(plus(("a", 2, "y")))
        assert run.taken()[-1] == ("+I", "a", 2, "y")


@pytest.mark.parametrize(
    ("function", "numbers"),
    [("ROW_NUMBER", [1, 2, 3]), ("RANK", [1, 1, 3]), ("DENSE_RANK", [1, 1, 2])],
)
def test_batch_mode_emits_each_line_once(function: str, numbers: list[int]) -> None:
    operator = rank(ASC, last=3, number=True, function=function)
    lines = plus(("a", 2, "z"), ("a", 1, "x"), ("a", 1, "y"))
    assert [line[-1] for line in whole_input(operator, lines, (0,))] == numbers


def test_ranks_of_a_stream_are_refused() -> None:
    with pytest.raises(UnsupportedStepError, match="ROW_NUMBER"):
        OperatorRun(rank(ASC, function="RANK"), (0,))


@pytest.mark.parametrize("number", [False, True])
@pytest.mark.parametrize(("first", "last"), [(1, 1), (1, 3), (2, 4)])
@pytest.mark.parametrize("order", [(ASC,), (DESC, (2, False, True))])
def test_columns_give_what_rows_give(order: Any, first: int, last: int, number: bool) -> None:
    chance = random.Random(f"{order}{first}{last}{number}")
    values = [None, *range(6)]
    lines = [(chance.choice("ab"), chance.choice(values), chance.choice("xyz")) for _ in range(80)]
    operator = rank(*order, first=first, last=last, number=number)
    by_rows = RowRankOperator(operator.spec, operator.input_types[0], operator.output_type)
    assert isinstance(operator, TopLinesOperator)
    assert every_way(operator, plus(*lines), (0,)) == every_way(by_rows, plus(*lines), (0,))


def test_a_top_ends_some_time_after_its_last_change() -> None:
    run = OperatorRun(rank(ASC, ttl_ms=1000), (0,))
    run.time = 1
    run.lines(plus(("a", 5, "x"), ("a", 7, "y")))
    run.end_of_batch()
    run.time = 900
    run.lines(plus(("a", 6, "z"), ("b", 1, "w")))  # x is written again with z
    run.end_of_batch()
    run.time = 1500
    run.lines(plus(("a", 8, "v")))
    run.taken()
    run.lines(plus(("a", 1, "u")))
    assert run.taken() == [("-D", "a", 6, "z"), ("+I", "a", 1, "u")]
    run.restart()
    run.time = 3000
    run.lines(plus(("a", 9, "t")))
    assert run.taken() == [("+I", "a", 9, "t")]
