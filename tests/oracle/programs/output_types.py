"""Every declared output type, from a collection and through a map."""

from __future__ import annotations

import datetime
import decimal

from oracle.catalogue import program


def both_ways(source, type_info, convert=lambda value: value, *, collected=True):
    """The records as a map with this output type gives them: collected, and read by a next step.

    The exchange keeps PyFlink from fusing the steps: only serialized records are converted.
    `collected=False` leaves out what PyFlink's own execute_and_collect cannot decode (README.md).
    """
    typed = source.stream().map(convert, output_type=type_info)
    read = typed.rebalance().map(lambda value: (type(value).__name__, value))
    return {"typed": typed, "read": read} if collected else read


@program(inputs="small_ints")
def type_byte(api, env, source):
    return both_ways(source, api.Types.BYTE())


@program(inputs="small_ints")
def type_short(api, env, source):
    return both_ways(source, api.Types.SHORT())


@program(inputs="ints")
def type_int(api, env, source):
    return both_ways(source, api.Types.INT())


@program(inputs="longs")
def type_long(api, env, source):
    return both_ways(source, api.Types.LONG())


@program(inputs="halves")
def type_float(api, env, source):
    return both_ways(source, api.Types.FLOAT())


@program(inputs="halves")
def type_double(api, env, source):
    return both_ways(source, api.Types.DOUBLE())


@program(inputs="bools")
def type_boolean(api, env, source):
    return both_ways(source, api.Types.BOOLEAN())


@program(inputs="texts")
def type_string(api, env, source):
    return both_ways(source, api.Types.STRING())


@program(inputs="longs")
def type_big_dec(api, env, source):
    return both_ways(source, api.Types.BIG_DEC(), lambda value: decimal.Decimal(value).scaleb(-3))


@program(inputs="ints")
def type_sql_date(api, env, source):
    def convert(value):
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=value % 40000 - 20000)

    return both_ways(source, api.Types.SQL_DATE(), convert)


@program(inputs="ints")
def type_sql_time(api, env, source):
    def convert(value):
        seconds, millis = divmod(value % 86_400_000, 1000)
        return datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60, millis * 1000)

    return both_ways(source, api.Types.SQL_TIME(), convert)


@program(inputs="ints")
def type_sql_timestamp(api, env, source):
    def convert(value):
        return datetime.datetime(2024, 2, 29) + datetime.timedelta(
            seconds=value, milliseconds=value % 1000
        )

    return both_ways(source, api.Types.SQL_TIMESTAMP(), convert, collected=False)


@program(inputs="ints")
def type_instant(api, env, source):
    Instant = api.Instant

    def convert(value):
        return Instant(value, value % 1000 * 1_000_000)

    return both_ways(source, api.Types.INSTANT(), convert, collected=False)


@program(inputs="triples")
def type_tuple(api, env, source):
    types = api.Types
    return both_ways(source, types.TUPLE([types.STRING(), types.INT(), types.STRING()]))


@program(inputs="triples")
def type_row(api, env, source):
    types, Row = api.Types, api.Row
    row_type = types.ROW([types.STRING(), types.INT(), types.STRING()])
    return both_ways(source, row_type, lambda value: Row(*value))


@program(inputs="triples")
def type_row_named(api, env, source):
    types, Row = api.Types, api.Row
    row_type = types.ROW_NAMED(["key", "n", "text"], [types.STRING(), types.INT(), types.STRING()])
    return both_ways(source, row_type, lambda value: Row(*value))


@program(inputs="triples")
def type_row_named_by_keyword(api, env, source):
    """Keyword rows are matched by name, in whatever order they were given."""
    types, Row = api.Types, api.Row
    row_type = types.ROW_NAMED(["key", "n", "text"], [types.STRING(), types.INT(), types.STRING()])
    return both_ways(source, row_type, lambda value: Row(text=value[2], key=value[0], n=value[1]))


@program(inputs="optional_pairs")
def type_row_with_none(api, env, source):
    types, Row = api.Types, api.Row
    return both_ways(source, types.ROW([types.STRING(), types.INT()]), lambda value: Row(*value))


@program(inputs="pairs")
def type_row_nested(api, env, source):
    types, Row = api.Types, api.Row
    inner = types.ROW_NAMED(["n", "double"], [types.INT(), types.DOUBLE()])
    outer = types.ROW_NAMED(
        ["key", "inner", "all"], [types.STRING(), inner, types.LIST(types.INT())]
    )
    return both_ways(
        source, outer, lambda value: Row(value[0], Row(value[1], value[1] / 2), [value[1]] * 2)
    )


@program(inputs="pairs")
def type_row_fields_by_name(api, env, source):
    types, Row = api.Types, api.Row
    row_type = types.ROW_NAMED(["key", "n"], [types.STRING(), types.INT()])
    rows = source.stream().map(lambda v: Row(key=v[0], n=v[1]), output_type=row_type)
    return rows.map(lambda row: (row.key, row["n"], row[1], len(row), "n" in row))


