"""Several streams: union, connect, diamonds, partitioning, parallelism."""

from __future__ import annotations

from oracle.catalogue import program

TWO = {"left": "pairs", "right": "pairs"}
THREE = {"left": "ints", "middle": "ints", "right": "ints"}


@program(inputs=TWO)
def union_of_two(api, env, source):
    pair = api.Types.TUPLE([api.Types.STRING(), api.Types.INT()])
    return source.stream(pair, "left").union(source.stream(pair, "right"))


@program(inputs=THREE)
def union_of_three(api, env, source):
    left, middle, right = (
        source.stream(api.Types.INT(), part) for part in ("left", "middle", "right")
    )
    return left.union(middle, right).map(lambda value: value + 1, output_type=api.Types.INT())


@program(inputs="ints")
def union_with_itself(api, env, source):
    stream = source.stream(api.Types.INT()).map(
        lambda value: value // 2, output_type=api.Types.INT()
    )
    return stream.union(stream)


@program(inputs=TWO)
def union_then_reduce(api, env, source):
    both = source.stream(None, "left").union(source.stream(None, "right"))
    return both.key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).map(lambda p: p[0])


@program(inputs={"left": "ints", "right": "texts"}, fails=True)
def fails_union_of_different_types(api, env, source):
    left = source.stream(api.Types.INT(), "left")
    return left.union(source.stream(api.Types.STRING(), "right"))


@program(inputs={"left": "ints", "right": "texts"})
def connect_co_map(api, env, source):
    class Label(api.CoMapFunction):
        def map1(self, value):
            return ("number", str(value))

        def map2(self, value):
            return ("text", value)

    left, right = source.stream(api.Types.INT(), "left"), source.stream(api.Types.STRING(), "right")
    pair = api.Types.TUPLE([api.Types.STRING(), api.Types.STRING()])
    return left.connect(right).map(Label(), output_type=pair)


@program(inputs={"left": "small_ints", "right": "sentences"})
def connect_co_flat_map(api, env, source):
    class Spread(api.CoFlatMapFunction):
        def flat_map1(self, value):
            for _ in range(max(value, 0)):
                yield value

        def flat_map2(self, value):
            yield from value.split()

    return source.stream(None, "left").connect(source.stream(None, "right")).flat_map(Spread())


@program(inputs={"left": "pairs", "right": "triples"}, order_by=lambda r: (r[0], r[1]))
def connect_keyed_co_map(api, env, source):
    """Both inputs of a key meet in one instance; each input keeps its order per key."""

    class Count(api.CoMapFunction):
        def open(self, runtime_context):
            self.left, self.right = {}, {}

        def map1(self, value):
            self.left[value[0]] = self.left.get(value[0], 0) + 1
            return ("L", value[0], self.left[value[0]])

        def map2(self, value):
            self.right[value[0]] = self.right.get(value[0], 0) + 1
            return ("R", value[0], self.right[value[0]])

    left, right = source.stream(None, "left"), source.stream(None, "right")
    return left.key_by(lambda v: v[0]).connect(right.key_by(lambda v: v[0])).map(Count())


@program(inputs={"left": "pairs", "right": "pairs"}, order_by=lambda r: (r[0], r[1]))
def connect_then_key_by_flat_map(api, env, source):
    """ConnectedStreams.key_by keys both inputs at once."""

    class Spread(api.CoFlatMapFunction):
        def flat_map1(self, value):
            yield ("L", value[0], value[1])
            if value[1] < 0:
                yield ("L", value[0], -value[1])

        def flat_map2(self, value):
            if value[1] >= 0:
                yield ("R", value[0], value[1])

    left, right = source.stream(None, "left"), source.stream(None, "right")
    keyed = left.connect(right).key_by(lambda v: v[0], lambda v: v[0])
    return keyed.flat_map(Spread())


@program(inputs={"left": "small_ints", "right": "small_ints"})
def connect_co_process(api, env, source):
    class Both(api.CoProcessFunction):
        def process_element1(self, value, ctx):
            yield ("L", value)

        def process_element2(self, value, ctx):
            yield ("R", value)
            yield ("R", value + 1)

    return source.stream(None, "left").connect(source.stream(None, "right")).process(Both())


@program(inputs="ints")
def diamond(api, env, source):
    """One stream feeds two branches that meet again."""
    start = source.stream(api.Types.INT()).map(lambda value: value + 1, output_type=api.Types.INT())
    evens = start.filter(lambda value: value % 2 == 0).map(lambda value: ("even", value))
    odds = start.filter(lambda value: value % 2 == 1).map(lambda value: ("odd", value))
    return evens.union(odds)


@program(inputs="pairs")
def diamond_keyed(api, env, source):
    start = source.stream()
    sums = start.key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    highest = start.key_by(lambda p: p[0]).reduce(lambda a, b: a if a[1] >= b[1] else b)
    return sums.map(lambda p: ("sum", *p)).union(highest.map(lambda p: ("max", *p)))


@program(inputs="pairs")
def diamond_connected(api, env, source):
    class Tag(api.CoMapFunction):
        def map1(self, value):
            return ("direct", value)

        def map2(self, value):
            return ("doubled", value)

    start = source.stream()
    doubled = start.map(lambda p: (p[0], p[1] * 2))
    return start.connect(doubled).map(Tag())


