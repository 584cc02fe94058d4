"""The operator: event time and its late events, processing time, time-outs, what stays in state."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.api.output_tag import OutputTag
from headrace.cep import CEP, MatchedEvents, Pattern, PatternProcessFunction, WithinType
from headrace.cep.conditions import RichIterativeCondition
from headrace.cep.operator import CepOperator
from headrace.cep.pattern_stream import UnboundedPatternWarning
from headrace.common import Types
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import col
from headrace.errors import InvalidArgumentError, RecordError, UserFunctionError
from headrace.testing.harness import KeyedHarness

OVER = OutputTag("over", Types.STRING())
LATE = OutputTag("late", Types.STRING())


class Letters(PatternProcessFunction):
    def process_match(self, match: MatchedEvents, ctx: Any) -> Any:
        yield " ".join(event[1] for _, event, _ in match.path)


class AndTimeouts(Letters):
    def process_timed_out_match(self, match: MatchedEvents, ctx: Any) -> Any:
        ctx.output(OVER, f"{ctx.timestamp()} " + " ".join(event[1] for _, event, _ in match.path))


def starts(letter: str) -> Any:
    return lambda event: event[1].startswith(letter)


def pair(window_ms: int | None = 10) -> Pattern:
    return (
        Pattern.begin("a").where(starts("a")).followed_by("b").where(starts("b")).within(window_ms)
    )


def harness(pattern: Pattern, function: Any = None, **options: Any) -> KeyedHarness:
    operator = CepOperator(pattern, function or Letters(), **options)
    return KeyedHarness(operator, (lambda event: event[0],))


def stored(job: KeyedHarness) -> set[str]:
    """The tables with entries, timers left aside."""
    names = {name.split(b"\0")[0].decode() for name in job.snapshot()}
    return {name.removeprefix("harness/") for name in names if "timers" not in name}


def test_events_go_in_order_of_time_once_the_watermark_has_passed_them() -> None:
    job = harness(pair())
    for time, event in [(8, "b1"), (5, "a2"), (3, "a1"), (9, "b2")]:
        job.process_element(("k", event), time)
    assert job.output == []
    job.process_watermark(8)
    assert job.timestamped_output == [("a1 b1", 8), ("a2 b1", 8)]
    job.end_of_input()
    assert stored(job) == set()


def test_a_late_event_goes_to_the_side_output_or_is_counted() -> None:
    for options, counted in (({"late_tag": LATE.tag_id}, 0), ({}, 1)):
        job = harness(pair(), **options)
        job.process_watermark(10)
        job.process_element(("k", "a1"), 10)
        job.process_element(("k", "a2"), 11)
        assert job.side_output(LATE) == ([] if counted else [("k", "a1")])
        assert job.metrics.late_records_dropped == counted


def test_a_comparator_orders_events_of_one_time() -> None:
    job = harness(pair(), comparator=lambda one, other: ord(one[1][-1]) - ord(other[1][-1]))
    for event in ("b3", "a2", "a4"):
        job.process_element(("k", event), 5)
    job.process_watermark(5)
    assert job.output == ["a2 b3"]


def test_time_is_over_exactly_at_the_limit() -> None:
    job = harness(pair(), AndTimeouts())
    for time, event in [(1, "a1"), (2, "a2"), (11, "b1")]:
        job.process_element(("k", event), time)
    job.process_watermark(11)
    assert job.output == ["a2 b1"]
    assert job.side_output(OVER) == ["11 a1"]


def test_partial_matches_are_gone_when_the_watermark_passes_their_time() -> None:
    job = harness(pair())
    for number in range(50):
        job.process_element((number, "a"), 100 + number)
    job.process_watermark(149)
    assert stored(job) == {"matches"}
    job.process_watermark(159)
    assert stored(job) == set()
    assert job.num_event_time_timers() == 0


def test_a_limit_between_neighbours_prunes_too_if_nobody_hears_of_it() -> None:
    pattern = pair(None)
    pattern.within(10, WithinType.PREVIOUS_AND_CURRENT)
    job = harness(pattern)
    job.process_element(("k", "a"), 100)
    job.process_watermark(100)
    assert stored(job) == {"matches"}
    job.process_watermark(110)
    assert stored(job) == set()


def test_events_that_matter_to_nobody_are_not_kept() -> None:
    job = harness(pair(30))
    job.process_watermark(49)
    for number in range(20):
        job.process_element(("k", f"z{number}"), 50 + number)
    assert stored(job) == set()
    # next breaks off at any event, so it has to see all of them
    strict = harness(Pattern.begin("a").where(starts("a")).next("b").where(starts("b")).within(9))
    strict.process_element(("k", "z"), 50)
    assert stored(strict) == {"waiting-buckets", "waiting-lines"}


def test_what_waits_and_what_was_found_so_far_survive_a_restart() -> None:
    job = harness(pair(), AndTimeouts())
    for time, event in [(1, "a1"), (2, "a2"), (6, "b1")]:
        job.process_element(("k", event), time)
    job.process_watermark(2)
    job.restore(job.snapshot())
    job.process_watermark(6)
    assert job.output == ["a1 b1", "a2 b1"]
    assert stored(job) == set()


def test_a_trailing_not_emits_when_its_time_is_over() -> None:
    pattern = Pattern.begin("a").where(starts("a")).not_followed_by("b").where(starts("b"))
    job = harness(pattern.within(3))
    for time, event in [(1, "a1"), (2, "b1"), (4, "a2"), (5, "c"), (10, "b3"), (11, "a4")]:
        job.process_element(("k", event), time)
    job.process_watermark(11)
    assert job.timestamped_output == [("a2", 10)]


def test_processing_time_needs_no_timestamps() -> None:
    job = harness(pair(), AndTimeouts(), event_time=False)
    job.set_processing_time(100)
    job.process_element(("k", "a1"))
    job.set_processing_time(105)
    job.process_element(("k", "a2"))
    job.set_processing_time(111)
    assert job.side_output(OVER) == ["110 a1"]
    job.process_element(("k", "b1"))
    assert job.timestamped_output == [("a2 b1", None)]
    assert stored(job) == set()


def test_processing_time_with_a_comparator_waits_for_the_next_millisecond() -> None:
    job = harness(pair(), event_time=False, comparator=lambda a, b: (a[1] > b[1]) - (a[1] < b[1]))
    job.set_processing_time(100)
    job.process_element(("k", "b1"))
    job.process_element(("k", "a1"))
    assert job.output == []
    job.set_processing_time(101)
    assert job.output == ["a1 b1"]


def test_column_expressions_are_evaluated_a_batch_at_a_time() -> None:
    row = Types.ROW_NAMED(["key", "kind"], [Types.STRING(), Types.STRING()])
    pattern = (
        Pattern.begin("a").where(col("kind") == "a").followed_by("b").where(col("kind") == "b")
    ).within(10)

    class Keys(PatternProcessFunction):
        def process_match(self, match: MatchedEvents, ctx: Any) -> Any:
            yield match["b"][0].key

    job = KeyedHarness(CepOperator(pattern, Keys()), ("key",))
    codec = codec_for(row)
    columns = [pa.array(["k", "l", "k", "k"]), pa.array(["a", "b", None, "b"])]
    batch = pa.RecordBatch.from_arrays(columns, schema=codec.schema)
    job.operator.process(Records(timestamps=[1, 2, 3, 4], batch=batch, codec=codec), 0)
    job.process_watermark(4)
    assert job.output == ["k"]


class Above(RichIterativeCondition):
    """Above all events of a stage so far."""

    def __init__(self) -> None:
        self.opened = 0

    def open(self, runtime_context: Any) -> None:
        self.opened += 1

    def filter(self, value: Any, ctx: Any) -> bool:
        assert self.opened == 1
        return all(value[1] > event[1] for event in ctx.get_events_for_pattern("rise"))


def test_an_iterative_condition_sees_the_match_so_far_and_is_opened() -> None:
    pattern = Pattern.begin("rise").where(Above()).times(3).within(100)
    job = harness(pattern)
    for time, letter in enumerate("bacd", 1):
        job.process_element(("k", letter), time)
    job.process_watermark(9)
    assert job.output == ["b c d", "a c d"]


def test_a_match_explains_itself() -> None:
    class Explained(PatternProcessFunction):
        def process_match(self, match: MatchedEvents, ctx: Any) -> Any:
            yield ctx.explain(match)

    job = harness(pair(), Explained())
    job.process_element(("k", "a1"), 5)
    job.process_element(("k", "b1"), 8)
    job.process_watermark(8)
    assert job.output[0].splitlines() == [
        "a  5  +0 ms  ('k', 'a1')",
        "b  8  +3 ms  ('k', 'b1')",
        "2 events in 3 ms",
    ]


def test_what_the_users_function_raises_or_gives_wrongly_is_told() -> None:
    class Wrong(Letters):
        def process_timed_out_match(self, match: MatchedEvents, ctx: Any) -> Any:
            yield "a main result"

    job = harness(pair(), Wrong())
    job.process_element(("k", "a1"), 5)
    with pytest.raises(UserFunctionError, match="a match that timed out has no main result"):
        job.process_watermark(20)
    job = harness(pair())
    with pytest.raises(RecordError, match="without a timestamp"):
        job.process_element(("k", "a1"))


def test_the_state_of_a_key_does_not_grow_with_its_events() -> None:
    pattern = Pattern.begin("a").where(starts("a")).one_or_more().followed_by("b")
    job = harness(pattern.where(starts("b")).within(40))
    sizes = []
    for batch in range(8):
        for number in range(100):
            time = 1 + batch * 100 + number
            job.process_element(
                ("k", "b" if time % 37 == 0 else "a" if time % 5 == 0 else "z"), time
            )
        job.process_watermark(batch * 100 + 100)
        job.end_of_batch()
        _, _, events, nodes, _ = job.operator.matches.get("k")  # type: ignore[attr-defined]
        sizes.append((len(events), len(nodes)))
    # eight events of "a" fall into 40 ms, and each begins a loop over those behind it
    assert max(count for count, _ in sizes) <= 8
    assert max(count for _, count in sizes) <= 8 * 9 // 2


# --- CEP.pattern ---------------------------------------------------------------------------------


def stream() -> Any:
    return StreamExecutionEnvironment.get_execution_environment().from_collection([("k", "a")])


def test_a_pattern_that_grows_for_ever_is_warned_of() -> None:
    loop = Pattern.begin("a").where(starts("a")).one_or_more().followed_by("b").where(starts("b"))
    with pytest.warns(UnboundedPatternWarning, match="every event that 'a' takes is kept"):
        CEP.pattern(stream(), loop)
    combined = Pattern.begin("a").one_or_more().allow_combinations()
    with pytest.warns(UnboundedPatternWarning, match="doubles the partial matches"):
        CEP.pattern(stream(), combined)
    CEP.pattern(stream(), loop.within(10))


def test_arguments_that_cannot_work_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="expects a stream"):
        CEP.pattern([1], pair())  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="expects a Pattern"):
        CEP.pattern(stream(), "pattern")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="expects a comparator"):
        CEP.pattern(stream(), pair(), comparator=5)
    found = CEP.pattern(stream(), pair())
    with pytest.raises(InvalidArgumentError, match="no event is late"):
        found.in_processing_time().side_output_late_data(LATE).select(str)
    with pytest.raises(InvalidArgumentError, match="only one of the tag and the function"):
        found.select(str, timed_out_partial_matches_tag=OVER)
    with pytest.raises(InvalidArgumentError, match="expects a function or a PatternProcess"):
        found.process(5)


def test_a_pattern_of_more_stages_than_a_machine_number_has_bits() -> None:
    letters = [chr(ord("A") + number) for number in range(40)]
    pattern = Pattern.begin(letters[0]).where(starts(letters[0]))
    for letter in letters[1:]:
        pattern = pattern.followed_by(letter).where(starts(letter))
    job = harness(pattern.within(1000))
    for time, letter in enumerate(letters, 1):
        job.process_element(("k", letter), time)
        job.process_element(("k", " "), time)
    job.process_watermark(50)
    assert job.output == [" ".join(letters)]


def test_a_long_match_is_stored_and_found_again() -> None:
    pattern = Pattern.begin("a").where(starts("a")).times(150).next("b").where(starts("b"))
    job = harness(pattern)
    for time in range(1, 151):
        job.process_element(("k", "a"), time)
    job.process_watermark(150)
    job.restore(job.snapshot())
    job.process_element(("k", "b"), 151)
    job.process_watermark(151)
    assert [len(found.split()) for found in job.output] == [151]


def played(found: Any) -> tuple[list[Any], list[Any]]:
    """(results, what went to the side output) of a match and a match that times out."""
    operator = found._origins[0].step.operator
    job = KeyedHarness(operator, (lambda event: event[0],))
    for time, event in [(1, "a1"), (2, "b1"), (3, "a2")]:
        job.process_element(("k", event), time)
    job.process_watermark(20)
    return job.timestamped_output, job.timestamped_side_output(OVER)


def names(match: MatchedEvents) -> str:
    return " ".join(event[1] for _, event, _ in match.path)


def test_select_and_flat_select_give_results_and_timeouts() -> None:
    def over(match: MatchedEvents, time: int) -> str:
        return f"{names(match)} at {time}"

    def both(match: MatchedEvents) -> Any:
        yield from (event for _, event, _ in match.path)

    pattern = CEP.pattern(stream().key_by(lambda event: event[0]), pair())
    assert played(pattern.select(names)) == ([("a1 b1", 2)], [])
    one = pattern.select(names, timed_out_partial_matches_tag=OVER, pattern_timeout_function=over)
    assert played(one) == ([("a1 b1", 2)], [("a2 at 13", 13)])
    many = pattern.flat_select(
        both,
        timed_out_partial_matches_tag=OVER,
        pattern_flat_timeout_function=lambda match, time: [over(match, time)] * 2,
    )
    assert played(many) == (
        [(("k", "a1"), 2), (("k", "b1"), 2)],
        [("a2 at 13", 13), ("a2 at 13", 13)],
    )
    assert played(pattern.process(lambda match, ctx: [ctx.timestamp()])) == ([(2, 2)], [])


def test_a_stream_without_keys_has_one_subtask() -> None:
    step = CEP.pattern(stream(), pair()).select(names)._origins[0].step
    assert step.parallelism == 1
    assert step.name == "Pattern(a, b)"
