"""Late records: a watermark after every record (source.watermark_per_record).

Records and watermarks are in one order at parallelism 1, so what is late is the same on every run.
"""

from __future__ import annotations

from oracle.catalogue import program


def by_key(record):
    return record[0]


# The examples of docs/semantics.md: with delay 0 a record ts gives W(ts - 1).
LATE = [
    ("a", 1, 1),
    ("a", 2, 10),
    ("a", 3, 2),
    ("b", 4, 12),
    ("a", 5, 15),
    ("a", 6, 3),
    ("a", 7, 25),
    ("b", 8, 4),
]


def _contents(api):
    class Contents(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            window = context.window()
            yield (key, window.start, window.end, [element[1] for element in elements])

    return Contents()


def _sorted_contents(api):
    class Contents(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            window = context.window()
            yield (key, window.start, window.end, sorted(element[1] for element in elements))

    return Contents()


def _keyed(api, source, delay_ms=0):
    stream = source.watermark_per_record(source.stream(), delay_ms=delay_ms)
    return stream.key_by(lambda event: event[0])


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={"vector": LATE},
)
def late_records_dropped(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).process(_contents(api))


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={"vector": LATE},
)
def late_within_out_of_orderness(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source, delay_ms=20).window(windows).process(_contents(api))


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={"vector": LATE},
)
def late_side_output(api, env, source):
    tag = api.OutputTag("late")
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    windowed = _keyed(api, source).window(windows).side_output_late_data(tag)
    main = windowed.process(_contents(api))
    return {"main": main, "late": main.get_side_output(tag)}


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={"vector": LATE},
)
def late_allowed(api, env, source):
    """Each accepted late record fires its window again with all contents (V3.2)."""
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).allowed_lateness(15).process(_contents(api))


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={"vector": LATE},
)
def late_allowed_with_side_output(api, env, source):
    tag = api.OutputTag("late")
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    windowed = _keyed(api, source).window(windows).allowed_lateness(5).side_output_late_data(tag)
    main = windowed.process(_contents(api))
    return {"main": main, "late": main.get_side_output(tag)}


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={"vector": LATE},
)
def late_allowed_purging(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    trigger = api.PurgingTrigger.of(api.EventTimeTrigger.create())
    windowed = _keyed(api, source).window(windows).trigger(trigger).allowed_lateness(30)
    return windowed.process(_contents(api))


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={"vector": LATE},
)
def late_allowed_reduce(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    windowed = _keyed(api, source).window(windows).allowed_lateness(30)
    return windowed.reduce(lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2])))


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={"V2.3": [("a", 7, 7), ("a", 10, 10), ("a", 8, 8), ("a", 15, 15), ("a", 9, 9)]},
)
def late_sliding(api, env, source):
    """A record may be late for one of its windows only (V2.3)."""
    windows = api.SlidingEventTimeWindows.of(api.Time.milliseconds(10), api.Time.milliseconds(5))
    return _keyed(api, source).window(windows).process(_contents(api))


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={
        "V2.6": [("a", 8, 8), ("b", 0, 9), ("a", 4, 4), ("b", 0, 13)],
        "V2.7": [("a", 0, 0), ("b", 0, 5), ("a", 8, 8), ("a", 4, 4), ("b", 0, 13)],
    },
)
def late_session(api, env, source):
    """Lateness is tested on the merged session (V2.6, V2.7)."""
    windows = api.EventTimeSessionWindows.with_gap(api.Time.milliseconds(5))
    return _keyed(api, source).window(windows).process(_sorted_contents(api))


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={
        "V2.7": [("a", 0, 0), ("b", 0, 5), ("a", 8, 8), ("a", 4, 4), ("b", 0, 13)],
        "V3.6": [("a", 0, 0), ("b", 0, 5), ("a", 3, 3), ("b", 0, 8)],
    },
)
def late_session_allowed(api, env, source):
    windows = api.EventTimeSessionWindows.with_gap(api.Time.milliseconds(5))
    windowed = _keyed(api, source).window(windows).allowed_lateness(10)
    return windowed.process(_sorted_contents(api))


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    mode="thread",
    examples={"vector": LATE},
)
def continuous_trigger_step_by_step(api, env, source):
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(20))
    trigger = api.ContinuousEventTimeTrigger.of(api.Time.milliseconds(5))
    return _keyed(api, source).window(windows).trigger(trigger).process(_contents(api))


@program(
    inputs="events",
    order_by=by_key,
    parallelism=1,
    per_record_watermarks=True,
    examples={"vector": LATE},
)
def window_state_cleared_once(api, env, source):
    """Firings of a window share window_state, which is cleaned up at the end of the lateness."""
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class Number(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            firing = context.window_state().get_state(ValueStateDescriptor("n", types.INT()))
            firing.update((firing.value() or 0) + 1)
            yield (key, context.window().start, firing.value(), len(list(elements)))

        def clear(self, context):
            context.window_state().get_state(ValueStateDescriptor("n", types.INT())).clear()

    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    return _keyed(api, source).window(windows).allowed_lateness(8).process(Number())


@program(inputs="events", parallelism=1, per_record_watermarks=True, examples={"vector": LATE})
def late_window_all(api, env, source):
    class Contents(api.ProcessAllWindowFunction):
        def process(self, context, elements):
            yield (context.window().start, [element[1] for element in elements])

    tag = api.OutputTag("late")
    windows = api.TumblingEventTimeWindows.of(api.Time.milliseconds(10))
    stream = source.watermark_per_record(source.stream())
    main = stream.window_all(windows).side_output_late_data(tag).process(Contents())
    return {"main": main, "late": main.get_side_output(tag)}
