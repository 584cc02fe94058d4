"""Joins against Flink's rules: docs/semantics.md, section 6.

A script is a list of steps: L(n) and R(n) are records at that time, W(n) is a watermark on both
inputs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from headrace.common.typeinfo import Types
from headrace.data.records import MAX_TIMESTAMP, Records
from headrace.datastream import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    OutputTag,
    ProcessJoinFunction,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    CumulateEventTimeWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    TumblingEventTimeWindows,
)
from headrace.errors import RecordError, UserFunctionError
from headrace.runtime.operators.join import (
    BUCKET_MS,
    CoGrouped,
    IntervalJoinOperator,
    Joined,
    TimeBuffer,
)
from headrace.runtime.pages.store import DictStore
from headrace.runtime.state.provider import StateProvider
from headrace.testing import KeyedHarness, TwoInputHarness

LATE_LEFT = OutputTag("late-left", Types.LONG())
LATE_RIGHT = OutputTag("late-right", Types.LONG())
ODD = OutputTag("odd")


class L(NamedTuple):
    time: int


class R(NamedTuple):
    time: int


class W(NamedTuple):
    time: int


class Times(ProcessJoinFunction):
    """(left, right) of every pair; the context agrees with the records."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        assert (ctx.get_left_timestamp(), ctx.get_right_timestamp()) == (left, right)
        assert ctx.get_timestamp() == max(left, right)
        yield left, right


def one_key(record: Any) -> str:
    return "key"


def interval(lower: int, upper: int, function: Any = None, **options: Any) -> TwoInputHarness:
    operator = IntervalJoinOperator(function or Times(), lower, upper, **options)
    return TwoInputHarness(operator, (one_key, one_key))


def play(harness: TwoInputHarness, *script: Any) -> list[Any]:
    for step in script:
        if isinstance(step, W):
            harness.process_watermark(step.time)
        elif isinstance(step, L):
            harness.process_element1(step.time, timestamp=step.time)
        else:
            harness.process_element2(step.time, timestamp=step.time)
    return harness.take_output()


def assert_nothing_left(harness: KeyedHarness) -> None:
    harness.end_of_input()
    assert harness.num_keyed_state_entries() == 0
    assert harness.num_event_time_timers() == 0


# --- interval join: which pairs ------------------------------------------------------------------

LEFTS = [L(t) for t in (0, 2, 3, 4, 5, 7)]
RIGHTS = [R(t) for t in (0, 1, 6, 7)]
PAIRS = [(0, 0), (0, 1), (2, 0), (2, 1), (3, 1), (5, 6), (7, 6), (7, 7)]


@pytest.mark.parametrize("script", [LEFTS + RIGHTS, RIGHTS + LEFTS])
def test_pairs_within_inclusive_bounds_are_joined_whoever_comes_first(script: list[Any]) -> None:
    harness = interval(-2, 1)  # V6.2
    assert sorted(play(harness, *script)) == PAIRS
    assert_nothing_left(harness)


def test_results_carry_the_later_of_both_timestamps() -> None:
    harness = interval(-2, 1)
    for step in LEFTS + RIGHTS:
        play_one = harness.process_element1 if isinstance(step, L) else harness.process_element2
        play_one(step.time, step.time)
    assert all(timestamp == max(pair) for pair, timestamp in harness.timestamped_output)


@pytest.mark.parametrize(
    ("lower", "upper", "joined"),
    [
        (0, 0, [5]),
        (-2, -1, [3, 4]),
        (1, 3, [6, 7, 8]),
        (-3, 3, [2, 3, 4, 5, 6, 7, 8]),
        (1, 0, []),  # between(0, 1) with both bounds exclusive
    ],
)
def test_bounds_lie_around_the_left_record(lower: int, upper: int, joined: list[int]) -> None:
    rights = [R(t) for t in range(10)]
    for script in ([L(5), *rights], [*rights, L(5)]):
        harness = interval(lower, upper)
        assert play(harness, *script) == [(5, right) for right in joined]
        assert_nothing_left(harness)


def test_pairs_far_apart_in_time_are_found_across_buckets() -> None:
    far = 3 * BUCKET_MS
    harness = interval(-far, far)
    script = [R(0), R(far), R(2 * far), R(2 * far + 1), R(-1)]
    assert play(harness, *script, L(far)) == [(far, 0), (far, far), (far, 2 * far)]
    assert_nothing_left(harness)


