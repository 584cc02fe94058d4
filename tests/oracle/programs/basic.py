"""map, flat_map and filter: lambdas, function classes, rich functions."""

from __future__ import annotations

from oracle.catalogue import program


@program(inputs="ints")
def map_lambda(api, env, source):
    return source.stream(api.Types.INT()).map(
        lambda value: value * 3 - 1, output_type=api.Types.INT()
    )


@program(inputs="objects")
def map_pickled(api, env, source):
    return source.stream().map(lambda value: (type(value).__name__, value))


@program(inputs="ints")
def map_function_class(api, env, source):
    class Add(api.MapFunction):
        def __init__(self, amount):
            self.amount = amount

        def map(self, value):
            return value + self.amount

    return source.stream(api.Types.INT()).map(Add(7), output_type=api.Types.LONG())


@program(inputs="texts")
def map_rich_function(api, env, source):
    """Open runs before the first record; the runtime context knows the parallelism."""

    class Tagging(api.MapFunction):
        def open(self, runtime_context):
            self.width = runtime_context.get_number_of_parallel_subtasks()
            index = runtime_context.get_index_of_this_subtask()
            self.in_range = 0 <= index < self.width

        def map(self, value):
            return (self.width, self.in_range, value)

    return source.stream(api.Types.STRING()).map(Tagging())


@program(inputs="small_ints")
def map_counts_per_instance(api, env, source):
    """One instance at parallelism 1 sees the whole input in order."""

    class Number(api.MapFunction):
        def open(self, runtime_context):
            self.seen = 0

        def map(self, value):
            self.seen += 1
            return (self.seen, value)

    return source.stream().map(Number()).set_parallelism(1)


@program(inputs="sentences")
def flat_map_lambda(api, env, source):
    return source.stream(api.Types.STRING()).flat_map(
        lambda line: line.split(), output_type=api.Types.STRING()
    )


@program(inputs="sentences")
def flat_map_generator_class(api, env, source):
    class Words(api.FlatMapFunction):
        def flat_map(self, value):
            yield from enumerate(value.split())

    return source.stream().flat_map(Words())


@program(inputs="small_ints")
def flat_map_sometimes_nothing(api, env, source):
    def repeat(value):
        return [value] * value if value > 0 else ()

    return source.stream(api.Types.INT()).flat_map(repeat, output_type=api.Types.INT())


@program(inputs="small_ints", fails=True)
def fails_flat_map_returning_none(api, env, source):
    return source.stream().flat_map(lambda value: None)


@program(inputs="ints")
def filter_lambda(api, env, source):
    return source.stream(api.Types.INT()).filter(lambda value: value % 2 == 0)


@program(inputs="triples")
def filter_function_class(api, env, source):
    class Longer(api.FilterFunction):
        def __init__(self, length):
            self.length = length

        def filter(self, value):
            return len(value[2]) > self.length

    return source.stream().filter(Longer(3))


@program(inputs="small_ints")
def filter_truthy_results(api, env, source):
    """A filter may return any object; its truth decides."""
    return source.stream(api.Types.INT()).filter(lambda value: [value] if value > 2 else "")


@program(inputs="sentences")
def word_lengths_chain(api, env, source):
    types = api.Types
    return (
        source.stream(types.STRING())
        .flat_map(lambda line: line.split(" "), output_type=types.STRING())
        .filter(lambda word: word != "be")
        .map(lambda word: (word, len(word)), output_type=types.TUPLE([types.STRING(), types.INT()]))
    )


@program(inputs="small_ints", fails=True)
def fails_map_returning_none(api, env, source):
    """None is not a record, not even on a pickled stream."""
    return source.stream().map(lambda value: None)


@program(inputs="objects")
def none_inside_records(api, env, source):
    """None as a part of a record is fine."""
    return source.stream().map(lambda value: (value, None)).map(lambda pair: [None, pair])


@program(inputs="ints", parallelism=1, alone=True)
def named_operators(api, env, source):
    """Names, uids, descriptions, buffer timeout and slot groups change no result."""
    stream = source.stream(api.Types.INT()).name("numbers")
    mapped = stream.map(lambda value: value + 1, output_type=api.Types.INT())
    mapped.name("plus one").uid("plus-one").set_description("adds one").set_buffer_timeout(10)
    seen = mapped.get_name()
    return mapped.map(lambda value: (seen, value))


@program(inputs="ints", alone=True)
def chaining_disabled_globally(api, env, source):
    env.disable_operator_chaining()
    enabled = env.is_chaining_enabled()
    return source.stream().map(lambda value: value + 1).map(lambda value: (enabled, value))


@program(inputs="ints")
def chaining_controls(api, env, source):
    return (
        source.stream()
        .map(lambda value: value + 1)
        .start_new_chain()
        .map(lambda value: value * 2)
        .disable_chaining()
        .filter(lambda value: value % 3 != 0)
        .map(lambda value: -value)
    )


@program(inputs="small_ints", fails=True)
def fails_in_map(api, env, source):
    def broken(value):
        raise ValueError(f"cannot use {value}")

    return source.stream().map(broken)


@program(inputs="small_ints", fails=True)
def fails_in_open(api, env, source):
    class Broken(api.MapFunction):
        def open(self, runtime_context):
            raise RuntimeError("no connection")

        def map(self, value):
            return value

    return source.stream().map(Broken())


@program(inputs="small_ints", fails=True)
def fails_map_without_function(api, env, source):
    return source.stream().map("not a function")


@program(inputs="small_ints", fails=True)
def fails_filter_without_function(api, env, source):
    return source.stream().filter(42)