@program(inputs="small_ints")
def two_outputs(api, env, source):
    start = source.stream(api.Types.INT()).map(
        lambda value: value * 10, output_type=api.Types.INT()
    )
    return {"same": start, "shifted": start.map(lambda value: value + 1)}


@program(inputs="triples")
def project_fields(api, env, source):
    types = api.Types
    stream = source.stream(types.TUPLE([types.STRING(), types.INT(), types.STRING()]))
    return stream.project(2, 0)


@program(inputs="triples")
def project_one_field_twice(api, env, source):
    types = api.Types
    stream = source.stream(types.TUPLE([types.STRING(), types.INT(), types.STRING()]))
    return stream.project(1, 1).map(lambda pair: pair[0] + pair[1])


@program(inputs="triples", fails=True)
def fails_project_of_pickled(api, env, source):
    return source.stream().project(0)


def _with_subtask(api):
    class WithSubtask(api.MapFunction):
        def open(self, runtime_context):
            self.subtask = runtime_context.get_index_of_this_subtask()

        def map(self, value):
            return (self.subtask, value)

    return WithSubtask()


@program(inputs="ints")
def rebalance_records(api, env, source):
    return source.stream(api.Types.INT()).rebalance().map(lambda value: value - 1)


@program(inputs="ints")
def rebalance_is_even(api, env, source):
    """From one producer, round robin gives both subtasks half of the records, give or take one."""

    class Number(api.MapFunction):
        def open(self, runtime_context):
            self.seen = 0

        def map(self, value):
            self.seen += 1
            return self.seen

    return source.stream(api.Types.INT()).rebalance().map(Number())


@program(inputs="ints")
def rescale_records(api, env, source):
    stream = source.stream(api.Types.INT()).map(lambda value: value, output_type=api.Types.INT())
    return stream.rescale().map(lambda value: value + 5).set_parallelism(1)


@program(inputs="ints")
def shuffle_records(api, env, source):
    return source.stream(api.Types.INT()).shuffle().map(lambda value: value * 2)


@program(inputs="ints")
def broadcast_records(api, env, source):
    """Every subtask sees every record, so the result is multiplied by the parallelism."""
    return source.stream(api.Types.INT()).broadcast().map(_with_subtask(api))


@program(inputs="ints")
def forward_records(api, env, source):
    stream = source.stream(api.Types.INT()).rebalance().map(lambda value: value + 1)
    return stream.forward().map(lambda value: value * 2)


@program(inputs="ints", fails=True)
def fails_forward_to_other_parallelism(api, env, source):
    stream = source.stream().map(lambda value: value).set_parallelism(1)
    return stream.forward().map(lambda value: value).set_parallelism(2)


@program(inputs="small_ints", parallelism=2)
def partition_custom_by_sign(api, env, source):
    """A custom partitioner decides the subtask; its number is part of the result."""
    stream = source.stream(api.Types.INT())
    partitioned = stream.partition_custom(
        lambda key, partitions: 0 if key < 0 else partitions - 1, lambda value: value
    )
    return partitioned.map(_with_subtask(api))


@program(inputs="pairs", parallelism=2)
def partition_custom_class(api, env, source):
    class ByLength(api.Partitioner):
        def partition(self, key, num_partitions):
            return len(key) % num_partitions

    class FirstField(api.KeySelector):
        def get_key(self, value):
            return value[0]

    return source.stream().partition_custom(ByLength(), FirstField()).map(_with_subtask(api))


@program(inputs="small_ints", fails=True, parallelism=2)
def fails_partition_out_of_range(api, env, source):
    stream = source.stream(api.Types.INT())
    return stream.partition_custom(lambda key, n: n + 3, lambda value: value).map(
        lambda value: value
    )


@program(inputs="pairs", parallelism=2)
def key_groups_decide_the_subtask(api, env, source):
    """The subtask of a typed key comes from Java's hash: headrace must agree exactly."""
    pair = api.Types.TUPLE([api.Types.STRING(), api.Types.INT()])
    keyed = source.stream(pair).key_by(lambda p: p[0], key_type=api.Types.STRING())
    return keyed.map(_with_subtask(api))


@program(inputs="int_pairs", parallelism=2)
def key_groups_of_int_keys(api, env, source):
    pair = api.Types.TUPLE([api.Types.INT(), api.Types.INT()])
    keyed = source.stream(pair).key_by(lambda p: p[0], key_type=api.Types.INT())
    return keyed.map(_with_subtask(api))


@program(inputs="ints")
def set_parallelism_per_step(api, env, source):
    stream = source.stream(api.Types.INT()).map(lambda value: value + 1).set_parallelism(1)
    return (
        stream.map(lambda value: value * 2).set_parallelism(2).filter(lambda value: value % 3 != 0)
    )


@program(inputs="ints")
def force_non_parallel_step(api, env, source):
    class Width(api.MapFunction):
        def open(self, runtime_context):
            self.width = runtime_context.get_number_of_parallel_subtasks()

        def map(self, value):
            return (self.width, value)

    return source.stream().map(Width()).force_non_parallel()


@program(inputs="pairs", order_by=lambda p: p[0])
def max_parallelism_set(api, env, source):
    keyed = source.stream().key_by(lambda p: p[0])
    return keyed.reduce(lambda a, b: (a[0], a[1] + b[1])).set_max_parallelism(7)