def test_records_of_one_time_are_joined_in_order_of_arrival() -> None:
    harness = interval(0, 0, lambda left, right, ctx: (left, right))
    for number in range(3):
        harness.process_element2(number, timestamp=7)
    harness.process_element1("x", timestamp=7)
    assert harness.output == [("x", 0), ("x", 1), ("x", 2)]


def test_records_of_other_keys_are_not_joined() -> None:
    operator = IntervalJoinOperator(lambda left, right, ctx: (left, right), -5, 5)
    harness = TwoInputHarness(operator, (lambda r: r[0], lambda r: r[0]))
    harness.process_element1(("a", 1), 1)
    harness.process_element1(("b", 1), 1)
    harness.process_element2(("b", 2), 2)
    assert harness.output == [(("b", 1), ("b", 2))]


# --- interval join: time -------------------------------------------------------------------------


def test_records_behind_the_watermark_go_to_their_late_output() -> None:
    harness = interval(-2, 1, late_tags=(LATE_LEFT.tag_id, LATE_RIGHT.tag_id))  # V6.3
    assert play(harness, W(5), L(5), L(4), R(5), R(3)) == [(5, 5)]
    assert harness.side_output(LATE_LEFT) == [4]
    assert harness.side_output(LATE_RIGHT) == [3]
    assert harness.metrics.late_records_dropped == 0
    assert_nothing_left(harness)


def test_late_records_without_an_output_are_dropped_and_counted() -> None:
    harness = interval(-2, 1)
    assert play(harness, W(5), L(4), R(4)) == []
    assert harness.metrics.late_records_dropped == 2
    assert harness.num_keyed_state_entries() == 0


def test_the_slower_input_decides_what_is_late() -> None:
    harness = interval(-2, 1)
    harness.process_watermark1(100)
    harness.process_watermark2(5)
    assert play(harness, L(5), R(5), R(4)) == [(5, 5)]
    assert harness.watermarks == [5]


@pytest.mark.parametrize(
    ("lower", "upper", "left_until", "right_until"),
    [(-2, 1, 11, 12), (0, 0, 10, 10), (3, 5, 15, 10), (-5, -3, 10, 15)],
)
def test_a_record_is_kept_until_no_partner_can_come(
    lower: int, upper: int, left_until: int, right_until: int
) -> None:
    for step, until in ((L(10), left_until), (R(10), right_until)):
        harness = interval(lower, upper)
        play(harness, step, W(until - 1))
        assert harness.num_keyed_state_entries() == 2  # the record, and the key's list of buckets
        assert harness.num_event_time_timers() == 1
        play(harness, W(until))
        assert harness.num_keyed_state_entries() == 0
        assert harness.num_event_time_timers() == 0


def test_records_of_one_key_and_time_share_a_timer_and_leave_together() -> None:
    harness = interval(-1, 1)
    play(harness, L(10), L(10), L(11))
    assert harness.num_event_time_timers() == 2
    play(harness, W(11))
    assert play(harness, R(11)) == [(11, 11)]
    assert_nothing_left(harness)


def test_a_record_at_the_watermark_still_joins_until_the_next_one() -> None:
    harness = interval(-2, 0)
    assert play(harness, W(5), L(5), R(5)) == [(5, 5)]
    assert play(harness, W(6), R(6)) == []
    assert_nothing_left(harness)


def test_times_at_both_ends_of_the_clock_are_joined_and_freed() -> None:
    end = MAX_TIMESTAMP - 1
    harness = interval(-10, 10)
    assert play(harness, L(end), R(end), L(-5000), R(-5001)) == [(end, end), (-5000, -5001)]
    assert_nothing_left(harness)


def test_a_record_without_a_timestamp_is_an_error_that_says_what_to_do() -> None:
    harness = interval(-2, 1)
    with pytest.raises(RecordError, match="without a timestamp reached an interval join") as error:
        harness.process_element1(1)
    assert "assign_timestamps_and_watermarks" in str(error.value)


