"""What a program may say about joins, and what it is told when it says something else.

The rules of joining are in tests/unit/runtime/test_join_operators.py.
"""

from __future__ import annotations

from collections.abc import Iterator  # noqa: TC003  (headrace reads the hints)
from typing import Any

import pytest

from golden.compare import assert_golden
from headrace.common import Duration, Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    CoGroupFunction,
    JoinFunction,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.window import (
    EventTimeSessionWindows,
    NeverTrigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import HeadraceError, InvalidArgumentError, RecordError
from headrace.testing import LocalRunner, collect_locally

EVENT = Types.TUPLE([Types.STRING(), Types.LONG()])
TUMBLING = TumblingEventTimeWindows.of(10)
LATE = OutputTag("late", EVENT)


def streams(
    first: Any = (), second: Any = (), *, strategy: Any = None, timed: bool = True
) -> tuple[Any, Any]:
    """Two streams of (key, time)."""
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = strategy or WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda record, _: record[1])
    found = [env.from_collection(list(records), EVENT) for records in (first, second)]
    if timed:
        found = [stream.assign_timestamps_and_watermarks(strategy) for stream in found]
    return found[0], found[1]


def key(record: Any) -> Any:
    return record[0]


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp()


A = [("a", 1), ("b", 2), ("a", 12)]
B = [("a", 3), ("a", 14), ("c", 15)]


# --- programs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", [key, 0, lambda r: r[0]])
def test_a_window_join_is_a_stream_with_the_time_of_its_windows(selector: Any) -> None:
    first, second = streams(A, B)
    joined = (
        first.join(second)
        .where(selector)
        .equal_to(0)
        .window(TUMBLING)
        .apply(lambda a, b: (a[1], b[1]))
    )
    assert sorted(collect_locally(joined.process(Stamped()))) == [((1, 3), 9), ((12, 14), 19)]


def test_co_group_gives_both_sides_of_every_key() -> None:
    class Groups(CoGroupFunction):
        def co_group(self, first: Any, second: Any) -> Any:
            yield [t for _, t in first], [t for _, t in second]

    first, second = streams(A, B)
    grouped = first.co_group(second).where(key).equal_to(key).window(TUMBLING).apply(Groups())
    found = collect_locally(grouped)
    assert sorted(found) == [([], [15]), ([1], [3]), ([2], []), ([12], [14])]


def test_keyed_and_repartitioned_streams_are_joined_by_the_keys_of_the_join() -> None:
    first, second = streams(A, B)
    joined = (
        first.key_by(lambda r: r[1])
        .join(second.rebalance())
        .where(key)
        .equal_to(key)
        .window(TUMBLING)
        .apply(lambda a, b: (a[1], b[1]))
    )
    assert sorted(collect_locally(joined)) == [(1, 3), (12, 14)]


def test_a_stream_joins_itself() -> None:
    first, _ = streams(A)
    joined = (
        first.join(first).where(key).equal_to(key).window(TUMBLING).apply(lambda a, b: a[1] * b[1])
    )
    assert sorted(collect_locally(joined)) == [1, 4, 144]
    keyed = first.key_by(key)
    near = keyed.interval_join(keyed).between(0, 0).process(lambda a, b, ctx: a[1] * b[1])
    assert sorted(collect_locally(near)) == [1, 4, 144]


def test_joined_streams_are_joined_again() -> None:
    first, second = streams(A, B)
    once = first.join(second).where(key).equal_to(key).window(TUMBLING).apply(lambda a, b: a)
    twice = (
        once.join(second).where(key).equal_to(key).window(TUMBLING).apply(lambda a, b: (a[1], b[1]))
    )
    assert sorted(collect_locally(twice)) == [(1, 3), (12, 14)]


def test_settings_of_the_window_are_those_of_the_window_operator() -> None:
    slow = WatermarkStrategy.for_monotonous_timestamps()
    first, second = streams(strategy=slow)
    joined = (
        first.join(second)
        .where(key)
        .equal_to(key)
        .window(TUMBLING)
        .allowed_lateness(Duration.of_millis(20))
        .apply(lambda a, b: (a[1], b[1]))
    )
    with LocalRunner(joined) as runner:
        assert runner.run_batch([("a", 1), ("x", 20)], [("a", 2), ("x", 20)]) == [(1, 2)]
        assert sorted(runner.run_batch([], [("a", 3)])) == [(1, 2), (1, 3)]
    never = first.join(second).where(key).equal_to(key).window(TUMBLING).trigger(NeverTrigger())
    with LocalRunner(never.evictor(None).apply(lambda a, b: (a, b))) as runner:
        assert runner.run_batch([("a", 1)], [("a", 2)]) + runner.end_of_input() == []


