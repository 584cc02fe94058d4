"""Event-time windows where nothing is late: the only watermark is the one at the end of the input.

With that, the results do not depend on the wall clock: every window fires once, with all of its
records.
"""

from __future__ import annotations

from oracle.catalogue import program


def by_key(record):
    return record[0]


def _keyed(api, source):
    return source.event_time(source.stream()).key_by(lambda event: event[0])


def _contents(api):
    """(key, start, end, values in order of arrival)"""

    class Contents(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            window = context.window()
            yield (key, window.start, window.end, [element[1] for element in elements])

        def clear(self, context):
            pass

    return Contents()


@program(inputs="events", order_by=by_key)
def tumbling_process(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).process(_contents(api))


@program(inputs="events", order_by=by_key)
def tumbling_reduce(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(20))
    return (
        _keyed(api, source)
        .window(windows)
        .reduce(lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2])))
    )


@program(inputs="events", order_by=by_key)
def tumbling_reduce_typed(api, env, source):
    types = api.Types
    event = types.TUPLE([types.STRING(), types.INT(), types.LONG()])
    keyed = source.event_time(source.stream(event)).key_by(lambda e: e[0], key_type=types.STRING())
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(20))
    return keyed.window(windows).reduce(lambda a, b: (a[0], a[1] + b[1], a[2]))


@program(inputs="events", order_by=by_key)
def tumbling_reduce_with_process(api, env, source):
    class Stamp(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            yield (key, context.window().start, context.window().end, list(elements))

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(15))
    return (
        _keyed(api, source)
        .window(windows)
        .reduce(lambda a, b: (a[0], a[1] + b[1], 0), window_function=Stamp())
    )


def _average(api):
    class Average(api.AggregateFunction):
        def create_accumulator(self):
            return (0, 0)

        def add(self, value, accumulator):
            return (accumulator[0] + value[1], accumulator[1] + 1)

        def get_result(self, accumulator):
            return accumulator[0] / accumulator[1]

        def merge(self, acc_a, acc_b):
            return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])

    return Average()


@program(inputs="events")
def tumbling_aggregate(api, env, source):
    types = api.Types
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return (
        _keyed(api, source)
        .window(windows)
        .aggregate(
            _average(api),
            accumulator_type=types.TUPLE([types.INT(), types.INT()]),
            output_type=types.DOUBLE(),
        )
    )


@program(inputs="events", order_by=by_key)
def tumbling_aggregate_with_process(api, env, source):
    class Stamp(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            yield (key, context.window().max_timestamp(), list(elements))

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).aggregate(_average(api), window_function=Stamp())


@program(inputs="events", order_by=by_key)
def tumbling_apply(api, env, source):
    class Count(api.WindowFunction):
        def apply(self, key, window, inputs):
            yield (key, window.start, len(list(inputs)))

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).apply(Count())


@program(inputs="events", order_by=by_key)
def tumbling_with_offset(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10), api.Time.milliseconds(3))
    return _keyed(api, source).window(windows).process(_contents(api))


@program(inputs="events", order_by=by_key)
def tumbling_with_negative_offset(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10), api.Time.milliseconds(-3))
    return _keyed(api, source).window(windows).process(_contents(api))


@program(inputs="events", order_by=by_key)
def sliding_process(api, env, source):
    windows = api.SlidingEventTimeWindows.of(api.Time.milliseconds(20), api.Time.milliseconds(5))
    return _keyed(api, source).window(windows).process(_contents(api))


@program(inputs="events", order_by=by_key)
def sliding_uneven(api, env, source):
    """Slide does not divide size (V2.2)."""
    windows = api.SlidingEventTimeWindows.of(api.Time.milliseconds(5), api.Time.milliseconds(2))
    return _keyed(api, source).window(windows).process(_contents(api))


@program(inputs="events", order_by=by_key)
def sliding_with_gaps(api, env, source):
    """Slide larger than size: some records are in no window (V2.4)."""
    windows = api.SlidingEventTimeWindows.of(api.Time.milliseconds(5), api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).process(_contents(api))


@program(inputs="events", order_by=by_key)
def sliding_with_offset(api, env, source):
    size, slide, offset = (api.Time.milliseconds(n) for n in (10, 5, 2))
    windows = api.SlidingEventTimeWindows.of(size, slide, offset)
    return _keyed(api, source).window(windows).process(_contents(api))


@program(inputs="events", order_by=by_key)
def sliding_reduce(api, env, source):
    windows = api.SlidingEventTimeWindows.of(api.Time.milliseconds(20), api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).reduce(lambda a, b: (a[0], a[1] + b[1], 0))


@program(inputs="events")
def sliding_aggregate(api, env, source):
    windows = api.SlidingEventTimeWindows.of(api.Time.milliseconds(20), api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).aggregate(_average(api))


