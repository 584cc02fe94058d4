"""File sources and sinks, number sequences."""

from __future__ import annotations

from oracle.catalogue import program


def _write_parts(source, files=2):
    """The input as text lines, dealt out to several files."""
    lines = list(source.data)
    for number in range(files):
        path = source.directory / f"part-{number}.txt"
        own = lines[number::files]
        path.write_text("".join(f"{line}\n" for line in own), encoding="utf-8")


@program(inputs="lines")
def file_source_text(api, env, source):
    _write_parts(source)
    text = api.StreamFormat.text_line_format()
    files = api.FileSource.for_record_stream_format(text, str(source.directory)).build()
    stream = env.from_source(files, api.WatermarkStrategy.no_watermarks(), "files")
    return stream.map(lambda line: (len(line), line))


@program(inputs="lines")
def file_source_single_file_untouched(api, env, source):
    _write_parts(source, files=1)
    text = api.StreamFormat.text_line_format("UTF-8")
    path = str(source.directory / "part-0.txt")
    files = api.FileSource.for_record_stream_format(text, path).process_static_file_set().build()
    return env.from_source(files, api.WatermarkStrategy.no_watermarks(), "one file")


@program(inputs="lines")
def file_source_ignores_hidden_files(api, env, source):
    _write_parts(source)
    (source.directory / "_SUCCESS").write_text("hidden\n")
    (source.directory / ".crc").write_text("hidden\n")
    nested = source.directory / "deeper"
    nested.mkdir()
    (nested / "more.txt").write_text("seen\n")
    text = api.StreamFormat.text_line_format()
    files = api.FileSource.for_record_stream_format(text, str(source.directory)).build()
    return env.from_source(files, api.WatermarkStrategy.no_watermarks(), "files")


@program(
    inputs="text_pairs",
    generated=False,
    examples={
        "plain": [("a", 1), ("b", -2), ("ключ", 3)],
        "quoted": [('say "hi"', 1), ("x, y", 2), ("two\nlines", 3), ("", 4)],
    },
)
def file_source_csv(api, env, source):
    import csv

    with (source.directory / "data.csv").open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle, lineterminator="\n", quoting=csv.QUOTE_MINIMAL).writerows(source.data)
    csv_module = api.module("datastream.formats.csv")
    schema = csv_module.CsvSchema.builder().add_string_column("word").add_number_column("n").build()
    files = api.FileSource.for_record_stream_format(
        csv_module.CsvReaderFormat.for_schema(schema), str(source.directory)
    ).build()
    stream = env.from_source(files, api.WatermarkStrategy.no_watermarks(), "csv")
    return stream.map(lambda row: (row["word"], row["n"]))


@program(generated=False, examples={"missing": []}, fails=True)
def fails_missing_file(api, env, source):
    text = api.StreamFormat.text_line_format()
    path = str(source.directory / "nowhere")
    files = api.FileSource.for_record_stream_format(text, path).build()
    return env.from_source(files, api.WatermarkStrategy.no_watermarks(), "files")


@program(generated=False, examples={"up": [3, 17], "negative": [-4, 2], "one": [5, 5]})
def number_sequence(api, env, source):
    numbers = api.NumberSequenceSource(*source.data)
    stream = env.from_source(
        numbers, api.WatermarkStrategy.no_watermarks(), "numbers", type_info=api.Types.LONG()
    )
    return stream.map(lambda value: value * value, output_type=api.Types.LONG())


@program(generated=False, examples={"backwards": [9, 1]}, fails=True)
def fails_backward_sequence(api, env, source):
    numbers = api.NumberSequenceSource(*source.data)
    return env.from_source(numbers, api.WatermarkStrategy.no_watermarks(), "numbers")
