"""Patterns that come as documents: versions, matches under way, refusals, restarts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.api.output_tag import OutputTag
from headrace.cep import CEP, PatternProcessFunction
from headrace.cep.dynamic_operator import DynamicPatternOperator, DynamicPatterns
from headrace.common import Row, Types, WatermarkStrategy
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.errors import HeadraceError, InvalidArgumentError, RecordError
from headrace.testing import TwoInputHarness, collect_locally

if TYPE_CHECKING:
    from collections.abc import Iterator

REFUSED, LATE, OVER = OutputTag("refused"), OutputTag("late"), OutputTag("over")


def document(version: int, first: str = "a", second: str = "b", **more: Any) -> str:
    """One event and then another one."""
    stages = [
        {"name": "first", "where": f"kind = '{first}'"},
        {"name": "second", "after": "followed_by", "where": f"kind = '{second}'"},
    ]
    return json.dumps({"id": "pair", "version": version, "pattern": stages} | more)


class Found(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        numbers = [event["n"] for events in match.values() for event in events]
        yield ctx.pattern_id(), ctx.pattern_version(), numbers


class FoundOrOver(Found):
    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield OVER, (ctx.pattern_version(), match["first"][0]["n"], ctx.timestamp())


def key(event: Any) -> Any:
    return event["key"]


def harness(*, keeps_old: bool = True, tag: bool = True, **more: Any) -> TwoInputHarness:
    settings = {"event_time": True, "columns": None, "late_tag": LATE.tag_id} | more
    refused = REFUSED.tag_id if tag else None
    patterns = DynamicPatterns(keeps_old=keeps_old, refused_tag=refused, **settings)
    return TwoInputHarness(DynamicPatternOperator(FoundOrOver(), patterns), (key, None))


def play(running: TwoInputHarness, *items: Any, restarts: bool = False) -> list[Any]:
    """Texts are documents, letters events with the next time, numbers watermarks."""
    for number, item in enumerate(items):
        if isinstance(item, int):
            running.process_watermark1(item)
        elif len(item) == 1:
            running.process_element1({"key": "k", "kind": item, "n": number}, 10 * number)
        else:
            running.process_element2(item)
        if restarts:
            running.restore(running.snapshot())
    return running.output


SCRIPT = ["a", document(1), "a", 25, document(2, "b", "c"), "b", "c", 65, "a", "c", 2000]


@pytest.mark.parametrize("restarts", [False, True])
def test_events_are_matched_by_the_newest_version(restarts: bool) -> None:
    with harness(keeps_old=False) as running:
        found = play(running, *SCRIPT, restarts=restarts)
        assert found == [("pair", 2, [5, 6])]
        assert running.num_keyed_state_entries() == 0


@pytest.mark.parametrize("restarts", [False, True])
def test_matches_under_way_finish_in_their_version(restarts: bool) -> None:
    with harness() as running:
        found = play(running, *SCRIPT, restarts=restarts)
        # 0 and 2 began under version 1; 8 came when it was old
        assert found == [("pair", 1, [0, 5]), ("pair", 1, [2, 5]), ("pair", 2, [5, 6])]
        assert running.num_keyed_state_entries() == 0


def test_an_old_version_begins_nothing() -> None:
    with harness() as running:
        found = play(running, document(1), "a", 15, document(2, "x", "y"), "a", "b", 100, "b", 200)
        assert found == [("pair", 1, [1, 5])]


@pytest.mark.parametrize("keeps_old", [False, True])
def test_a_removed_pattern_is_no_longer_looked_for(keeps_old: bool) -> None:
    gone = json.dumps({"id": "pair", "version": 2, "removed": True})
    with harness(keeps_old=keeps_old) as running:
        found = play(running, document(1), "a", 15, gone, "b", "a", "b", 100)
        assert found == ([("pair", 1, [1, 4])] if keeps_old else [])


def test_patterns_with_other_ids_run_side_by_side() -> None:
    other = json.loads(document(1, "a", "c")) | {"id": "other"}
    with harness() as running:
        found = play(running, document(1), json.dumps(other), "a", "b", "c", 100)
        assert found == [("pair", 1, [2, 3]), ("other", 1, [2, 4])]


def test_documents_may_be_dicts() -> None:
    with harness() as running:
        running.process_element2(json.loads(document(1)))
        assert play(running, "a", "b", 100) == [("pair", 1, [0, 1])]


def test_time_outs_are_told_by_the_clock_of_the_events() -> None:
    with harness() as running:
        # the documents' watermark neither moves nor holds the events'
        running.process_watermark2(10**12)
        play(running, document(1, within=25), "a", "z", 34)
        assert running.side_output(OVER) == []
        running.process_watermark1(35)
        assert running.side_output(OVER) == [(1, 1, 35)]
        assert running.num_keyed_state_entries() == 0
        assert running.num_event_time_timers() == 0


def test_late_events_leave_by_a_side_output() -> None:
    with harness() as running:
        play(running, document(1), "a", 50)
        running.process_element1({"key": "k", "kind": "b", "n": 9}, 50)
        assert [event["n"] for event in running.side_output(LATE)] == [9]


def test_processing_time_does_not_wait() -> None:
    with harness(event_time=False, late_tag=None) as running:
        running.process_element2(document(1, within=30))
        running.set_processing_time(5)
        for number, kind in enumerate("aba"):
            running.process_element1({"key": "k", "kind": kind, "n": number})
        assert running.output == [("pair", 1, [0, 1])]
        running.set_processing_time(40)
        assert running.side_output(OVER) == [(1, 2, 35)]
        assert running.num_keyed_state_entries() == 0


BAD = [
    ("{", "the pattern document is not JSON"),
    (document(1, within="soon"), "'soon' is not an amount of time"),
    (document(2), "version 2 is not newer than version 3"),
    (document(3, "x"), "version 3 is not newer than version 3"),
    (17, "a pattern document is a text of JSON or a dict, not int"),
]


@pytest.mark.parametrize(("bad", "reason"), BAD, ids=[reason[:30] for _, reason in BAD])
def test_a_document_that_cannot_be_used_is_refused_and_the_job_goes_on(
    bad: Any, reason: str
) -> None:
    with harness() as running:
        running.process_element2(document(3))
        running.process_element2(bad)
        [told] = running.side_output(REFUSED)
        assert reason in told
        assert play(running, "a", "b", 100) == [("pair", 3, [0, 1])]


def test_the_same_document_twice_is_not_refused() -> None:
    with harness() as running:
        play(running, document(1), "a", document(1), "b", 100)
        assert running.side_output(REFUSED) == []
        assert running.output == [("pair", 1, [1, 3])]


def test_without_a_tag_a_bad_document_ends_the_job_with_the_reason() -> None:
    with harness(tag=False) as running, pytest.raises(InvalidArgumentError, match=r"\$\.within"):
        running.process_element2(document(1, within="soon"))


def test_one_subtask_tells_of_a_refused_document() -> None:
    settings = DynamicPatterns(
        event_time=True, keeps_old=True, columns=None, refused_tag=REFUSED.tag_id, late_tag=None
    )
    operator = DynamicPatternOperator(Found(), settings)
    with TwoInputHarness(operator, (key, None), parallelism=2, subtask=1) as second:
        second.process_element2("{")
        assert second.side_output(REFUSED) == []


def test_a_record_without_a_timestamp_is_refused() -> None:
    with harness() as running, pytest.raises(RecordError, match="without a timestamp"):
        running.process_element1({"key": "k"})


def test_a_condition_that_raises_names_its_stage() -> None:
    with harness() as running, pytest.raises(HeadraceError, match="pattern 'first'"):
        play(running, document(1).replace("kind = 'a'", "n > 'x'"), "a", 100)


# --- as a program --------------------------------------------------------------------------------

EVENT = Types.ROW_NAMED(
    ["key", "kind", "n", "at"], [Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG()]
)
EVENTS = [Row("k", kind, n, 10 * n) for n, kind in enumerate("abxab")]


def pairs(env: StreamExecutionEnvironment, documents: list[str], **options: Any) -> Any:
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at")
    events = env.from_collection(EVENTS, EVENT).assign_timestamps_and_watermarks(in_order)
    sent = env.from_collection(documents, Types.STRING())
    return CEP.dynamic_patterns(events.key_by("key"), sent, **options)


@pytest.mark.parametrize("mode", list(RuntimeExecutionMode))
def test_a_program_looks_for_the_patterns_that_it_is_sent(mode: RuntimeExecutionMode) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(mode)
    found = pairs(env, [document(1)]).select(lambda match: [e.n for v in match.values() for e in v])
    assert collect_locally(found) == [[0, 1], [3, 4]]


def test_conditions_of_typed_events_are_checked_against_their_columns() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    text = Types.STRING()
    found = pairs(env, [document(1).replace("kind", "knd")], refused_tag=OutputTag("no", text))
    told = found.select(str, output_type=text).get_side_output(OutputTag("no", text))
    [reason] = collect_locally(told)
    assert "events have no column 'knd'" in reason
    assert "did you mean 'kind'?" in reason


def test_a_stream_without_keys_is_one_sequence() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at")
    rows = [Row("x", "a", 1, 10), Row("y", "b", 2, 20)]
    events = env.from_collection(rows, EVENT).assign_timestamps_and_watermarks(in_order)
    sent = env.from_collection([document(1)], Types.STRING())
    found = CEP.dynamic_patterns(events, sent).select(lambda match: len(match))
    assert collect_locally(found) == [2]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (lambda s: (1, s), {}, "expects a stream of events, not"),
        (lambda s: (s, "doc"), {}, "expects a stream of documents, not"),
        (lambda s: (s, s), {"on_update": "keep"}, "on_update='finish' or 'drop', not 'keep'"),
        (lambda s: (s, s), {"refused_tag": "no"}, "OutputTag"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, options: Any, message: str) -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(InvalidArgumentError, match=message):
        CEP.dynamic_patterns(*arguments(stream), **options)
