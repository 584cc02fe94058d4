"""GROUP BY beside what Flink's changelogs show: time, BATCH mode, large maps, empty inputs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace.common.data_types import DataTypes as D
from headrace.errors import RecordError, UnsupportedStepError
from headrace.runtime.key_groups import key_group_of, subtask_of
from headrace.runtime.savepoint.entries import export, load
from headrace.runtime.savepoint.spooled import SpooledStore
from headrace.runtime.state.declared import DeclaredStates
from headrace.runtime.table.aggregates.registry import aggregate_for
from headrace.runtime.table.expand import ExpandOperator
from headrace.runtime.table.group_aggregate import GroupAggregateOperator
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.nodes import Literal, Ref
from headrace.scalars.session import ScalarSession
from table_operators import BIGINT, INT, STRING, OperatorRun, every_way, lines_of, play, whole_input

COUNT = AggregateCall("COUNT", (), BIGINT)
SUM = AggregateCall("SUM", (1,), INT)
MAX = AggregateCall("MAX", (1,), INT)
DISTINCT = AggregateCall("COUNT", (1,), BIGINT, distinct=True)


def group_by(*calls: AggregateCall, changes: bool = False, **options: Any) -> Any:
    return GroupAggregateOperator(
        lines_of(STRING, INT, changes=changes),
        lines_of(STRING, *(call.type for call in calls), changes=True),
        (0,),
        calls,
        **options,
        session=ScalarSession(),
    )


def overall(*calls: AggregateCall, **options: Any) -> Any:
    return GroupAggregateOperator(
        lines_of(STRING, INT), lines_of(*(call.type for call in calls), changes=True), (), calls,
        **options, session=ScalarSession()
    )  # fmt: skip


def test_a_group_ends_some_time_after_its_last_line() -> None:
    run = OperatorRun(group_by(SUM, MAX, changes=True, ttl_ms=1000), (0,))
    run.time = 1
    run.lines([("+I", "a", 1), ("+I", "b", 7)])
    run.end_of_batch()
    run.time = 900
    run.lines([("+I", "a", 2)])
    run.end_of_batch()
    run.taken()
    run.time = 1500
    run.lines([("+I", "a", 3), ("+I", "b", 8)])
    assert run.taken() == [("-U", "a", 3, 2), ("+U", "a", 6, 3), ("+I", "b", 8, 8)]
    run.time = 2501
    run.lines([("-D", "a", 3)])
    assert run.taken() == []


def test_groups_that_have_ended_leave_the_store() -> None:
    run = OperatorRun(group_by(SUM, DISTINCT, changes=True, ttl_ms=1000), (0,))
    run.time = 1
    run.lines([("+I", str(n), n) for n in range(50)])
    run.end_of_batch()
    run.time = 5000
    assert run.entries() == 0


def test_consumers_hear_of_lines_that_change_nothing_if_state_ends() -> None:
    lines = [("+I", "a", 5), ("+I", "a", 5)]
    assert every_way(group_by(MAX), lines, (0,)) == [("+I", "a", 5)]
    run = OperatorRun(group_by(MAX, ttl_ms=1000), (0,))
    run.time = 1
    run.lines(lines)
    assert run.taken() == [("+I", "a", 5), ("-U", "a", 5), ("+U", "a", 5)]


def test_state_without_a_limit_gets_one_later() -> None:
    run = OperatorRun(group_by(SUM), (0,))
    run.lines([("+I", "a", 1)])
    run.end_of_batch()
    other = OperatorRun(group_by(SUM, ttl_ms=10), (0,))
    other.store = run.store
    other._open()
    other.time = 1_000_000
    other.lines([("+I", "a", 2)])
    assert other.taken()[-1] == ("+U", "a", 3)
    other.end_of_batch()
    other.time += 10
    other.lines([("+I", "a", 4)])
    assert other.taken() == [("+I", "a", 4)]


def test_nobody_wants_what_was_before() -> None:
    lines = [("+I", "a", 1), ("+I", "a", 2), ("-D", "a", 1), ("-D", "a", 2)]
    found = every_way(group_by(SUM, changes=True, before=False), lines, (0,), entries=0)
    assert found == [("+I", "a", 1), ("+U", "a", 3), ("+U", "a", 2), ("-D", "a", 2)]


def test_a_group_changes_once_a_batch() -> None:
    run = OperatorRun(group_by(COUNT, SUM, changes=True, mini_batch=True), (0,))
    run.lines([("-D", "a", 9), ("+I", "a", 1), ("+I", "b", 2), ("+I", "a", 3), ("-D", "b", 2)])
    assert run.taken() == [("+I", "a", 2, 4)]
    run.lines([("+I", "a", 0), ("-D", "a", 0)])
    assert run.taken() == []
    run.lines([("+I", "b", 1), ("-D", "a", 1), ("-D", "a", 3)])
    assert run.taken() == [("+I", "b", 1, 1), ("-D", "a", 2, 4)]
    assert run.entries() == 1


def test_the_group_that_changed_last_comes_last() -> None:
    run = OperatorRun(group_by(COUNT, changes=True, mini_batch=True), (0,))
    run.lines([("+I", "a", 1), ("+I", "b", 1), ("+I", "c", 1), ("+I", "a", 1)])
    assert [line[1] for line in run.taken()] == ["b", "c", "a"]


def test_a_table_without_lines_has_no_line_in_a_stream_and_one_in_batch_mode() -> None:
    stream = OperatorRun(overall(COUNT, SUM), ())
    stream.end_of_batch()
    assert stream.taken() == []
    whole = OperatorRun(overall(COUNT, SUM), (), bounded=True)
    whole.operator.end_of_part()
    assert whole.taken() == [("+I", 0, None)]
    grouped = OperatorRun(group_by(COUNT), (0,), bounded=True)
    grouped.operator.end_of_part()
    assert grouped.taken() == []


def test_batch_mode_gives_each_group_once() -> None:
    lines = [("+I", "a", 1), ("+I", None, 5), ("+I", "a", 3)]
    assert whole_input(group_by(COUNT, SUM, MAX, DISTINCT), lines, (0,)) == [
        ("+I", "a", 2, 4, 3, 2), ("+I", None, 1, 5, 5, 1),
    ]  # fmt: skip
    run = OperatorRun(group_by(COUNT, DISTINCT), (0,), bounded=True)
    for key in "ab":  # some keys, then others
        run.lines([("+I", key, 1), ("+I", key, 2)])
        run.lines([("+I", key, 2)])
        run.operator.finish_keys()
    assert run.taken() == [("+I", "a", 3, 2), ("+I", "b", 3, 2)]
    run = OperatorRun(overall(COUNT, SUM), (), bounded=True)
    run.lines(lines)
    run.operator.finish_keys()
    run.operator.end_of_part()
    assert run.taken() == [("+I", 3, 9)]


@pytest.mark.parametrize("changes", [False, True])
def test_many_distinct_values_are_kept_in_pages(changes: bool) -> None:
    run = OperatorRun(group_by(DISTINCT, MAX, changes=changes), (0,))
    for start in range(0, 3000, 500):
        run.lines([("+I", "a", n) for n in range(start, start + 700)])
        run.restart()
    assert run.taken()[-1] == ("+U", "a", 3200, 3199)
    if not changes:
        return
    for start in range(2500, -1, -500):
        run.lines([("-D", "a", n) for n in reversed(range(start, start + 700))])
        run.restart()
    assert run.taken()[-1] == ("-D", "a", 1, 0)
    assert run.entries() == 0


def test_a_large_map_goes_with_its_group() -> None:
    run = OperatorRun(group_by(DISTINCT, changes=True, ttl_ms=10), (0,))
    run.time = 1
    run.lines([("+I", "a", n) for n in range(20_000)])
    run.restart()
    many = len(run.store.content)
    run.time = 100
    assert run.entries() == 0
    assert many > 10 > len(run.store.content)


def test_lines_of_a_batch_keep_their_order_across_groups() -> None:
    lines = [("+I", str(n % 3), n) for n in range(9)]
    found = play(OperatorRun(group_by(COUNT, before=False), (0,)), lines)
    assert [line[1] for line in found] == [line[1] for line in lines]


def test_groups_go_on_in_another_number_of_subtasks() -> None:
    operator = group_by(SUM, DISTINCT, MAX, changes=True)
    run = OperatorRun(operator, (0,))
    keys = ["a", None, *map(str, range(20))]
    run.lines([("+I", key, n) for key in keys for n in range(3)])
    run.lines([("+I", "a", n) for n in range(3, 1000)])
    run.end_of_batch()
    declared = DeclaredStates()
    declared.declare("step", run.operator.state_specs())
    declared.write(run.store)
    with SpooledStore(run.store.content.items()) as pages:
        entries = list(export(pages, {"step": 128}))
    found: list[Any] = []
    for subtask in range(3):
        part = OperatorRun(operator, (0,))
        mine = [
            e for e in entries if e.is_description or subtask_of(e.key_group, 3, 128) == subtask
        ]
        load(part.store, mine)
        part._open()
        part.lines(
            [
                ("-D", key, 2)
                for key in keys
                if subtask_of(key_group_of(key, 128), 3, 128) == subtask
            ]
        )
        assert part.entries() > 0
        found += [line for line in part.taken() if line[0] == "+U"]
    expected = {(key, 1, 2, 1) for key in keys if key != "a"} | {("a", 499_498, 999, 999)}
    assert {line[1:] for line in found} == expected


def test_grouping_sets() -> None:
    sets: list[tuple[Any, ...]] = [
        (Ref(0, STRING), Ref(1, INT), Literal(0, BIGINT)),
        (Literal(None, STRING), Ref(1, INT), Literal(1, BIGINT)),
    ]
    output = lines_of(STRING, INT, BIGINT, changes=True)
    expand = ExpandOperator(
        lines_of(STRING, INT, changes=True), output, sets, session=ScalarSession()
    )
    run = OperatorRun(expand)
    run.lines([("+I", "a", 1), ("-D", "b", 2)])
    assert run.taken() == [
        ("+I", "a", 1, 0), ("+I", None, 1, 1), ("-D", "b", 2, 0), ("-D", None, 2, 1),
    ]  # fmt: skip


def test_an_unknown_aggregate_names_those_that_there_are() -> None:
    with pytest.raises(UnsupportedStepError, match="MEDIAN") as found:
        aggregate_for(
            AggregateCall("MEDIAN", (1,), INT), lines_of(STRING, INT), session=ScalarSession()
        )
    assert "AVG" in str(found.value.fix)


def test_a_subquery_that_stands_for_a_value_has_one_line() -> None:
    single = AggregateCall("SINGLE_VALUE", (1,), INT)
    run = OperatorRun(overall(single), ())
    run.lines([("+I", "a", 1)])
    assert run.taken() == [("+I", 1)]
    with pytest.raises(RecordError, match="more than one line"):
        run.lines([("+I", "a", 2)])


def test_json() -> None:
    text = D.STRING()
    calls = (
        AggregateCall("JSON_OBJECTAGG", (0, 1), text),
        AggregateCall("JSON_OBJECTAGG", (0, 1), text, options=("ABSENT",)),
        AggregateCall("JSON_ARRAYAGG", (1,), text),
        AggregateCall("JSON_ARRAYAGG", (1,), text, options=("NULL",)),
    )
    operator = GroupAggregateOperator(
        lines_of(text, text, changes=True),
        lines_of(*[text] * 4, changes=True),
        (),
        calls,
        session=ScalarSession(),
    )
    run = OperatorRun(operator, ())
    run.lines([("+I", "a", "1"), ("+I", "b", None), ("+I", 'c"', '"x"'), ("-D", "a", "1")])
    assert run.taken()[-3:] == [
        (
            "+U", '{"a":1,"b":null,"c\\"":"x"}', '{"a":1,"c\\"":"x"}', '[1,"x"]', '[1,null,"x"]',
        ),
        (
            "-U", '{"a":1,"b":null,"c\\"":"x"}', '{"a":1,"c\\"":"x"}', '[1,"x"]', '[1,null,"x"]',
        ),
        ("+U", '{"b":null,"c\\"":"x"}', '{"c\\"":"x"}', '["x"]', '[null,"x"]'),
    ]  # fmt: skip
    with pytest.raises(RecordError, match="'b' twice"):
        run.lines([("+I", "b", "3")])


def test_percentiles() -> None:
    share, array = D.DOUBLE(), D.ARRAY(D.DOUBLE())
    calls = (
        AggregateCall("PERCENTILE", (0, 1), D.DOUBLE()),
        AggregateCall("PERCENTILE", (0, 2), array),
    )
    operator = GroupAggregateOperator(
        lines_of(INT, share, array, changes=True),
        lines_of(share, array, changes=True),
        (),
        calls,
        session=ScalarSession(),
    )
    run = OperatorRun(operator, ())
    rows = [("+I", value, 0.5, [0.25, 0.75]) for value in (1, None, 3, 8)]
    run.lines([*rows, ("-D", *rows[-1][1:])])
    found = [line[1:] for line in run.taken() if line[0] == "+U"]
    assert found == [(2.0, [1.5, 2.5]), (3.0, [2.0, 5.5]), (2.0, [1.5, 2.5])]


def test_values_that_a_group_has_seen_leave_with_it() -> None:
    filtered = AggregateCall("COUNT", (1,), BIGINT, distinct=True, filter=2)
    operator = GroupAggregateOperator(
        lines_of(STRING, INT, D.BOOLEAN()),
        lines_of(STRING, BIGINT, BIGINT, changes=True),
        (0,),
        (DISTINCT, filtered),
        ttl_ms=1000,
        before=False,
        session=ScalarSession(),
    )
    run = OperatorRun(operator, (0,))
    run.time = 1
    run.lines([("+I", "a", 1, False), ("+I", "a", 1, True), ("+I", "b", 1, None)])
    assert run.taken() == [("+I", "a", 1, 0), ("+U", "a", 1, 1), ("+I", "b", 1, 0)]
    run.restart()
    run.time = 900
    run.lines([("+I", "a", 1, True), ("+I", "a", 2, True)])
    run.end_of_batch()
    assert run.taken()[-1] == ("+U", "a", 2, 2)
    run.time = 1500
    run.lines([("+I", "b", 1, True), ("+I", "a", 1, True)])  # b has begun anew
    assert run.taken() == [("+I", "b", 1, 1), ("+U", "a", 2, 2)]
    run.time = 5000
    assert run.entries() == 0


@pytest.mark.parametrize("name", ["MIN", "MAX"])
def test_the_extreme_of_texts_is_that_of_a_loop(name: str) -> None:
    call = AggregateCall(name, (1,), STRING, filter=2)
    operator = GroupAggregateOperator(
        lines_of(STRING, STRING, D.BOOLEAN()),
        lines_of(STRING, STRING, changes=True),
        (0,),
        (call,),
        session=ScalarSession(),
    )
    chance = random.Random(7)
    texts = [None, "", "a", "B", "é", "z", "aa", "\U0001f600"]
    lines = [
        ("+I", chance.choice("kl"), chance.choice(texts), chance.choice([True, True, False, None]))
        for _ in range(60)
    ]
    kept: dict[str, str | None] = {}
    expected = []
    for _, key, text, counts in lines:
        before = kept.get(key)
        both = [t for t in (before, text if counts else None) if t is not None]
        found = (min if name == "MIN" else max)(both, default=None)
        if key not in kept:
            expected.append(("+I", key, found))
        elif found != before:
            expected += [("-U", key, before), ("+U", key, found)]
        kept[key] = found
    assert every_way(operator, lines, (0,)) == expected
