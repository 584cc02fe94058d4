"""key_by with rolling reduce and aggregations, by many kinds of key."""

from __future__ import annotations

import decimal

from oracle.catalogue import program


def first(record):
    return record[0]


@program(inputs="pairs", order_by=first)
def reduce_rolling(api, env, source):
    types = api.Types
    stream = source.stream(types.TUPLE([types.STRING(), types.INT()]))
    return stream.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


@program(inputs="pairs", order_by=first, parallelism=1, alone=True)
def keyed_stream_collected(api, env, source):
    types = api.Types
    typed = source.stream(types.TUPLE([types.STRING(), types.INT()]))
    return typed.key_by(lambda pair: pair[0], types.STRING())


@program(inputs="pairs", order_by=first)
def reduce_pickled(api, env, source):
    return source.stream().key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] * 2 + b[1]))


@program(inputs="int_pairs", order_by=first)
def reduce_function_class(api, env, source):
    class KeepLarger(api.ReduceFunction):
        def reduce(self, value1, value2):
            return value1 if value1[1] >= value2[1] else value2

    types = api.Types
    stream = source.stream(types.TUPLE([types.INT(), types.INT()]))
    return stream.key_by(lambda pair: pair[0], key_type=types.INT()).reduce(KeepLarger())


@program(inputs="triples", order_by=lambda record: (record[0], record[1] % 2))
def reduce_by_tuple_key(api, env, source):
    types = api.Types
    stream = source.stream(types.TUPLE([types.STRING(), types.INT(), types.STRING()]))
    keyed = stream.key_by(
        lambda record: (record[0], record[1] % 2),
        key_type=types.TUPLE([types.STRING(), types.INT()]),
    )
    return keyed.reduce(lambda a, b: (a[0], a[1] % 2, a[2] + b[2]))


@program(inputs="triples", order_by=first)
def reduce_by_row_field(api, env, source):
    types, Row = api.Types, api.Row
    row_type = types.ROW_NAMED(["key", "n", "text"], [types.STRING(), types.INT(), types.STRING()])
    rows = (
        source.stream()
        .map(lambda r: Row(key=r[0], n=r[1], text=r[2]), output_type=row_type)
        .set_parallelism(1)
    )
    keyed = rows.key_by(lambda row: row.key, key_type=types.STRING())
    return keyed.reduce(lambda a, b: Row(key=a.key, n=a.n + b.n, text=b.text))


@program(inputs="pairs", order_by=first)
def reduce_with_key_selector(api, env, source):
    class FirstField(api.KeySelector):
        def get_key(self, value):
            return value[0]

    return source.stream().key_by(FirstField()).reduce(lambda a, b: (a[0], max(a[1], b[1])))


