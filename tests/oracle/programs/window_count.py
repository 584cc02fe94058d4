"""Count windows, and triggers that replace the default one."""

from __future__ import annotations

from oracle.catalogue import program


def by_key(record):
    return record[0]


def _values(api):
    class Values(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            yield (key, [element[1] for element in elements])

    return Values()


@program(inputs="pairs", order_by=by_key)
def count_tumbling_reduce(api, env, source):
    keyed = source.stream().key_by(lambda p: p[0])
    return keyed.count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1]))


@program(inputs="pairs", order_by=by_key)
def count_tumbling_process(api, env, source):
    return source.stream().key_by(lambda p: p[0]).count_window(3).process(_values(api))


@program(inputs="pairs", order_by=by_key)
def count_tumbling_apply_with_id(api, env, source):
    """PyFlink's CountWindow carries its number."""

    class Number(api.WindowFunction):
        def apply(self, key, window, inputs):
            yield (key, window.id, [pair[1] for pair in inputs])

    return source.stream().key_by(lambda p: p[0]).count_window(2).apply(Number())


@program(inputs="pairs", order_by=by_key)
def count_sliding(api, env, source):
    """PyFlink fires only full windows (P2)."""
    return source.stream().key_by(lambda p: p[0]).count_window(3, 1).process(_values(api))


@program(inputs="pairs", order_by=by_key)
def count_sliding_by_two(api, env, source):
    keyed = source.stream().map(lambda p: ("k", p[1])).set_parallelism(1).key_by(lambda p: p[0])
    return keyed.count_window(4, 2).process(_values(api))


@program(inputs="pairs", order_by=by_key)
def count_sliding_with_gaps(api, env, source):
    keyed = source.stream().map(lambda p: ("k", p[1])).set_parallelism(1).key_by(lambda p: p[0])
    return keyed.count_window(2, 3).process(_values(api))


@program(inputs="pairs", order_by=by_key)
def count_window_aggregate(api, env, source):
    class Largest(api.AggregateFunction):
        def create_accumulator(self):
            return ("", -100)

        def add(self, value, accumulator):
            return (value[0], max(value[1], accumulator[1]))

        def get_result(self, accumulator):
            return accumulator

        def merge(self, acc_a, acc_b):
            return max(acc_a, acc_b)

    return source.stream().key_by(lambda p: p[0]).count_window(2).aggregate(Largest())


def _tumbling(api, source, size=30):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(size))
    return source.event_time(source.stream()).key_by(lambda event: event[0]).window(windows)


@program(inputs="events", order_by=by_key)
def trigger_count_on_time_window(api, env, source):
    """A count trigger replaces the default: nothing is emitted at the window's end (V3.3)."""
    return _tumbling(api, source).trigger(api.CountTrigger.of(2)).process(_values(api))


@program(inputs="events", order_by=by_key)
def trigger_purging_count(api, env, source):
    trigger = api.PurgingTrigger.of(api.CountTrigger.of(2))
    return _tumbling(api, source).trigger(trigger).process(_values(api))


@program(inputs="events", order_by=by_key)
def trigger_purging_event_time(api, env, source):
    trigger = api.PurgingTrigger.of(api.EventTimeTrigger.create())
    return _tumbling(api, source).trigger(trigger).process(_values(api))


@program(inputs="events", order_by=by_key, mode="thread")
def trigger_continuous_event_time(api, env, source):
    """At the end of the input the watermark jumps over all boundaries: one firing each (V3.4)."""
    trigger = api.ContinuousEventTimeTrigger.of(api.Time.milliseconds(7))
    return _tumbling(api, source).trigger(trigger).process(_values(api))


@program(inputs="events", order_by=by_key)
def trigger_count_on_global_window(api, env, source):
    keyed = source.stream().key_by(lambda event: event[0])
    return (
        keyed.window(api.GlobalWindows.create())
        .trigger(api.CountTrigger.of(2))
        .process(_values(api))
    )


@program(inputs="events", order_by=by_key)
def trigger_purging_count_on_global_window(api, env, source):
    trigger = api.PurgingTrigger.of(api.CountTrigger.of(3))
    keyed = source.stream().key_by(lambda event: event[0])
    return (
        keyed.window(api.GlobalWindows.create())
        .trigger(trigger)
        .reduce(lambda a, b: (a[0], a[1] + b[1], 0))
    )


@program(inputs="events", order_by=by_key)
def trigger_count_on_sessions(api, env, source):
    """Counts are added when sessions merge (V3.5)."""
    windows = api.EventTimeSessionWindows.with_gap(api.Time.milliseconds(10))
    keyed = source.event_time(source.stream()).key_by(lambda event: event[0])

    class Sorted(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            window = context.window()
            yield (key, window.start, window.end, sorted(element[1] for element in elements))

    return keyed.window(windows).trigger(api.CountTrigger.of(3)).process(Sorted())


@program(inputs="events", order_by=by_key)
def trigger_custom(api, env, source):
    """Fires on negative values, and purges at the end."""
    TriggerResult = api.TriggerResult

    class OnNegative(api.Trigger):
        def on_element(self, element, timestamp, window, ctx):
            ctx.register_event_time_timer(window.max_timestamp())
            return TriggerResult.FIRE if element[1] < 0 else TriggerResult.CONTINUE

        def on_processing_time(self, time, window, ctx):
            return TriggerResult.CONTINUE

        def on_event_time(self, time, window, ctx):
            return TriggerResult.FIRE_AND_PURGE

        def on_merge(self, window, ctx):
            pass

        def clear(self, window, ctx):
            ctx.delete_event_time_timer(window.max_timestamp())

    return _tumbling(api, source).trigger(OnNegative()).process(_values(api))


@program(inputs="events", order_by=by_key)
def trigger_custom_with_state(api, env, source):
    """Fires when the window's sum passes ten; the sum lives in the trigger's state."""
    TriggerResult = api.TriggerResult
    ReducingStateDescriptor, types = api.ReducingStateDescriptor, api.Types

    class OnSum(api.Trigger):
        def __init__(self):
            self.descriptor = ReducingStateDescriptor("sum", lambda a, b: a + b, types.INT())

        def on_element(self, element, timestamp, window, ctx):
            total = ctx.get_partitioned_state(self.descriptor)
            total.add(abs(element[1]))
            if total.get() > 10:
                total.clear()
                return TriggerResult.FIRE_AND_PURGE
            return TriggerResult.CONTINUE

        def on_processing_time(self, time, window, ctx):
            return TriggerResult.CONTINUE

        def on_event_time(self, time, window, ctx):
            return TriggerResult.CONTINUE

        def on_merge(self, window, ctx):
            ctx.merge_partitioned_state(self.descriptor)

        def clear(self, window, ctx):
            ctx.get_partitioned_state(self.descriptor).clear()

    return _tumbling(api, source).trigger(OnSum()).process(_values(api))
