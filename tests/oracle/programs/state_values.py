"""KeyedProcessFunction with every kind of keyed state."""

from __future__ import annotations

from oracle.catalogue import program


def first(record):
    return record[0]


@program(inputs="pairs", order_by=first)
def value_state_counts(api, env, source):
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class Count(api.KeyedProcessFunction):
        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count", types.INT()))

        def process_element(self, value, ctx):
            before = self.count.value()
            self.count.update((before or 0) + 1)
            yield (value[0], before, self.count.value())

    return source.stream().key_by(lambda p: p[0]).process(Count())


@program(inputs="pairs", order_by=first)
def value_state_clear(api, env, source):
    """A cleared state reads as None again."""
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class Last(api.KeyedProcessFunction):
        def open(self, runtime_context):
            self.last = runtime_context.get_state(ValueStateDescriptor("last", types.INT()))

        def process_element(self, value, ctx):
            yield (value[0], self.last.value(), value[1])
            if value[1] < 0:
                self.last.clear()
            else:
                self.last.update(value[1])

    return source.stream().key_by(lambda p: p[0]).process(Last())


@program(inputs="triples", order_by=first)
def value_state_of_tuples(api, env, source):
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class Previous(api.KeyedProcessFunction):
        def open(self, runtime_context):
            kind = types.TUPLE([types.INT(), types.STRING()])
            self.previous = runtime_context.get_state(ValueStateDescriptor("previous", kind))

        def process_element(self, value, ctx):
            yield (value[0], self.previous.value(), value[1])
            self.previous.update((value[1], value[2]))

    return source.stream().key_by(lambda r: r[0], key_type=types.STRING()).process(Previous())


@program(inputs="triples", order_by=first)
def value_state_pickled(api, env, source):
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class Seen(api.KeyedProcessFunction):
        def open(self, runtime_context):
            descriptor = ValueStateDescriptor("seen", types.PICKLED_BYTE_ARRAY())
            self.seen = runtime_context.get_state(descriptor)

        def process_element(self, value, ctx):
            seen = self.seen.value() or {"texts": set(), "n": 0}
            seen["texts"].add(value[2])
            seen["n"] += 1
            self.seen.update(seen)
            yield (value[0], seen["n"], sorted(seen["texts"]))

    return source.stream().key_by(lambda r: r[0]).process(Seen())


@program(inputs="pairs", order_by=first)
def list_state(api, env, source):
    ListStateDescriptor, types = api.ListStateDescriptor, api.Types

    class Collect(api.KeyedProcessFunction):
        def open(self, runtime_context):
            self.items = runtime_context.get_list_state(ListStateDescriptor("items", types.INT()))

        def process_element(self, value, ctx):
            self.items.add(value[1])
            items = list(self.items.get())
            yield (value[0], items)
            if len(items) == 3:
                self.items.clear()

    return source.stream().key_by(lambda p: p[0]).process(Collect())


@program(inputs="pairs", order_by=first)
def list_state_update_and_add_all(api, env, source):
    ListStateDescriptor, types = api.ListStateDescriptor, api.Types

    class Collect(api.KeyedProcessFunction):
        def open(self, runtime_context):
            self.items = runtime_context.get_list_state(ListStateDescriptor("items", types.INT()))

        def process_element(self, value, ctx):
            before = list(self.items.get())
            if value[1] % 3 == 0:
                self.items.update([value[1]])
            elif value[1] % 3 == 1:
                self.items.add_all([value[1], value[1] + 1])
            else:
                self.items.add(value[1])
            yield (value[0], before, list(self.items.get()))

    return source.stream().key_by(lambda p: p[0]).process(Collect())


@program(inputs="triples", order_by=first)
def map_state(api, env, source):
    MapStateDescriptor, types = api.MapStateDescriptor, api.Types

    class CountByRemainder(api.KeyedProcessFunction):
        def open(self, runtime_context):
            descriptor = MapStateDescriptor("counts", types.INT(), types.INT())
            self.counts = runtime_context.get_map_state(descriptor)

        def process_element(self, value, ctx):
            slot = value[1] % 3
            known = self.counts.contains(slot)
            self.counts.put(slot, (self.counts.get(slot) or 0) + 1)
            yield (value[0], known, sorted(self.counts.items()))

    return source.stream().key_by(lambda r: r[0]).process(CountByRemainder())


@program(inputs="pairs", order_by=first)
def map_state_operations(api, env, source):
    MapStateDescriptor, types = api.MapStateDescriptor, api.Types

    class Edit(api.KeyedProcessFunction):
        def open(self, runtime_context):
            descriptor = MapStateDescriptor("m", types.STRING(), types.INT())
            self.state = runtime_context.get_map_state(descriptor)

        def process_element(self, value, ctx):
            n = value[1]
            empty = self.state.is_empty()
            if n > 5:
                self.state.clear()
            elif n > 0:
                for name, number in {"x": n, "y": -n, str(n): n}.items():
                    self.state.put(name, number)
            elif n < -5:
                self.state.remove("x")
            else:
                self.state.put("z", n)
            keys, values = sorted(self.state.keys()), sorted(self.state.values())
            yield (value[0], empty, keys, values, self.state.get("x"), self.state.contains("z"))

    return source.stream().key_by(lambda p: p[0]).process(Edit())


@program(inputs="pairs", order_by=first)
def reducing_state(api, env, source):
    ReducingStateDescriptor, types = api.ReducingStateDescriptor, api.Types

    class Largest(api.KeyedProcessFunction):
        def open(self, runtime_context):
            descriptor = ReducingStateDescriptor("max", lambda a, b: max(a, b), types.INT())
            self.largest = runtime_context.get_reducing_state(descriptor)

        def process_element(self, value, ctx):
            before = self.largest.get()
            self.largest.add(value[1])
            yield (value[0], before, self.largest.get())
            if value[1] == 9:
                self.largest.clear()

    return source.stream().key_by(lambda p: p[0]).process(Largest())