def test_state_survives_a_restart_between_any_two_records() -> None:
    harness = interval(-2, 1)
    results = []
    for step in LEFTS + RIGHTS:
        results += play(harness, step)
        harness.restore(harness.snapshot())
    assert sorted(results) == PAIRS
    assert_nothing_left(harness)


# --- interval join: functions --------------------------------------------------------------------


class Rich(ProcessJoinFunction):
    """Counts the pairs of a key in state, sends odd sums to a side output in both ways."""

    def open(self, runtime_context: Any) -> None:
        self.pairs = runtime_context.get_state(ValueStateDescriptor("pairs", Types.LONG()))

    def process_element(self, left: int, right: int, ctx: Any) -> Any:
        self.pairs.update((self.pairs.value() or 0) + 1)
        if (left + right) % 2:
            ctx.output(ODD, (left, right))
            yield ODD, "again"
        else:
            yield self.pairs.value()


def test_a_process_join_function_has_state_and_side_outputs() -> None:
    harness = interval(-5, 5, Rich())
    assert play(harness, L(1), R(1), R(2), R(3)) == [1, 3]
    assert harness.side_output(ODD) == [(1, 2), "again"]


def _generator(left: Any, right: Any, ctx: Any) -> Any:
    yield left
    yield right


class _Callable:
    def __call__(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left + right


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda left, right, ctx: [left, right], [[1, 2]]),
        (lambda left, right, ctx: None, []),
        (_generator, [1, 2]),
        (_Callable(), [3]),
    ],
)
def test_a_plain_function_gives_one_result_a_generator_many(
    function: Any, expected: list[Any]
) -> None:
    assert play(interval(-5, 5, function), L(1), R(2)) == expected


def test_an_error_of_the_function_names_the_record() -> None:
    harness = interval(-5, 5, lambda left, right, ctx: left / 0)
    with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
        play(harness, L(1), R(2))


# --- the buffer ----------------------------------------------------------------------------------


def test_only_touched_buckets_of_a_key_are_written_again() -> None:
    store = DictStore()
    states = StateProvider(store, "join")
    buffer = TimeBuffer(states, "left")
    for time in range(0, 400 * BUCKET_MS, BUCKET_MS):
        buffer.add("key", time, f"{time:01000}")
    states.flush()
    before = store.snapshot()
    buffer.add("key", 5, "new")
    states.flush()
    changed = sum(len(v) for k, v in store.snapshot().items() if before.get(k) != v)
    assert changed < sum(len(v) for v in before.values()) / 3
    assert [time for time, _ in buffer.between("key", 0, BUCKET_MS)] == [0, 5, BUCKET_MS]


def test_removing_an_unknown_time_changes_nothing() -> None:
    buffer = TimeBuffer(StateProvider(DictStore(), "join"), "left")
    buffer.remove("key", 1)
    buffer.add("key", 2, "x")
    buffer.remove("key", 1)
    assert list(buffer.between("key", 0, 10)) == [(2, "x")]


# --- window join and co_group --------------------------------------------------------------------


def windowed(grouped: Any, assigner: Any, **options: Any) -> KeyedHarness:
    return KeyedHarness.for_windows(
        assigner, lambda marked: marked[1][0], function=grouped, **options
    )


def feed(harness: KeyedHarness, *script: Any) -> list[Any]:
    """Records are (side, key, time); numbers are watermarks."""
    for step in script:
        if isinstance(step, int):
            harness.process_watermark(step)
        else:
            side, key, time = step
            harness.process_element((side, (key, time)), timestamp=time)
    return harness.take_output()