def test_a_processing_time_join_follows_the_clock() -> None:
    now = [1000]
    first, second = streams(timed=False)
    joined = (
        first.join(second)
        .where(key)
        .equal_to(key)
        .window(TumblingProcessingTimeWindows.of(10))
        .apply(lambda a, b: (a[1], b[1]))
    )
    with LocalRunner(joined, clock=lambda: now[0]) as runner:
        assert runner.run_batch([("a", 1)], [("a", 2)]) == []
        now[0] = 1010
        assert runner.tick() == [(1, 2)]


def test_exclusive_bounds_leave_out_their_edge() -> None:
    first, second = streams(
        [("a", t) for t in (0, 2, 3, 4, 5, 7)], [("a", t) for t in (0, 1, 6, 7)]
    )
    join = first.key_by(key).interval_join(second.key_by(key))

    def pairs(joined: Any) -> list[Any]:
        return sorted(collect_locally(joined.process(lambda a, b, ctx: (a[1], b[1]))))

    both = [(0, 0), (0, 1), (2, 0), (2, 1), (3, 1), (5, 6), (7, 6), (7, 7)]  # V6.2
    assert pairs(join.between(-2, 1)) == both
    assert pairs(join.between(-2, 1).lower_bound_exclusive()) == [
        pair for pair in both if pair not in ((2, 0), (3, 1))
    ]
    assert pairs(join.between(-2, 1).upper_bound_exclusive()) == [
        pair for pair in both if pair not in ((0, 1), (5, 6))
    ]
    assert pairs(join.between("-2 ms", Duration.of_millis(1))) == both
    assert pairs(join.in_event_time().between(0, 1).lower_bound_exclusive()) == [(0, 1), (5, 6)]


def test_late_records_of_an_interval_join_are_a_side_output() -> None:
    first, second = streams()
    joined = (
        first.key_by(key)
        .interval_join(second.key_by(key))
        .between(-5, 5)
        .side_output_left_late_data(LATE)
        .side_output_right_late_data(LATE)
        .process(lambda a, b, ctx: (a[1], b[1]))
    )
    with LocalRunner(joined, joined.get_side_output(LATE)) as runner:
        runner.run_batch([("a", 50)], [("a", 50)])
        pairs, late = runner.run_batch([("a", 48), ("a", 49)], [("a", 51), ("a", 7)])
        assert sorted(pairs) == [(49, 50), (49, 51), (50, 51)]  # the watermark is 49
        assert sorted(late) == [("a", 7), ("a", 48)]