@program(inputs="events", order_by=by_key)
def session_process(api, env, source):
    """The order inside a merged session is not defined: values are sorted."""

    class Sorted(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            values = sorted(element[1] for element in elements)
            yield (key, context.window().start, context.window().end, values)

    windows = api.EventTimeSessionWindows.with_gap(api.Time.milliseconds(6))
    return _keyed(api, source).window(windows).process(Sorted())


@program(inputs="events", order_by=by_key, merges=True)
def session_reduce(api, env, source):
    windows = api.EventTimeSessionWindows.with_gap(api.Time.milliseconds(10))
    return (
        _keyed(api, source)
        .window(windows)
        .reduce(lambda a, b: (a[0], a[1] + b[1], min(a[2], b[2])))
    )


@program(inputs="events", merges=True)
def session_aggregate(api, env, source):
    """The only assigner that calls merge."""
    windows = api.EventTimeSessionWindows.with_gap(api.Time.milliseconds(8))
    return _keyed(api, source).window(windows).aggregate(_average(api))


@program(inputs="events", order_by=by_key)
def session_dynamic_gap(api, env, source):
    class Gap(api.SessionWindowTimeGapExtractor):
        def extract(self, element):
            return abs(element[1]) + 1

    class Sorted(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            values = sorted(element[1] for element in elements)
            yield (key, context.window().start, context.window().end, values)

    windows = api.EventTimeSessionWindows.with_dynamic_gap(Gap())
    return _keyed(api, source).window(windows).process(Sorted())


@program(
    inputs="events",
    order_by=by_key,
    examples={
        "touching": [("a", 1, 0), ("a", 2, 10), ("b", 1, 0), ("b", 2, 11)],
        "bridged": [("a", 1, 0), ("a", 2, 18), ("a", 3, 9)],
    },
)
def session_touching(api, env, source):
    """Records exactly a gap apart share a session (V2.5)."""
    windows = api.EventTimeSessionWindows.with_gap(api.Time.milliseconds(10))

    class Sorted(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            values = sorted(element[1] for element in elements)
            yield (key, context.window().start, context.window().end, values)

    return _keyed(api, source).window(windows).process(Sorted())


@program(inputs="events")
def window_all_tumbling(api, env, source):
    class Contents(api.ProcessAllWindowFunction):
        def process(self, context, elements):
            window = context.window()
            yield (window.start, window.end, [element[1] for element in elements])

        def clear(self, context):
            pass

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(30))
    return source.event_time(source.stream()).window_all(windows).process(Contents())


@program(inputs="events")
def window_all_reduce(api, env, source):
    windows = api.SlidingEventTimeWindows.of(api.Time.milliseconds(40), api.Time.milliseconds(20))
    return (
        source.event_time(source.stream())
        .window_all(windows)
        .reduce(lambda a, b: ("", a[1] + b[1], 0))
        .map(lambda event: event[1])
    )


@program(inputs="events", merges=True)
def window_all_aggregate(api, env, source):
    windows = api.EventTimeSessionWindows.with_gap(api.Time.milliseconds(5))
    return source.event_time(source.stream()).window_all(windows).aggregate(_average(api))


@program(inputs="events")
def window_all_apply(api, env, source):
    class Count(api.AllWindowFunction):
        def apply(self, window, inputs):
            yield (window.start, len(list(inputs)))

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(25))
    return source.event_time(source.stream()).window_all(windows).apply(Count())


@program(inputs="events", order_by=by_key)
def windows_in_a_row(api, env, source):
    """Results carry their window's last timestamp and fall into the matching larger one (2.15)."""
    small = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    large = api.TumblingEventTimeWindows.of(api.Time.milliseconds(30))
    sums = _keyed(api, source).window(small).reduce(lambda a, b: (a[0], a[1] + b[1], 0))

    class Collect(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            yield (key, context.window().start, sorted(element[1] for element in elements))

    return sums.key_by(lambda event: event[0]).window(large).process(Collect())


@program(inputs="events", order_by=by_key)
def window_result_timestamps(api, env, source):
    class Stamp(api.ProcessFunction):
        def process_element(self, value, ctx):
            yield (value[0], value[1], ctx.timestamp())

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    results = _keyed(api, source).window(windows).reduce(lambda a, b: (a[0], a[1] + b[1], 0))
    return results.process(Stamp())


@program(inputs="events", order_by=by_key)
def window_global_state(api, env, source):
    """global_state is per key over all windows, window_state per key and window."""
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class Number(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            descriptor = ValueStateDescriptor("n", types.INT())
            over_all = context.global_state().get_state(descriptor)
            in_window = context.window_state().get_state(descriptor)
            over_all.update((over_all.value() or 0) + 1)
            in_window.update((in_window.value() or 0) + 1)
            yield (key, context.window().start, over_all.value(), in_window.value())

        def clear(self, context):
            context.window_state().get_state(ValueStateDescriptor("n", types.INT())).clear()

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).process(Number())


@program(inputs="events", order_by=by_key)
def window_current_watermark(api, env, source):
    class Tell(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            yield (key, context.window().start, context.current_watermark())

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).process(Tell())


@program(inputs="events", order_by=by_key)
def window_process_emits_several(api, env, source):
    class Each(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            for element in elements:
                if element[1] > 0:
                    yield (key, context.window().end, element[1])

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).process(Each())


@program(inputs="pairs", parallelism=1)
def window_processing_time_lost_at_end(api, env, source):
    """Processing-time windows still open at the end of the input are dropped (2.13)."""
    windows = api.TumblingProcessingTimeWindows.of(api.Time.days(1))
    return source.stream().key_by(lambda p: p[0]).window(windows).reduce(lambda a, b: a)


@program(inputs="pairs", parallelism=1)
def window_global_never_fires(api, env, source):
    windows = api.GlobalWindows.create()
    return source.stream().key_by(lambda p: p[0]).window(windows).reduce(lambda a, b: a)


@program(inputs="pairs", fails=True)
def fails_window_without_timestamps(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return source.stream().key_by(lambda p: p[0]).window(windows).reduce(lambda a, b: a)


@program(inputs="events", fails=True)
def fails_offset_larger_than_size(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(5), api.Time.milliseconds(7))
    return _keyed(api, source).window(windows).reduce(lambda a, b: a)
