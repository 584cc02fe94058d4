"""Whole programs without Spark: the loop, chains, exchanges, watermarks, errors and restarts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headrace.common.accumulators import IntCounter
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkGenerator, WatermarkStrategy
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import (
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import (
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import TypeMismatchError, UserFunctionError
from headrace.testing import LocalRunner

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
COUNT = ValueStateDescriptor("count", Types.LONG())


def _env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def _source(env: Any, type_info: Any = None) -> Any:
    return env.from_collection([], type_info)


def _key(record: Any) -> Any:
    return record[0]


def _timed(stream: Any, delay_ms: int = 0) -> Any:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(delay_ms)
    return stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record, _: record[1])
    )


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield key, window.start, window.end, [record[1] for record in elements]


# --- records ---------------------------------------------------------------------------------


def test_a_chain_at_the_source_keeps_the_order() -> None:
    with LocalRunner(_source(_env()).map(lambda x: x * 2).filter(lambda x: x != 4)) as job:
        assert job.run_batch([1, 2, 3]) == [2, 6]
        assert job.run_batch([]) == []
        assert job.run_batch([4]) == [8]
        assert job.end_of_input() == []


def test_state_is_kept_between_batches_and_restarts() -> None:
    stream = _source(_env(), PAIR).key_by(_key).sum(1)
    with LocalRunner(stream, parallelism=3) as job:
        assert job.run_batch([("a", 1), ("b", 10)]) is not None
        job.restart()
        assert Counter(job.run_batch([("a", 2), ("b", 5), ("a", 3)])) == Counter(
            [("a", 3), ("b", 15), ("a", 6)]
        )


def test_several_streams_can_be_watched() -> None:
    odd = OutputTag("odd", Types.LONG())

    class Split(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield (odd, value) if value % 2 else value

    main = _source(_env()).process(Split())
    with LocalRunner(main, main.get_side_output(odd), main.map(lambda x: -x)) as job:
        assert job.run_batch([1, 2, 3, 4]) == [[2, 4], [1, 3], [-2, -4]]


def test_unread_side_outputs_are_dropped() -> None:
    class Split(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield OutputTag("nobody"), value
            yield value

    with LocalRunner(_source(_env()).process(Split())) as job:
        assert job.run_batch([1]) == [1]


def test_side_outputs_cross_an_exchange_with_their_own_type() -> None:
    tag = OutputTag("pairs", PAIR)

    class Side(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield tag, (str(value % 2), value)

    stream = _source(_env()).process(Side(), output_type=Types.STRING())
    with LocalRunner(stream.get_side_output(tag).key_by(_key).sum(1), parallelism=2) as job:
        assert Counter(job.run_batch([1, 2, 3])) == Counter([("1", 1), ("0", 2), ("1", 4)])


def test_a_union_of_streams_at_different_depths_loses_nothing() -> None:
    source = _source(_env(), PAIR)
    deep = source.key_by(_key).sum(1).key_by(_key).max(1)
    joined = deep.union(source).map(lambda r: r)
    with LocalRunner(joined, parallelism=3, source_tasks=2) as job:
        assert Counter(job.run_batch([("a", 1), ("b", 2), ("a", 3)])) == Counter(
            {("a", 1): 2, ("b", 2): 2, ("a", 4): 1, ("a", 3): 1}
        )


def test_two_sources_are_fed_in_order() -> None:
    env = _env()
    one, two = _source(env), _source(env)

    class Both(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return "one", value

        def map2(self, value: Any) -> Any:
            return "two", value

    with LocalRunner(one.connect(two).map(Both())) as job:
        assert sorted(job.run_batch([1, 2], [3])) == [("one", 1), ("one", 2), ("two", 3)]


def test_two_keyed_streams_meet_by_key() -> None:
    class Join(KeyedCoProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))

        def process_element1(self, value: Any, ctx: Any) -> Any:
            self.left.update(value[1])

        def process_element2(self, value: Any, ctx: Any) -> Any:
            yield ctx.get_current_key(), self.left.value(), value[1]

    env = _env()
    one, two = _source(env, PAIR), _source(env, PAIR)
    with LocalRunner(one.connect(two).key_by(_key, _key).process(Join()), parallelism=3) as job:
        job.run_batch([("a", 1), ("b", 2), ("c", 3)], [])
        assert sorted(job.run_batch([], [("a", 10), ("b", 20), ("d", 30)])) == [
            ("a", 1, 10), ("b", 2, 20), ("d", None, 30)
        ]  # fmt: skip


def test_broadcast_state_reaches_every_subtask() -> None:
    rules = MapStateDescriptor("rules", Types.STRING(), Types.LONG())

    class Apply(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value * (ctx.get_broadcast_state(rules).get("factor") or 0)

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(rules).put("factor", value)

    env = _env()
    numbers = _source(env).rebalance().map(lambda x: x)
    stream = numbers.connect(_source(env).broadcast(rules)).process(Apply())
    with LocalRunner(stream, parallelism=3) as job:
        job.run_batch([], [10])
        job.restart()
        assert sorted(job.run_batch([1, 2, 3, 4, 5], [])) == [10, 20, 30, 40, 50]


# --- event time ------------------------------------------------------------------------------


def test_windows_close_as_the_watermark_passes_batch_by_batch() -> None:
    stream = _timed(_source(_env(), PAIR)).key_by(_key)
    windows = stream.window(TumblingEventTimeWindows.of(10)).process(Contents())
    with LocalRunner(windows, parallelism=2) as job:
        assert job.run_batch([("a", 1), ("a", 5)]) == []
        assert job.run_batch([("b", 10)]) == [("a", 0, 10, [1, 5])]
        assert job.run_batch([("a", 7)]) == []  # late
        assert job.end_of_input() == [("b", 10, 20, [10])]
        late = [o.late_records_dropped for o in job.metrics.operators.values()]
        assert sum(late) == 1


def test_within_a_batch_nothing_is_late() -> None:
    stream = _timed(_source(_env(), PAIR)).key_by(_key)
    windows = stream.window(TumblingEventTimeWindows.of(10)).process(Contents())
    with LocalRunner(windows, parallelism=2, source_tasks=3) as job:
        assert job.run_batch([("a", 50), ("a", 1), ("a", 2)]) == [("a", 0, 10, [1, 2])]


def test_the_watermark_survives_a_restart() -> None:
    stream = _timed(_source(_env(), PAIR)).key_by(_key)
    windows = stream.window(TumblingEventTimeWindows.of(10)).process(Contents())
    with LocalRunner(windows, parallelism=2) as job:
        job.run_batch([("a", 50)])
        job.restart()
        assert job.run_batch([("a", 1)]) == []
        assert job.end_of_input() == [("a", 50, 60, [50])]


def test_the_slower_of_two_sources_holds_the_windows() -> None:
    env = _env()
    one, two = _timed(_source(env, PAIR)), _timed(_source(env, PAIR))
    stream = one.union(two).key_by(_key).window(TumblingEventTimeWindows.of(10))
    with LocalRunner(stream.process(Contents()), parallelism=2) as job:
        assert job.run_batch([("a", 5), ("a", 30)], []) == []
        assert job.run_batch([], [("a", 7)]) == []
        assert job.run_batch([], [("a", 12)]) == [("a", 0, 10, [5, 7])]
        assert job.end_of_input() == [("a", 10, 20, [12]), ("a", 30, 40, [30])]


def test_windows_compose_over_two_stages() -> None:
    stream = _timed(_source(_env(), PAIR)).key_by(_key)
    small = stream.window(TumblingEventTimeWindows.of(5)).reduce(lambda a, b: (a[0], a[1] + b[1]))
    large = small.key_by(lambda r: 0).window(TumblingEventTimeWindows.of(10)).process(Contents())
    with LocalRunner(large, parallelism=2) as job:
        assert job.run_batch([("a", 1), ("b", 2), ("a", 6), ("a", 9)]) == []
        ((_, start, end, sums),) = job.run_batch([("a", 21)])
        assert (start, end, sorted(sums)) == (0, 10, [1, 2, 15])
        assert job.end_of_input() == [(0, 20, 30, [21])]


class Echo(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        yield "record", value[1], ctx.timestamp(), ctx.timer_service().current_watermark()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", timestamp, ctx.get_current_key()


def test_timers_see_watermarks_between_batches() -> None:
    with LocalRunner(_timed(_source(_env(), PAIR)).key_by(_key).process(Echo())) as job:
        assert job.run_batch([("a", 5)]) == [("record", 5, 5, MIN_TIMESTAMP)]
        assert job.run_batch([("a", 16)]) == [("record", 16, 16, 4), ("timer", 15, "a")]
        job.restart()
        assert job.run_batch([("a", 17)]) == [("record", 17, 17, 15)]
        assert job.end_of_input() == [("timer", 26, "a"), ("timer", 27, "a")]


def test_a_watermark_generator_of_the_users_own_keeps_its_memory() -> None:
    class Punctuated(WatermarkGenerator):
        def __init__(self) -> None:
            self.events = 0

        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
            self.events += 1
            if self.events % 3 == 0:
                output.emit_watermark(event_timestamp)

        def on_periodic_emit(self, output: Any) -> None: ...

    strategy = WatermarkStrategy.for_generator(Punctuated).with_timestamp_assigner(lambda r: r[1])
    stream = _source(_env(), PAIR).assign_timestamps_and_watermarks(strategy)
    with LocalRunner(stream.key_by(_key).process(Echo()), parallelism=1) as job:
        first = job.run_batch([("a", 1), ("a", 2)])
        assert [row[3] for row in first] == [MIN_TIMESTAMP] * 2
        job.restart()
        job.run_batch([("a", 3)])  # the third: watermark 3
        assert job.run_batch([("a", 9)]) == [("record", 9, 9, 3)]


def test_timestamps_of_one_branch_are_not_seen_by_another() -> None:
    class Stamp(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield ctx.timestamp()

    source = _source(_env(), PAIR)
    timed = _timed(source).process(Stamp())
    with LocalRunner(timed, source.process(Stamp())) as job:
        assert job.run_batch([("a", 5)]) == [[5], [None]]


def test_nothing_is_left_in_the_store_at_the_end() -> None:
    stream = _timed(_source(_env(), PAIR)).key_by(_key)
    windows = stream.window(EventTimeSessionWindows.with_gap(5)).process(Contents())
    with LocalRunner(windows, parallelism=2) as job:
        job.run_batch([(f"k{n}", n * 7) for n in range(200)])
        job.run_batch([(f"k{n}", n * 7 + 3) for n in range(200)])
        job.end_of_input()
        left = [name for store in job.stores.values() for name in store.content]
        assert all(n.endswith((b"/buckets", b"\0d")) or n.startswith(b"task/") for n in left)


# --- processing time -------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def test_processing_time_windows_close_at_a_tick() -> None:
    clock = Clock()
    stream = _source(_env(), PAIR).key_by(_key)
    windows = stream.window(TumblingProcessingTimeWindows.of(10)).process(Contents())
    with LocalRunner(windows, parallelism=2, clock=clock) as job:
        assert job.run_batch([("a", 1), ("b", 2)]) == []
        clock.now = 5
        assert job.run_batch([("a", 3)]) == []
        job.restart()
        clock.now = 9
        assert sorted(job.tick()) == [("a", 0, 10, [1, 3]), ("b", 0, 10, [2])]
        assert job.tick() == []


def test_overdue_timers_fire_before_the_records_of_a_batch() -> None:
    clock = Clock()

    class Sleepy(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_processing_time_timer(10)
            yield "record"

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield "timer"

    with LocalRunner(_source(_env(), PAIR).key_by(_key).process(Sleepy()), clock=clock) as job:
        assert job.run_batch([("a", 1)]) == ["record"]
        clock.now = 20
        assert job.run_batch([("a", 1)]) == ["timer", "record", "timer"]


# --- metrics and errors ----------------------------------------------------------------------


def test_metrics_and_accumulators_are_added_up_over_subtasks_and_batches() -> None:
    class Counting(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.seen = IntCounter()
            runtime_context.add_accumulator("seen", self.seen)
            self.count = runtime_context.get_state(COUNT)

        def map(self, value: Any) -> Any:
            self.seen.add(1)
            return value

    stream = _source(_env(), PAIR).key_by(_key).map(Counting()).uid("count")
    with LocalRunner(stream, parallelism=3) as job:
        job.run_batch([(f"k{n}", n) for n in range(10)])
        job.restart()
        job.run_batch([(f"k{n}", n) for n in range(5)])
        assert job.metrics.accumulator_values() == {"seen": 15}
        totals = job.metrics.operators["count"]
        assert (totals.records_in, totals.records_out) == (15, 15)


def test_an_error_reaches_the_driver_with_the_users_line_and_record() -> None:
    stream = _source(_env()).map(lambda x: 10 // x).name("divide")
    with LocalRunner(stream) as job, pytest.raises(UserFunctionError) as caught:
        job.run_batch([5, 0, 1])
    assert caught.value.step == "divide"
    assert caught.value.record == "0"
    assert "test_local_runner.py" in str(caught.value.where)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_behind_an_exchange_reaches_the_driver_too() -> None:
    stream = _source(_env(), PAIR).key_by(_key).map(lambda r: 10 // r[1])
    with LocalRunner(stream, parallelism=3) as job, pytest.raises(UserFunctionError) as caught:
        job.run_batch([("a", 5), ("b", 0)])
    assert caught.value.record == "('b', 0)"


def test_a_failed_batch_changes_nothing_and_can_be_run_again() -> None:
    class Poison(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(COUNT)

        def map(self, value: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            if value[1] < 0:
                raise ValueError
            return value[0], self.count.value()

    with LocalRunner(_source(_env(), PAIR).key_by(_key).map(Poison()), parallelism=2) as job:
        assert job.run_batch([("a", 1)]) == [("a", 1)]
        with pytest.raises(UserFunctionError):
            job.run_batch([("a", 2), ("a", -1)])
        assert job.run_batch([("a", 2)]) == [("a", 2)]


def test_a_batch_that_fails_in_its_last_stage_is_undone_in_the_first() -> None:
    def check(record: Any) -> Any:
        if record[1] == 3 and not HEALED:
            raise ValueError
        return record

    HEALED.clear()
    stream = _source(_env(), PAIR).key_by(_key).sum(1).key_by(_key).map(check)
    with LocalRunner(stream, parallelism=2) as job:
        assert job.run_batch([("a", 1)]) == [("a", 1)]
        with pytest.raises(UserFunctionError):
            job.run_batch([("a", 2)])
        HEALED.append(True)
        assert job.run_batch([("a", 2)]) == [("a", 3)]


HEALED: list[bool] = []


@pytest.mark.parametrize("parallelism", [1, 2])
def test_an_error_of_a_key_selector_is_the_users_not_ours(parallelism: int) -> None:
    stream = _source(_env()).key_by(lambda r: r["user"]).map(lambda r: r)
    with LocalRunner(stream, parallelism=parallelism) as job:
        with pytest.raises(UserFunctionError, match="key selector raised KeyError") as caught:
            job.run_batch([{"user": 1}, {"name": 2}])
        assert caught.value.record == "{'name': 2}"


def test_a_record_of_another_type_than_declared_is_refused_at_the_exchange() -> None:
    stream = _source(_env()).map(lambda x: str(x), output_type=Types.LONG()).name("text")
    with (
        LocalRunner(stream.rebalance().map(lambda x: x)) as job,
        pytest.raises(TypeMismatchError, match="step 'text' emitted '1' of type str"),
    ):
        job.run_batch([1])


def test_an_empty_end_of_input_only_moves_the_clock() -> None:
    class Clocked(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(MAX_TIMESTAMP)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.timer_service().current_watermark()

    with LocalRunner(_source(_env(), PAIR).key_by(_key).process(Clocked())) as job:
        job.run_batch([("a", 1)])
        assert job.end_of_input() == [MAX_TIMESTAMP]


class Closing(MapFunction):
    """Fails for 0; notes that it was closed."""

    closed: list[str] = []  # noqa: RUF012

    def map(self, value: int) -> float:
        return 1 / value

    def close(self) -> None:
        Closing.closed.append("closed")


def test_functions_of_a_failed_batch_are_closed_as_on_spark() -> None:
    Closing.closed.clear()
    env = StreamExecutionEnvironment.get_execution_environment()
    with LocalRunner(env.from_collection([]).map(Closing()), parallelism=1) as job:
        assert job.run_batch([1]) == [1]
        with pytest.raises(UserFunctionError):
            job.run_batch([0])
        assert Closing.closed == ["closed"]
