"""BATCH mode: one result a key, timers and windows at the end of a key's input."""

from __future__ import annotations

from oracle.catalogue import program


def _keyed(api, source):
    return source.event_time(source.stream()).key_by(lambda event: event[0])


def _windows(api):
    class Contents(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            window = context.window()
            values = [element[1] for element in elements]
            yield key, window.start, window.end, values, context.current_watermark()

        def clear(self, context):
            pass

    return Contents()


@program(inputs="pairs", batch=True)
def batch_reduce(api, env, source):
    # commutative: without timestamps Flink's sorting keeps no order
    return source.stream().key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] ^ b[1]))


@program(inputs="pairs", batch=True)
def batch_reduce_typed(api, env, source):
    pairs = api.Types.TUPLE([api.Types.STRING(), api.Types.INT()])
    return (
        source.stream(pairs).key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


@program(inputs="events", batch=True)
def batch_reduce_in_time_order(api, env, source):
    # not commutative: what comes first is decided by the timestamps
    def later(a, b):
        return (a[0], a[1] * 7 + b[1], max(a[2], b[2]))

    # of equal timestamps either may come first
    seen = {}
    for event in source.data:
        seen.setdefault((event[0], event[2]), event)
    source.data = list(seen.values())
    return _keyed(api, source).reduce(later)


@program(inputs="pairs", batch=True)
def batch_sum(api, env, source):
    return source.stream().key_by(lambda pair: pair[0]).sum(1)


@program(inputs="pairs", batch=True)
def batch_min(api, env, source):
    return source.stream().key_by(lambda pair: pair[0]).min(1)


@program(inputs="pairs", batch=True)
def batch_max_by(api, env, source):
    return source.stream().key_by(lambda pair: pair[0]).max_by(1)


@program(inputs="pairs", batch=True)
def batch_two_stages(api, env, source):
    totals = source.stream().key_by(lambda pair: pair[0]).sum(1)
    return totals.map(lambda pair: ("all", pair[1])).key_by(lambda pair: pair[0]).sum(1)


@program(inputs="events", batch=True)
def batch_process_sees_timestamps_in_order(api, env, source):
    ValueStateDescriptor, Types = api.ValueStateDescriptor, api.Types

    class Ordered(api.KeyedProcessFunction):
        def open(self, context):
            self.count = context.get_state(ValueStateDescriptor("count", Types.INT()))

        def process_element(self, value, ctx):
            number = (self.count.value() or 0) + 1
            self.count.update(number)
            yield value[0], number, value[2], ctx.timer_service().current_watermark()

    return _keyed(api, source).process(Ordered())


@program(inputs="events", batch=True)
def batch_event_timers(api, env, source):
    ValueStateDescriptor, Types = api.ValueStateDescriptor, api.Types

    class Timers(api.KeyedProcessFunction):
        def open(self, context):
            self.count = context.get_state(ValueStateDescriptor("count", Types.INT()))

        def process_element(self, value, ctx):
            self.count.update((self.count.value() or 0) + 1)
            ctx.timer_service().register_event_time_timer(value[2] + 10)
            if value[1] < 0:
                ctx.timer_service().delete_event_time_timer(value[2] + 10)

        def on_timer(self, timestamp, ctx):
            yield ctx.get_current_key(), timestamp, self.count.value()

    return _keyed(api, source).process(Timers())


@program(inputs="events", batch=True)
def batch_processing_timers(api, env, source):
    class Timers(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            # an hour from now: it fires all the same, at the end of the key
            now = ctx.timer_service().current_processing_time()
            ctx.timer_service().register_processing_time_timer(now - now % 3600000 + 3600000)
            yield ctx.get_current_key(), "element"

        def on_timer(self, timestamp, ctx):
            yield ctx.get_current_key(), "timer"

    return _keyed(api, source).process(Timers())


# PyFlink's process mode loses the first record of a key here: a timer of the last key, called in
# between, drops the state of the new one.
@program(inputs="events", batch=True, mode="thread")
def batch_tumbling(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(20))
    return _keyed(api, source).window(windows).process(_windows(api))


@program(inputs="events", batch=True)
def batch_sliding_reduce(api, env, source):
    size, slide = api.Time.milliseconds(30), api.Time.milliseconds(10)
    windows = _keyed(api, source).window(api.SlidingEventTimeWindows.of(size, slide))
    return windows.reduce(lambda a, b: (a[0], a[1] + b[1], 0))


@program(inputs="events", batch=True, mode="thread")
def batch_sessions(api, env, source):
    windows = api.EventTimeSessionWindows.with_gap(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).process(_windows(api))


@program(inputs="pairs", batch=True)
def batch_processing_time_windows(api, env, source):
    windows = api.TumblingProcessingTimeWindows.of(api.Time.days(1000))
    keyed = source.stream().key_by(lambda pair: pair[0])
    return keyed.window(windows).reduce(lambda a, b: (a[0], a[1] + b[1]))


@program(inputs="pairs", batch=True)
def batch_count_windows(api, env, source):
    ones = source.stream().map(lambda pair: (pair[0], 1))
    return (
        ones.key_by(lambda pair: pair[0]).count_window(3).reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


@program(inputs={"first": "events", "second": "events"}, batch=True)
def batch_connected(api, env, source):
    ListStateDescriptor, Types = api.ListStateDescriptor, api.Types

    class Both(api.KeyedCoProcessFunction):
        def open(self, context):
            self.seen = context.get_list_state(
                ListStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY())
            )

        def process_element1(self, value, ctx):
            self.seen.add(("first", value[2]))
            ctx.timer_service().register_event_time_timer(1000)

        def process_element2(self, value, ctx):
            self.seen.add(("second", value[2]))
            ctx.timer_service().register_event_time_timer(1000)

        def on_timer(self, timestamp, ctx):
            # of equal timestamps either may come first
            yield ctx.get_current_key(), sorted(self.seen.get())

    first = source.event_time(source.stream(part="first")).key_by(lambda pair: pair[0])
    second = source.event_time(source.stream(part="second")).key_by(lambda pair: pair[0])
    return first.connect(second).process(Both())


@program(inputs={"records": "pairs", "rules": "pairs"}, batch=True)
def batch_broadcast_comes_first(api, env, source):
    rules = api.MapStateDescriptor("rules", api.Types.STRING(), api.Types.INT())

    class Rules(api.KeyedBroadcastProcessFunction):
        def process_element(self, value, ctx):
            yield value[0], value[1], ctx.get_broadcast_state(rules).get(value[0])

        def process_broadcast_element(self, value, ctx):
            state = ctx.get_broadcast_state(rules)
            state.put(value[0], (state.get(value[0]) or 0) + value[1])

    broadcast = source.stream(part="rules").broadcast(rules)
    return (
        source.stream(part="records")
        .key_by(lambda pair: pair[0])
        .connect(broadcast)
        .process(Rules())
    )