@program(inputs="int_lists")
def type_list(api, env, source):
    return both_ways(source, api.Types.LIST(api.Types.INT()))


@program(inputs="maps")
def type_map(api, env, source):
    return both_ways(source, api.Types.MAP(api.Types.STRING(), api.Types.INT()))


@program(inputs="int_lists")
def type_primitive_array(api, env, source):
    return both_ways(source, api.Types.PRIMITIVE_ARRAY(api.Types.INT()))


@program(inputs="text_lists")
def type_basic_array(api, env, source):
    return both_ways(source, api.Types.BASIC_ARRAY(api.Types.STRING()))


@program(inputs="int_lists")
def type_object_array(api, env, source):
    types = api.Types
    array = types.OBJECT_ARRAY(types.TUPLE([types.INT(), types.INT()]))
    return both_ways(source, array, lambda value: [(item, -item) for item in value])


@program(inputs="bytes")
def type_byte_array(api, env, source):
    return both_ways(source, api.Types.PRIMITIVE_ARRAY(api.Types.BYTE()))


@program(inputs="objects")
def type_pickled(api, env, source):
    return both_ways(source, api.Types.PICKLED_BYTE_ARRAY(), lambda value: {"value": value})


@program(inputs="triples")
def collection_of_tuples(api, env, source):
    types = api.Types
    return source.stream(types.TUPLE([types.STRING(), types.LONG(), types.STRING()]))


@program(inputs="triples")
def collection_of_rows(api, env, source):
    types = api.Types
    row_type = types.ROW_NAMED(["key", "n", "text"], [types.STRING(), types.INT(), types.STRING()])
    rows = [api.Row(*record) for record in source.data]
    stream = env.from_collection(rows, row_type)
    return {"rows": stream, "read": stream.map(lambda row: (row.key, row.n, row.text))}


@program(
    inputs="wide_ints",
    examples={
        "edges": [127, 128, 255, 256, -129, 32768, 43878, 2**31, 9147483648, 2**63 - 1, -(2**63)]
    },
)
def collection_of_integers_beyond_their_types(api, env, source):
    types, Row = api.Types, api.Row
    numbers = [types.BYTE(), types.SHORT(), types.INT(), types.LONG()]
    rows = [Row(n, n, n, n, [n], {n: n}) for n in source.data]
    nested = [types.BASIC_ARRAY(types.INT()), types.MAP(types.SHORT(), types.BYTE())]
    tuples = [(n, (n, n)) for n in source.data]
    return {
        "bytes": source.stream(types.BYTE()),
        "rows": env.from_collection(rows, types.ROW([*numbers, *nested])),
        "tuples": env.from_collection(
            tuples, types.TUPLE([types.SHORT(), types.TUPLE([types.BYTE(), types.INT()])])
        ),
    }


@program(inputs="ints")
def collection_of_dates(api, env, source):
    first = datetime.date(2000, 1, 1)
    dates = [first + datetime.timedelta(days=value % 9999) for value in source.data]
    return env.from_collection(dates, api.Types.SQL_DATE()).map(lambda day: day.isoformat())


@program(inputs="longs")
def collection_of_decimals(api, env, source):
    values = [decimal.Decimal(value).scaleb(-2) for value in source.data]
    return env.from_collection(values, api.Types.BIG_DEC()).map(str)


@program(inputs="texts", fails=True, examples={"words": ["one", "two"]}, generated=False)
def fails_string_declared_int(api, env, source):
    return source.stream().map(lambda value: value, output_type=api.Types.INT())


@program(inputs="ints", fails=True, examples={"numbers": [1, 2]}, generated=False)
def fails_int_declared_string(api, env, source):
    return source.stream().map(lambda value: value, output_type=api.Types.STRING())


@program(inputs="pairs", fails=True, examples={"pairs": [("a", 1)]}, generated=False)
def fails_wrong_field_type(api, env, source):
    types = api.Types
    declared = types.TUPLE([types.INT(), types.INT()])
    return source.stream().map(lambda value: value, output_type=declared)


@program(inputs="ints", fails=True, examples={"too big": [2**40]}, generated=False)
def fails_int_overflow(api, env, source):
    return source.stream().map(lambda value: value, output_type=api.Types.INT())


@program(inputs="ints", fails=True, examples={"not a list": [7]}, generated=False)
def fails_int_declared_list(api, env, source):
    return source.stream().map(lambda value: value, output_type=api.Types.LIST(api.Types.INT()))


@program(inputs="optional_pairs", fails=True, examples={"none": [("a", None)]}, generated=False)
def fails_none_in_tuple(api, env, source):
    """A tuple's fields cannot be None, a row's can."""
    types = api.Types
    declared = types.TUPLE([types.STRING(), types.INT()])
    return source.stream().map(lambda value: value, output_type=declared)
