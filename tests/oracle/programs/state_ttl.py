"""State with a time to live: an hour, which never ends here, or a millisecond, which always does.

Every record that must find its state expired sleeps first: both engines read the real clock.
PyFlink keeps state in a cache of its Python worker, which does not know that values expire: with
it, an expired value is still found.  So it is off here, and what Flink's own state says counts.
"""

from __future__ import annotations

from oracle.catalogue import program


def first(record):
    return record[0]


def _without_cache(api, env):
    settings = api.Configuration()
    for name in ("state.cache-size", "map-state.read-cache-size", "map-state.write-cache-size"):
        settings.set_string(f"python.{name}", "0")
    env.configure(settings)


def _counting(api, ttl_ms, *, sleep_s=0.0, visibility=None):
    """Counts the records of a key in a value state with a time to live."""
    StateTtlConfig, Time = api.StateTtlConfig, api.Time
    ValueStateDescriptor, Types = api.ValueStateDescriptor, api.Types

    class Count(api.KeyedProcessFunction):
        def open(self, runtime_context):
            builder = StateTtlConfig.new_builder(Time.milliseconds(ttl_ms))
            builder.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)
            if visibility is not None:
                builder.set_state_visibility(getattr(StateTtlConfig.StateVisibility, visibility))
            descriptor = ValueStateDescriptor("count", Types.INT())
            descriptor.enable_time_to_live(builder.build())
            self.count = runtime_context.get_state(descriptor)

        def process_element(self, value, ctx):
            import time

            time.sleep(sleep_s)
            found = self.count.value()
            self.count.update((found or 0) + 1)
            yield (value[0], found)

    return Count()


@program(inputs="pairs", order_by=first)
def ttl_of_an_hour_changes_nothing(api, env, source):
    return source.stream().key_by(lambda pair: pair[0]).process(_counting(api, 3_600_000))


@program(inputs="pairs", order_by=first)
def ttl_that_is_over_hides_the_value(api, env, source):
    _without_cache(api, env)
    function = _counting(api, 1, sleep_s=0.02)
    return source.stream().key_by(lambda pair: pair[0]).process(function)


@program(inputs="pairs", order_by=first)
def ttl_of_lists_and_maps_is_per_item(api, env, source):
    _without_cache(api, env)
    StateTtlConfig, Time = api.StateTtlConfig, api.Time
    ListStateDescriptor, MapStateDescriptor = api.ListStateDescriptor, api.MapStateDescriptor
    Types = api.Types

    class Gather(api.KeyedProcessFunction):
        def open(self, runtime_context):
            config = StateTtlConfig.new_builder(Time.milliseconds(1)).build()
            items = ListStateDescriptor("items", Types.INT())
            items.enable_time_to_live(config)
            seen = MapStateDescriptor("seen", Types.INT(), Types.INT())
            seen.enable_time_to_live(config)
            self.items = runtime_context.get_list_state(items)
            self.seen = runtime_context.get_map_state(seen)

        def process_element(self, value, ctx):
            import time

            time.sleep(0.02)
            before = (sorted(self.items.get()), sorted(self.seen.keys()))
            self.items.add(value[1])
            self.seen.put(value[1], 1)
            yield (value[0], str(before))

    return source.stream().key_by(lambda pair: pair[0]).process(Gather())


@program(inputs="pairs", order_by=first)
def ttl_of_reducing_state_starts_anew(api, env, source):
    _without_cache(api, env)
    StateTtlConfig, Time = api.StateTtlConfig, api.Time
    ReducingStateDescriptor, Types = api.ReducingStateDescriptor, api.Types

    class Sum(api.KeyedProcessFunction):
        def open(self, runtime_context):
            descriptor = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(1)).build())
            self.sum = runtime_context.get_reducing_state(descriptor)

        def process_element(self, value, ctx):
            import time

            time.sleep(0.02)
            found = self.sum.get()
            self.sum.add(value[1])
            yield (value[0], found)

    return source.stream().key_by(lambda pair: pair[0]).process(Sum())