@program(inputs="pairs", order_by=first)
def aggregating_state(api, env, source):
    AggregatingStateDescriptor, types = api.AggregatingStateDescriptor, api.Types

    class Average(api.AggregateFunction):
        def create_accumulator(self):
            return (0, 0)

        def add(self, value, accumulator):
            return (accumulator[0] + value, accumulator[1] + 1)

        def get_result(self, accumulator):
            return accumulator[0] / accumulator[1]

        def merge(self, acc_a, acc_b):
            return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])

    class Averages(api.KeyedProcessFunction):
        def open(self, runtime_context):
            kind = types.TUPLE([types.INT(), types.INT()])
            descriptor = AggregatingStateDescriptor("average", Average(), kind)
            self.average = runtime_context.get_aggregating_state(descriptor)

        def process_element(self, value, ctx):
            before = self.average.get()
            self.average.add(value[1])
            yield (value[0], before, self.average.get())

    return source.stream().key_by(lambda p: p[0]).process(Averages())


@program(inputs="pairs", order_by=first)
def several_states_in_one_function(api, env, source):
    names = (api.ValueStateDescriptor, api.ListStateDescriptor, api.MapStateDescriptor)
    types = api.Types

    class Several(api.KeyedProcessFunction):
        def open(self, runtime_context):
            value_state, list_state, map_state = names
            self.total = runtime_context.get_state(value_state("total", types.LONG()))
            self.recent = runtime_context.get_list_state(list_state("recent", types.INT()))
            self.seen = runtime_context.get_map_state(
                map_state("seen", types.INT(), types.BOOLEAN())
            )

        def process_element(self, value, ctx):
            self.total.update((self.total.value() or 0) + value[1])
            self.recent.update([*self.recent.get(), value[1]][-2:])
            again = self.seen.contains(value[1])
            self.seen.put(value[1], True)
            yield (ctx.get_current_key(), self.total.value(), list(self.recent.get()), again)

    return source.stream().key_by(lambda p: p[0]).process(Several())


@program(inputs="pairs", order_by=first)
def state_in_keyed_map(api, env, source):
    """Rich functions on a keyed stream may use keyed state."""
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class Sum(api.MapFunction):
        def open(self, runtime_context):
            self.total = runtime_context.get_state(ValueStateDescriptor("total", types.INT()))

        def map(self, value):
            self.total.update((self.total.value() or 0) + value[1])
            return (value[0], self.total.value())

    return source.stream().key_by(lambda p: p[0]).map(Sum())


@program(inputs="pairs", order_by=first)
def state_in_keyed_filter(api, env, source):
    """Lets only the first record of each (key, value) through."""
    MapStateDescriptor, types = api.MapStateDescriptor, api.Types

    class First(api.FilterFunction):
        def open(self, runtime_context):
            descriptor = MapStateDescriptor("seen", types.INT(), types.BOOLEAN())
            self.seen = runtime_context.get_map_state(descriptor)

        def filter(self, value):
            if self.seen.contains(value[1]):
                return False
            self.seen.put(value[1], True)
            return True

    return source.stream().key_by(lambda p: p[0]).filter(First())


@program(inputs={"left": "pairs", "right": "pairs"}, order_by=lambda r: (r[0], r[1]))
def state_shared_by_both_inputs(api, env, source):
    """Each input has its own state; the inputs' order against each other is not fixed."""
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class Sums(api.KeyedCoProcessFunction):
        def open(self, runtime_context):
            self.left = runtime_context.get_state(ValueStateDescriptor("left", types.INT()))
            self.right = runtime_context.get_state(ValueStateDescriptor("right", types.INT()))

        def process_element1(self, value, ctx):
            self.left.update((self.left.value() or 0) + value[1])
            yield ("L", ctx.get_current_key(), self.left.value())

        def process_element2(self, value, ctx):
            self.right.update((self.right.value() or 0) + value[1])
            yield ("R", ctx.get_current_key(), self.right.value())

    left, right = source.stream(None, "left"), source.stream(None, "right")
    return left.connect(right).key_by(lambda p: p[0], lambda p: p[0]).process(Sums())


@program(inputs="pairs", fails=True)
def fails_state_without_key(api, env, source):
    ValueStateDescriptor, types = api.ValueStateDescriptor, api.Types

    class NoKey(api.ProcessFunction):
        def open(self, runtime_context):
            self.state = runtime_context.get_state(ValueStateDescriptor("s", types.INT()))

        def process_element(self, value, ctx):
            yield self.state.value()

    return source.stream().process(NoKey())


@program(inputs="pairs")
def broadcast_state_on_every_subtask(api, env, source):
    """Rules reach every subtask; what data sees of them depends on timing, so it only passes."""
    MapStateDescriptor, types = api.MapStateDescriptor, api.Types
    rules = MapStateDescriptor("rules", types.STRING(), types.INT())

    class Apply(api.BroadcastProcessFunction):
        def process_element(self, value, ctx):
            yield ("data", value)

        def process_broadcast_element(self, value, ctx):
            state = ctx.get_broadcast_state(rules)
            known = state.contains(value[0])
            state.put(value[0], value[1])
            yield ("rule", value[0], known, state.get(value[0]))

    stream = source.stream()
    data = stream.map(lambda p: p[1])
    return data.connect(stream.broadcast(rules)).process(Apply())