@program(inputs="small_ints", order_by=lambda value: value % 3 if value >= 0 else -1, parallelism=1)
def reduce_ints_by_remainder(api, env, source):
    """At parallelism 1 the whole order is fixed; the rolling sum leaves its own key class."""
    keyed = source.stream(api.Types.INT()).key_by(lambda value: value % 3, key_type=api.Types.INT())
    return keyed.reduce(lambda a, b: a + 3 * (b // 3))


@program(inputs="optional_pairs", order_by=first)
def reduce_none_values(api, env, source):
    def merge(a, b):
        return (a[0], b[1] if a[1] is None else a[1] if b[1] is None else a[1] + b[1])

    return source.stream().key_by(lambda pair: pair[0]).reduce(merge)


@program(inputs="pairs", order_by=first)
def sum_by_position(api, env, source):
    types = api.Types
    return source.stream(types.TUPLE([types.STRING(), types.INT()])).key_by(lambda p: p[0]).sum(1)


@program(inputs="float_pairs", order_by=first)
def sum_floats(api, env, source):
    types = api.Types
    return (
        source.stream(types.TUPLE([types.STRING(), types.DOUBLE()])).key_by(lambda p: p[0]).sum(1)
    )


@program(inputs="small_ints")
def sum_basic_type(api, env, source):
    return source.stream(api.Types.INT()).key_by(lambda value: value % 2 == 0).sum()


def _rolling_decimals(api, env, source, kind):
    """Plain decimals by the parity of their unscaled value; as text, with its scale."""
    values = [decimal.Decimal(value).scaleb(-2) for value in source.data]
    keyed = env.from_collection(values, api.Types.BIG_DEC()).key_by(
        lambda value: int(value.scaleb(2)) % 2
    )
    return getattr(keyed, kind)().map(repr)


@program(inputs="small_ints")
def sum_decimals(api, env, source):
    return _rolling_decimals(api, env, source, "sum")


@program(inputs="small_ints")
def min_decimals(api, env, source):
    return _rolling_decimals(api, env, source, "min")


@program(inputs="small_ints")
def max_decimals(api, env, source):
    return _rolling_decimals(api, env, source, "max")


@program(inputs="small_ints")
def min_by_decimals(api, env, source):
    return _rolling_decimals(api, env, source, "min_by")


@program(inputs="small_ints")
def max_by_decimals(api, env, source):
    return _rolling_decimals(api, env, source, "max_by")


@program(inputs="triples", order_by=first)
def min_by_position(api, env, source):
    """Min keeps the other fields of the FIRST record."""
    types = api.Types
    stream = source.stream(types.TUPLE([types.STRING(), types.INT(), types.STRING()]))
    return stream.key_by(lambda record: record[0]).min(1)


@program(inputs="triples", order_by=first)
def max_by_position(api, env, source):
    types = api.Types
    stream = source.stream(types.TUPLE([types.STRING(), types.INT(), types.STRING()]))
    return stream.key_by(lambda record: record[0]).max(1)


@program(inputs="triples", order_by=first)
def min_by_whole_record(api, env, source):
    """min_by gives the whole record with the smallest field; ties keep the first."""
    types = api.Types
    stream = source.stream(types.TUPLE([types.STRING(), types.INT(), types.STRING()]))
    return stream.key_by(lambda record: record[0]).min_by(1)


@program(inputs="triples", order_by=first)
def max_by_whole_record(api, env, source):
    return source.stream().key_by(lambda record: record[0]).max_by(2)


def _rows(api, source):
    types, Row = api.Types, api.Row
    row_type = types.ROW_NAMED(["key", "n", "text"], [types.STRING(), types.INT(), types.STRING()])
    # Row(*record) would have no names in PyFlink until it is serialized, see README.md.
    return (
        source.stream()
        .map(lambda r: Row(key=r[0], n=r[1], text=r[2]), output_type=row_type)
        .set_parallelism(1)
    )


@program(inputs="triples", order_by=first)
def sum_by_name(api, env, source):
    return _rows(api, source).key_by(lambda row: row.key).sum("n")


@program(inputs="triples", order_by=first)
def min_by_name(api, env, source):
    return _rows(api, source).key_by(lambda row: row.key).min("n")


@program(inputs="triples", order_by=first)
def max_by_name(api, env, source):
    return _rows(api, source).key_by(lambda row: row.key).max("text")


@program(inputs="triples", order_by=first)
def min_by_by_name(api, env, source):
    return _rows(api, source).key_by(lambda row: row.key).min_by("n")


@program(inputs="triples", order_by=first)
def max_by_by_name(api, env, source):
    return _rows(api, source).key_by(lambda row: row.key).max_by("n")


@program(inputs="pairs", order_by=first)
def keyed_map(api, env, source):
    return source.stream().key_by(lambda pair: pair[0]).map(lambda pair: (pair[0], -pair[1]))


@program(inputs="pairs", order_by=first)
def keyed_flat_map(api, env, source):
    keyed = source.stream().key_by(lambda pair: pair[0])
    return keyed.flat_map(lambda pair: [(pair[0], n) for n in range(max(pair[1], 0))])


@program(inputs="pairs", order_by=first)
def keyed_filter(api, env, source):
    types = api.Types
    stream = source.stream(types.TUPLE([types.STRING(), types.INT()]))
    return stream.key_by(lambda pair: pair[0]).filter(lambda pair: pair[1] >= 0)


@program(inputs="pairs", order_by=first)
def keyed_map_one_instance_per_key(api, env, source):
    """All records of a key meet the same function instance."""

    class Count(api.MapFunction):
        def open(self, runtime_context):
            self.counts = {}

        def map(self, value):
            self.counts[value[0]] = self.counts.get(value[0], 0) + 1
            return (value[0], self.counts[value[0]], value[1])

    return source.stream().key_by(lambda pair: pair[0]).map(Count())


@program(inputs="pairs")
def chained_keyed_stages(api, env, source):
    """The second stage gets records of many keys in no fixed order, so it only counts."""
    types = api.Types
    pair = types.TUPLE([types.STRING(), types.INT()])
    per_key = source.stream(pair).key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    counted = per_key.map(
        lambda p: (len(p[0]), 1), output_type=types.TUPLE([types.INT(), types.INT()])
    )
    return counted.key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


@program(inputs="pairs", parallelism=1, order_by=first)
def chained_keyed_stages_in_order(api, env, source):
    per_key = source.stream().key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    by_length = per_key.key_by(lambda p: len(p[0])).reduce(lambda a, b: (b[0], a[1] * 2 + b[1]))
    return by_length.key_by(lambda p: p[0]).map(lambda p: (len(p[0]), p))


@program(inputs="pairs", order_by=first)
def rekeyed_keyed_stream(api, env, source):
    """key_by on a KeyedStream replaces the key."""
    keyed = source.stream().key_by(lambda pair: pair[1]).key_by(lambda pair: pair[0])
    return keyed.reduce(lambda a, b: (a[0], a[1] + b[1]))


@program(inputs="sentences", order_by=first)
def word_count(api, env, source):
    types = api.Types
    pair = types.TUPLE([types.STRING(), types.INT()])
    words = source.stream(types.STRING()).flat_map(str.split, output_type=types.STRING())
    ones = words.map(lambda word: (word, 1), output_type=pair)
    return ones.key_by(lambda p: p[0]).sum(1)


@program(inputs="bools")
def key_by_bool(api, env, source):
    ones = source.stream(api.Types.BOOLEAN()).map(lambda value: (value, 1))
    return ones.key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


@program(inputs="float_pairs", order_by=lambda record: record[1])
def key_by_float(api, env, source):
    return source.stream().key_by(lambda p: p[1]).reduce(lambda a, b: (a[0] + "+" + b[0], a[1]))


@program(inputs="optional_pairs", order_by=lambda record: record[1])
def key_by_none(api, env, source):
    """None is a key like any other when the key is pickled."""
    return source.stream().key_by(lambda p: p[1]).reduce(lambda a, b: (a[0] + "+" + b[0], a[1]))


@program(inputs="triples", order_by=lambda record: record[0])
def key_by_list_value(api, env, source):
    """Keys that Python cannot hash work when pickled."""
    keyed = source.stream().key_by(lambda r: [r[0], len(r[2]) > 3])
    return keyed.reduce(lambda a, b: (a[0], a[1] + b[1], a[2])).map(
        lambda r: ((r[0], len(r[2]) > 3), r[1])
    )


@program(inputs="small_ints", fails=True)
def fails_in_key_selector(api, env, source):
    return source.stream().key_by(lambda value: 1 // 0).reduce(lambda a, b: a)


@program(inputs="pairs", fails=True, examples={"two": [("a", 1), ("a", 2)]}, generated=False)
def fails_sum_of_missing_position(api, env, source):
    return source.stream().key_by(lambda pair: pair[0]).sum(5)


@program(inputs="small_ints", fails=True)
def fails_reduce_without_function(api, env, source):
    return source.stream().key_by(lambda value: value).reduce(None)
