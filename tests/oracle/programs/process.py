"""ProcessFunction, side outputs and what a context tells without keys."""

from __future__ import annotations

from oracle.catalogue import program


@program(inputs="ints")
def process_elements(api, env, source):
    class Twice(api.ProcessFunction):
        def process_element(self, value, ctx):
            yield value
            if value % 2:
                yield -value

    return source.stream(api.Types.INT()).process(Twice(), output_type=api.Types.INT())


@program(inputs="ints")
def side_output_one_tag(api, env, source):
    tag = api.OutputTag("odd", api.Types.INT())

    class Split(api.ProcessFunction):
        def process_element(self, value, ctx):
            if value % 2:
                yield tag, value
            else:
                yield value

    main = source.stream(api.Types.INT()).process(Split(), output_type=api.Types.INT())
    return {"main": main, "odd": main.get_side_output(tag)}


@program(inputs="triples")
def side_output_several_tags(api, env, source):
    types = api.Types
    negative = api.OutputTag("negative", types.LONG())
    texts = api.OutputTag("texts", types.STRING())
    pickled = api.OutputTag("pickled")

    class Split(api.ProcessFunction):
        def process_element(self, value, ctx):
            if value[1] < 0:
                yield negative, value[1]
            yield texts, value[2]
            yield pickled, value
            yield value[0]

    main = source.stream().process(Split(), output_type=types.STRING())
    return {
        "main": main,
        "negative": main.get_side_output(negative),
        "texts": main.get_side_output(texts),
        "pickled": main.get_side_output(pickled),
    }


@program(inputs="triples")
def side_output_of_rows(api, env, source):
    types, Row = api.Types, api.Row
    rows = api.OutputTag("rows", types.ROW_NAMED(["key", "n"], [types.STRING(), types.INT()]))

    class Split(api.ProcessFunction):
        def process_element(self, value, ctx):
            yield rows, Row(value[0], value[1])

    main = source.stream().process(Split())
    side = main.get_side_output(rows)
    return {"main": main, "rows": side, "names": side.map(lambda row: (row.key, row.n))}


@program(inputs="small_ints")
def side_output_processed_further(api, env, source):
    tag = api.OutputTag("negative", api.Types.INT())

    class Split(api.ProcessFunction):
        def process_element(self, value, ctx):
            if value < 0:
                yield tag, value
            else:
                yield value

    main = source.stream(api.Types.INT()).process(Split(), output_type=api.Types.INT())
    side = main.get_side_output(tag).map(lambda value: value * 100, output_type=api.Types.INT())
    return main.union(side)


@program(inputs="pairs")
def side_output_from_keyed_process(api, env, source):
    tag = api.OutputTag("zero")

    class Split(api.KeyedProcessFunction):
        def process_element(self, value, ctx):
            if value[1] == 0:
                yield tag, (ctx.get_current_key(), "zero")
            else:
                yield value

    main = source.stream().key_by(lambda p: p[0]).process(Split())
    return {"main": main, "zero": main.get_side_output(tag)}


@program(inputs={"left": "small_ints", "right": "small_ints"})
def side_output_from_co_process(api, env, source):
    tag = api.OutputTag("negative", api.Types.INT())

    class Split(api.CoProcessFunction):
        def process_element1(self, value, ctx):
            if value < 0:
                yield tag, value
            else:
                yield ("L", value)

        def process_element2(self, value, ctx):
            if value < 0:
                yield tag, value * 100
            else:
                yield ("R", value)

    main = source.stream(None, "left").connect(source.stream(None, "right")).process(Split())
    return {"main": main, "negative": main.get_side_output(tag)}


@program(inputs="small_ints", fails=True)
def fails_empty_tag_id(api, env, source):
    source.stream().get_side_output(api.OutputTag(""))


@program(inputs="small_ints", fails=True)
def fails_side_output_of_wrong_type(api, env, source):
    tag = api.OutputTag("text", api.Types.STRING())

    class Split(api.ProcessFunction):
        def process_element(self, value, ctx):
            yield tag, value

    main = source.stream().process(Split())
    return {"side": main.get_side_output(tag)}


@program(inputs="events")
def process_timestamps(api, env, source):
    class Stamp(api.ProcessFunction):
        def process_element(self, value, ctx):
            yield (value[0], value[1], ctx.timestamp())

    return source.event_time(source.stream()).process(Stamp())


@program(inputs="small_ints")
def process_without_timestamps(api, env, source):
    class Stamp(api.ProcessFunction):
        def process_element(self, value, ctx):
            yield (value, ctx.timestamp())

    return source.stream().process(Stamp())


@program(inputs="events")
def timestamps_survive_steps(api, env, source):
    """map, flat_map and filter keep the timestamp of the record they got."""

    class Stamp(api.ProcessFunction):
        def process_element(self, value, ctx):
            yield (value, ctx.timestamp())

    stream = source.event_time(source.stream())
    spread = stream.map(lambda e: (e[0], e[1])).flat_map(lambda p: [p, (p[0], -p[1])])
    return spread.filter(lambda p: p[1] >= 0).process(Stamp())


@program(inputs="events")
def assigner_sees_previous_timestamp(api, env, source):
    """A second assigner gets the timestamp of the first one; the first gets Long.MIN_VALUE."""

    class First(api.TimestampAssigner):
        def extract_timestamp(self, value, record_timestamp):
            return value[2] if record_timestamp == -(2**63) else 999

    class Second(api.TimestampAssigner):
        def extract_timestamp(self, value, record_timestamp):
            return record_timestamp + 1000

    class Stamp(api.ProcessFunction):
        def process_element(self, value, ctx):
            yield (value[0], ctx.timestamp())

    env.get_config().set_auto_watermark_interval(0)
    monotonous = api.WatermarkStrategy.for_monotonous_timestamps
    once = source.stream().assign_timestamps_and_watermarks(
        monotonous().with_timestamp_assigner(First())
    )
    twice = once.assign_timestamps_and_watermarks(monotonous().with_timestamp_assigner(Second()))
    return twice.process(Stamp())


@program(inputs="small_ints", fails=True)
def fails_timer_without_key(api, env, source):
    class Register(api.ProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value)
            yield value

    return source.stream().process(Register())
