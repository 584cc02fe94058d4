"""Joins and cumulate windows: the judges are Java Flink's DataStream API and Flink SQL.

PyFlink's DataStream has neither, so these programs say for each engine how the same is written.
"""

from __future__ import annotations

from oracle.catalogue import program
from oracle.joins import joins_of

TWO = {"left": "events", "right": "events"}
V6_2 = {
    "left": [("a", t, t) for t in (0, 2, 3, 4, 5, 7)],
    "right": [("a", t, t) for t in (0, 1, 6, 7)],
}
# even numbers are left, odd ones right
LATE = [
    ("a", 2, 1),
    ("a", 3, 2),
    ("a", 4, 12),
    ("a", 5, 11),
    ("a", 6, 3),
    ("a", 7, 10),
    ("b", 8, 14),
    ("a", 9, 14),
    ("a", 10, 13),
    ("a", 12, 12),
    ("a", 11, 40),
    ("a", 13, 4),
]


def by_key(record):
    return record[0]


def _types(api):
    return api.Types.ROW([api.Types.STRING(), api.Types.LONG(), api.Types.LONG()])


def _two(api, env, source):
    """Both parts of the input, in event time, and the engine's joins."""
    rows = _types(api)
    left, right = (source.event_time(source.stream(rows, part)) for part in TWO)
    return left, right, joins_of(api, env)


def _halves(api, env, source):
    """One input with a watermark after every record, cut by the number into two."""
    env.set_buffer_timeout(0)  # else watermarks of one side wait while records of the other go on
    joins = joins_of(api, env)
    stream = source.watermark_per_record(source.stream(_types(api)))
    return joins.half(stream, 0), joins.half(stream, 1), joins


@program(inputs=TWO, order_by=by_key, examples={"V6.2": V6_2})
def join_tumbling(api, env, source):
    left, right, joins = _two(api, env, source)
    return joins.join(left, right, 10)


@program(inputs=TWO, order_by=by_key)
def join_sliding(api, env, source):
    left, right, joins = _two(api, env, source)
    return joins.join(left, right, 20, 5)


@program(inputs=TWO)
def join_session(api, env, source):
    left, right, joins = _two(api, env, source)
    return joins.join(left, right, -6)


@program(inputs=TWO, order_by=by_key)
def co_group_tumbling(api, env, source):
    left, right, joins = _two(api, env, source)
    return joins.co_group(left, right, 20)


@program(inputs=TWO, order_by=by_key)
def co_group_sliding_with_gaps(api, env, source):
    left, right, joins = _two(api, env, source)
    return joins.co_group(left, right, 4, 9)


@program(inputs=TWO)
def interval_join(api, env, source):
    left, right, joins = _two(api, env, source)
    return joins.interval_join(left, right, -20, 10)


@program(inputs=TWO, examples={"V6.2": V6_2})
def interval_join_narrow(api, env, source):
    left, right, joins = _two(api, env, source)
    return joins.interval_join(left, right, -2, 1)


@program(inputs=TWO, examples={"V6.2": V6_2})
def interval_join_exclusive(api, env, source):
    left, right, joins = _two(api, env, source)
    return joins.interval_join(left, right, -2, 1, exclusive=True)


@program(inputs=TWO)
def interval_join_after_only(api, env, source):
    left, right, joins = _two(api, env, source)
    return joins.interval_join(left, right, 5, 30)


@program(inputs="events", parallelism=1, per_record_watermarks=True, examples={"vector": LATE})
def interval_join_late(api, env, source):
    """Late records leave by their own outputs, and records are forgotten as Flink forgets them."""
    left, right, joins = _halves(api, env, source)
    return joins.interval_join(left, right, -4, 2)


@program(inputs="events", parallelism=1, per_record_watermarks=True, examples={"vector": LATE})
def interval_join_late_before_only(api, env, source):
    left, right, joins = _halves(api, env, source)
    return joins.interval_join(left, right, -8, 0)


@program(inputs="events", parallelism=1, per_record_watermarks=True, examples={"vector": LATE})
def join_late(api, env, source):
    left, right, joins = _halves(api, env, source)
    return joins.join(left, right, 10)


@program(inputs="events", parallelism=1, per_record_watermarks=True, examples={"vector": LATE})
def join_late_allowed(api, env, source):
    left, right, joins = _halves(api, env, source)
    return joins.join(left, right, 10, 0, 15)


@program(inputs="events", parallelism=1, per_record_watermarks=True, examples={"vector": LATE})
def join_session_late_allowed(api, env, source):
    left, right, joins = _halves(api, env, source)
    return joins.join(left, right, -5, 0, 10)


# --- cumulate ------------------------------------------------------------------------------------


def _cumulate(api, env, source, max_size, step, offset=0):
    """(key, start, end, count, sum) of cumulate windows, with times as SQL prints them."""
    stream = source.event_time(source.stream(_types(api)))
    if api.root == "pyflink":
        return _cumulate_in_sql(env, stream, max_size, step, offset)
    row = api.Row

    class Totals(api.ProcessWindowFunction):
        def process(self, key, context, elements):
            numbers = [element[1] for element in elements]
            window = context.window()
            yield row(key, shown(window.start), shown(window.end), len(numbers), sum(numbers))

    def shown(time):
        from datetime import UTC, datetime, timedelta

        moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=time)
        return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03}"

    windows = api.module("datastream.window").CumulateEventTimeWindows.of(max_size, step, offset)
    return stream.key_by(lambda event: event[0]).window(windows).process(Totals())


def _cumulate_in_sql(env, stream, max_size, step, offset):
    from pyflink.table import Schema, StreamTableEnvironment

    tables = StreamTableEnvironment.create(env)
    tables.get_config().set_local_timezone("UTC")
    schema = (
        Schema.new_builder()
        .column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    events = tables.from_data_stream(stream, schema)
    sign = "-" if offset < 0 else ""
    sizes = ", ".join(
        f"INTERVAL {sign if size is offset else ''}'{abs(size) / 1000:.3f}' SECOND"
        for size in ([step, max_size, offset] if offset else [step, max_size])
    )
    result = tables.sql_query(
        f"""
        SELECT f0, CAST(window_start AS STRING), CAST(window_end AS STRING), COUNT(*), SUM(f1)
        FROM TABLE(CUMULATE(TABLE {events}, DESCRIPTOR(ts), {sizes}))
        GROUP BY f0, window_start, window_end
        """
    )

    def plain(row):
        from pyflink.common import Row

        return Row(*row)

    return tables.to_data_stream(result).map(plain)


@program(inputs="events")
def cumulate(api, env, source):
    return _cumulate(api, env, source, 30, 10)


@program(inputs="events")
def cumulate_in_one_step(api, env, source):
    return _cumulate(api, env, source, 20, 20)


@program(inputs="events")
def cumulate_with_offset(api, env, source):
    return _cumulate(api, env, source, 40, 8, 13)
