"""Event-time timers.

The only watermark is the one at the end of the input, unless a program says otherwise.
"""

from __future__ import annotations

from oracle.catalogue import program


def first(record):
    return record[0]


@program(inputs="events", order_by=first)
def timers_at_end_of_input(api, env, source):
    """One timer per key and time, fired in order of time after all records."""

    class Remind(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[2] + 5)
            yield (value[0], "seen", value[1])

        def on_timer(self, timestamp, ctx):
            yield (ctx.get_current_key(), "timer", timestamp)

    return source.event_time(source.stream()).key_by(lambda e: e[0]).process(Remind())


@program(inputs="events", order_by=first)
def timers_registered_twice_fire_once(api, env, source):
    class Remind(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            for _ in range(2):
                ctx.timer_service().register_event_time_timer(value[2] // 10 * 10)
            return []

        def on_timer(self, timestamp, ctx):
            return [(ctx.get_current_key(), timestamp)]

    return source.event_time(source.stream()).key_by(lambda e: e[0]).process(Remind())


@program(inputs="events", order_by=first)
def timers_deleted(api, env, source):
    class Remind(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            service = ctx.timer_service()
            service.register_event_time_timer(value[2])
            service.register_event_time_timer(value[2] + 1)
            if value[1] < 0:
                service.delete_event_time_timer(value[2])
            service.delete_event_time_timer(123456)
            return []

        def on_timer(self, timestamp, ctx):
            yield (ctx.get_current_key(), timestamp)

    return source.event_time(source.stream()).key_by(lambda e: e[0]).process(Remind())


@program(inputs="events", order_by=first, mode="thread")
def timers_that_register_timers(api, env, source):
    """A timer set in on_timer at or before the watermark fires in the same pass."""

    class Chain(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[2])
            return []

        def on_timer(self, timestamp, ctx):
            yield (ctx.get_current_key(), timestamp)
            if timestamp < 100:
                ctx.timer_service().register_event_time_timer(timestamp + 60)

    return source.event_time(source.stream()).key_by(lambda e: e[0]).process(Chain())


@program(inputs="events", order_by=first, mode="thread")
def timers_delete_later_timers(api, env, source):
    """The first timer of a key removes all that are due later."""
    ListStateDescriptor, types = api.ListStateDescriptor, api.Types

    class FirstOnly(api.KeyedProcessFunction):
        def open(self, runtime_context):
            self.times = runtime_context.get_list_state(ListStateDescriptor("times", types.LONG()))

        def process_element(self, value, ctx):
            self.times.add(value[2])
            ctx.timer_service().register_event_time_timer(value[2])
            return []

        def on_timer(self, timestamp, ctx):
            for time in self.times.get():
                if time > timestamp:
                    ctx.timer_service().delete_event_time_timer(time)
            yield (ctx.get_current_key(), timestamp)

    return source.event_time(source.stream()).key_by(lambda e: e[0]).process(FirstOnly())


@program(inputs="events", order_by=first)
def timers_read_state(api, env, source):
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class Sum(api.KeyedProcessFunction):
        def open(self, runtime_context):
            self.total = runtime_context.get_state(ValueStateDescriptor("total", types.INT()))

        def process_element(self, value, ctx):
            self.total.update((self.total.value() or 0) + value[1])
            ctx.timer_service().register_event_time_timer(1000)
            return []

        def on_timer(self, timestamp, ctx):
            yield (ctx.get_current_key(), self.total.value(), ctx.timestamp())
            self.total.clear()

    return source.event_time(source.stream()).key_by(lambda e: e[0]).process(Sum())


@program(inputs="events", order_by=first)
def timers_time_domain_and_watermark(api, env, source):
    TimeDomain = api.TimeDomain

    class Tell(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[2])
            yield (value[0], "record", ctx.timestamp(), ctx.timer_service().current_watermark())

        def on_timer(self, timestamp, ctx):
            event_time = ctx.time_domain() == TimeDomain.EVENT_TIME
            yield (
                ctx.get_current_key(),
                event_time,
                timestamp,
                ctx.timer_service().current_watermark(),
            )

    return source.event_time(source.stream()).key_by(lambda e: e[0]).process(Tell())


@program(inputs="events", order_by=first)
def timers_output_has_timer_timestamp(api, env, source):
    class Fire(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[2] + 7)
            yield (value[0], "record")

        def on_timer(self, timestamp, ctx):
            yield (ctx.get_current_key(), "timer")

    class Stamp(api.ProcessFunction):
        def process_element(self, value, ctx):
            yield (*value, ctx.timestamp())

    fired = source.event_time(source.stream()).key_by(lambda e: e[0]).process(Fire())
    return fired.process(Stamp())


@program(inputs="events")
def timers_to_side_output(api, env, source):
    tag = api.OutputTag("timers", api.Types.LONG())

    class Fire(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[2])
            yield value

        def on_timer(self, timestamp, ctx):
            yield tag, timestamp

    main = source.event_time(source.stream()).key_by(lambda e: e[0]).process(Fire())
    return {"main": main, "timers": main.get_side_output(tag)}


@program(inputs="pairs", order_by=first)
def timers_processing_time_lost_at_end(api, env, source):
    """Processing-time timers that are not due yet are dropped when the input ends."""

    class Later(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            service = ctx.timer_service()
            service.register_processing_time_timer(service.current_processing_time() + 3_600_000)
            yield value

        def on_timer(self, timestamp, ctx):
            yield (ctx.get_current_key(), "never")

    return source.stream().key_by(lambda p: p[0]).process(Later())


@program(inputs={"left": "events", "right": "events"}, order_by=lambda r: (r[0], r[1]))
def timers_of_two_inputs(api, env, source):
    class Both(api.KeyedCoProcessFunction):
        def process_element1(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[2])
            yield (value[0], "L", value[1])

        def process_element2(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[2] + 1)
            yield (value[0], "R", value[1])

        def on_timer(self, timestamp, ctx):
            yield (ctx.get_current_key(), "timer", timestamp)

    left = source.event_time(source.stream(None, "left"))
    right = source.event_time(source.stream(None, "right"))
    return left.connect(right).key_by(lambda e: e[0], lambda e: e[0]).process(Both())


@program(inputs="events", order_by=first, parallelism=1, per_record_watermarks=True)
def timers_between_records(api, env, source):
    """A watermark after every record: timers and records interleave as event time says."""

    class Remind(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[2] + 10)
            yield ("all", value[0], "record", value[2], ctx.timer_service().current_watermark())

        def on_timer(self, timestamp, ctx):
            watermark = ctx.timer_service().current_watermark()
            # At the end all keys' timers fire together, in no fixed order between keys.
            where = "all" if watermark < 2**62 else ctx.get_current_key()
            yield (where, ctx.get_current_key(), "timer", timestamp, watermark)

    stream = source.watermark_per_record(source.stream())
    return stream.key_by(lambda e: e[0]).process(Remind())


@program(inputs="events", order_by=first, parallelism=1, per_record_watermarks=True)
def timers_in_the_past(api, env, source):
    """A timer at or before the watermark fires at the next advance, not at once."""

    class Past(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(0)
            yield ("all", "record", value[2])

        def on_timer(self, timestamp, ctx):
            yield ("all", "timer", timestamp)

    stream = source.watermark_per_record(source.stream().map(lambda e: ("k", e[1], e[2] + 30)))
    return stream.key_by(lambda e: e[0]).process(Past())