def test_types_of_results_come_from_hints() -> None:
    class Number(JoinFunction):
        def join(self, first: Any, second: Any) -> int:
            return 1

    class Texts(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[str]:
            yield "x"

    first, second = streams()
    joined = first.join(second).where(key).equal_to(key).window(TUMBLING)
    assert joined.apply(Number()).get_type() == Types.LONG()
    near = first.key_by(key).interval_join(second.key_by(key)).between(0, 1)
    assert near.process(Texts()).get_type() == Types.STRING()
    assert near.process(lambda a, b, ctx: 1, output_type=Types.INT()).get_type() == Types.INT()


def test_steps_are_named_after_the_join() -> None:
    first, second = streams()
    joined = first.join(second).where(key).equal_to(key).window(TUMBLING).apply(lambda a, b: a)
    assert joined.get_name() == "Join(TumblingEventTimeWindows)"
    near = first.key_by(key).interval_join(second.key_by(key)).between(0, 1).process(Stamped())
    assert near.get_name() == "Interval Join"


# --- what cannot work ----------------------------------------------------------------------------


def join_without_where() -> None:
    first, second = streams()
    first.join(second).equal_to(key)


def join_without_equal_to() -> None:
    first, second = streams()
    first.join(second).where(key).window(TUMBLING)


def join_without_window() -> None:
    first, second = streams()
    first.join(second).where(key).equal_to(key).apply(lambda a, b: a)


def join_with_two_windows() -> None:
    first, second = streams()
    first.join(second).where(key).equal_to(key).window(TUMBLING).window(TUMBLING)


def join_of_different_keys() -> None:
    first, second = streams()
    first.join(second).where(0).equal_to(1)


def join_of_another_environment() -> None:
    streams()[0].join(streams()[0])


def join_of_no_stream() -> None:
    streams()[0].join([1, 2])


def co_group_without_function() -> None:
    first, second = streams()
    first.co_group(second).where(key).equal_to(key).window(TUMBLING).apply("groups")


def interval_join_without_keys() -> None:
    first, second = streams()
    first.interval_join(second.key_by(key))


def interval_join_with_an_unkeyed_stream() -> None:
    first, second = streams()
    first.key_by(key).interval_join(second)


def interval_join_of_different_keys() -> None:
    first, second = streams()
    first.key_by(key, Types.STRING()).interval_join(second.key_by(key, Types.LONG()))


def interval_join_with_bounds_in_the_wrong_order() -> None:
    first, second = streams()
    first.key_by(key).interval_join(second.key_by(key)).between("5 s", "-5 s")


def interval_join_without_bounds() -> None:
    first, second = streams()
    first.key_by(key).interval_join(second.key_by(key)).process(lambda a, b, ctx: a)


def interval_join_in_processing_time() -> None:
    first, second = streams()
    first.key_by(key).interval_join(second.key_by(key)).in_processing_time().between(0, 1)


def interval_join_without_function() -> None:
    first, second = streams()
    first.key_by(key).interval_join(second.key_by(key)).between(0, 1).process(5)


def interval_join_without_timestamps() -> None:
    first, second = streams(A, B, timed=False)
    near = first.key_by(key).interval_join(second.key_by(key)).between(0, 1)
    collect_locally(near.process(lambda a, b, ctx: a))


@pytest.mark.parametrize(
    "make",
    [
        join_without_where,
        join_without_equal_to,
        join_without_window,
        join_with_two_windows,
        join_of_different_keys,
        join_of_another_environment,
        join_of_no_stream,
        co_group_without_function,
        interval_join_without_keys,
        interval_join_with_an_unkeyed_stream,
        interval_join_of_different_keys,
        interval_join_with_bounds_in_the_wrong_order,
        interval_join_without_bounds,
        interval_join_in_processing_time,
        interval_join_without_function,
        interval_join_without_timestamps,
    ],
)
def test_the_error_names_the_line_and_the_way_out(make: Any) -> None:
    with pytest.raises(HeadraceError) as caught:
        make()
    assert "test_join_programs.py" in str(caught.value.where)
    assert_golden(f"errors/{make.__name__}.txt", str(caught.value))


def test_a_window_join_without_timestamps_is_an_error() -> None:
    first, second = streams(A, B, timed=False)
    joined = first.join(second).where(key).equal_to(key).window(TUMBLING).apply(lambda a, b: a)
    with pytest.raises(RecordError, match="without a timestamp"):
        collect_locally(joined)


def test_a_trigger_that_cannot_merge_is_refused_for_session_joins() -> None:
    first, second = streams()
    sessions = EventTimeSessionWindows.with_gap(5)
    with pytest.raises(InvalidArgumentError, match="cannot merge"):
        first.join(second).where(key).equal_to(key).window(sessions).trigger(NeverTrigger())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Types.INT(), Types.LONG()),
        (Types.FLOAT(), Types.DOUBLE()),
        (Types.TUPLE([Types.INT(), Types.STRING()]), Types.TUPLE([Types.LONG(), Types.STRING()])),
        (Types.PICKLED_BYTE_ARRAY(), Types.LONG()),
        (None, Types.LONG()),
        (int, Types.INT()),
    ],
)
def test_keys_that_can_be_equal_in_python_are_accepted(one: Any, other: Any) -> None:
    first, second = streams()
    first.join(second).where(lambda r: hash(r), one).equal_to(lambda r: hash(r), other)


def test_hints_of_key_selectors_are_compared() -> None:
    def text(record: Any) -> str:
        return str(record[0])

    def number(record: Any) -> int:
        return int(record[1])

    first, second = streams()
    with pytest.raises(InvalidArgumentError, match="can never be equal"):
        first.join(second).where(text).equal_to(number)