class Groups(CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Any:
        yield [time for _, time in first], [time for _, time in second]


class Pair(JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first[1], second[1]


class Both(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        if first[1] != 3:
            yield first[1]
            yield second[1]


TUMBLING = TumblingEventTimeWindows.of(10)


def test_co_group_is_called_for_keys_of_either_side_and_join_for_pairs_only() -> None:
    script = [(0, "a", 1), (1, "b", 2), 9]  # V6.4
    harness = windowed(CoGrouped(Groups()), TUMBLING)
    assert sorted(feed(harness, *script)) == [([], [2]), ([1], [])]
    assert_nothing_left(harness)
    harness = windowed(Joined(Pair()), TUMBLING)
    assert feed(harness, *script) == []
    assert_nothing_left(harness)


def test_pairs_of_a_window_come_first_side_outermost_in_order_of_arrival() -> None:
    harness = windowed(Joined(Pair()), TUMBLING)
    script = [(1, "a", 4), (0, "a", 3), (0, "a", 1), (1, "a", 2), 9]
    assert feed(harness, *script) == [(3, 4), (3, 2), (1, 4), (1, 2)]


def test_results_carry_the_end_of_the_window() -> None:
    harness = windowed(Joined(Pair()), TUMBLING)
    for side, time in ((0, 1), (1, 2), (0, 11), (1, 12)):
        harness.process_element((side, ("a", time)), time)
    harness.end_of_input()
    assert harness.timestamped_output == [((1, 2), 9), ((11, 12), 19)]


def test_a_flat_join_function_gives_any_number_of_results() -> None:
    harness = windowed(Joined(Both()), TUMBLING)
    assert feed(harness, (0, "a", 1), (0, "a", 3), (1, "a", 2), 9) == [1, 2]


@pytest.mark.parametrize(
    ("function", "expected"),
    [(lambda a, b: [a[1], b[1]], [[1, 2]]), (lambda a, b: None, [])],
)
def test_a_plain_join_function_gives_one_result_or_none(function: Any, expected: Any) -> None:
    harness = windowed(Joined(function), TUMBLING)
    assert feed(harness, (0, "a", 1), (1, "a", 2), 9) == expected


def test_sides_share_a_session_that_merges() -> None:
    harness = windowed(CoGrouped(Groups()), EventTimeSessionWindows.with_gap(5))
    assert feed(harness, (0, "a", 0), (1, "a", 8), (1, "a", 4), 12) == [([0], [8, 4])]
    assert_nothing_left(harness)


def test_a_late_record_within_the_lateness_joins_the_window_again() -> None:
    harness = windowed(Joined(Pair()), TUMBLING, allowed_lateness_ms=10)
    assert feed(harness, (0, "a", 1), (1, "a", 2), 9) == [(1, 2)]
    assert feed(harness, (1, "a", 3)) == [(1, 2), (1, 3)]
    assert feed(harness, 19, (1, "a", 4)) == []
    assert harness.metrics.late_records_dropped == 1
    assert_nothing_left(harness)


def test_triggers_count_records_of_both_sides() -> None:
    harness = windowed(
        CoGrouped(Groups()), GlobalWindows.create(), trigger=PurgingTrigger.of(CountTrigger.of(3))
    )
    script = [(0, "a", 1), (1, "a", 2), (0, "a", 3), (0, "a", 4)]
    assert feed(harness, *script) == [([1, 3], [2])]


def test_evictors_see_records_of_both_sides() -> None:
    harness = windowed(CoGrouped(Groups()), TUMBLING, evictor=CountEvictor.of(2))
    assert feed(harness, (0, "a", 1), (1, "a", 2), (0, "a", 3), 9) == [([3], [2])]


def test_the_function_of_a_window_join_is_opened_and_closed() -> None:
    calls = []

    class Rich(JoinFunction):
        def open(self, runtime_context: Any) -> None:
            self.task = runtime_context.get_task_name()

        def join(self, first: Any, second: Any) -> Any:
            return self.task

    harness = windowed(Joined(Rich()), TUMBLING)
    function: Any = harness.operator.function.function  # type: ignore[attr-defined]
    function.close = lambda: calls.append("closed")
    assert feed(harness, (0, "a", 1), (1, "a", 2), 9) == ["harness"]
    harness.close()
    assert calls == ["closed"]


def test_a_join_over_cumulate_windows_repeats_early_pairs() -> None:
    harness = windowed(Joined(Pair()), CumulateEventTimeWindows.of(30, 10))
    script = [(0, "a", 1), (1, "a", 12), (1, "a", 25), 29]
    assert feed(harness, *script) == [(1, 12), (1, 12), (1, 25)]
    assert_nothing_left(harness)


def test_records_arrive_in_lists_as_well() -> None:
    harness = interval(-2, 1)
    harness.operator.process(Records([0, 2, 3], [0, 2, 3]), 0)
    harness.operator.process(Records([0, 1], [0, 1]), 1)
    assert sorted(harness.output) == [(0, 0), (0, 1), (2, 0), (2, 1), (3, 1)]
