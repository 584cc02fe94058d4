"""What it costs to read and write messages: microseconds of CPU a record, in one process.

Run: python benchmarks/formats.py   (the bench extra has orjson, to compare with)
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common.serialization import SimpleStringSchema
from headrace.common.typeinfo import Types
from headrace.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from headrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = 100_000
ROW = Types.ROW_NAMED(
    ["user", "amount", "ts", "city", "ok"],
    [Types.STRING(), Types.DOUBLE(), Types.LONG(), Types.STRING(), Types.BOOLEAN()],
)


def micros(run: Callable[[], Any], count: int = COUNT, rounds: int = 3) -> float:
    """The best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
    return best / count * 1e6


def main() -> None:
    objects = [
        b'{"user":"u%05d","amount":%d.25,"ts":%d,"city":"Zurich","ok":true}'
        % (i % 10_000, i % 977, 1_700_000_000_000 + i)
        for i in range(COUNT)
    ]
    lines = [
        b"u%05d,%d.25,%d,Zurich,true" % (i % 10_000, i % 977, 1_700_000_000_000 + i)
        for i in range(COUNT)
    ]
    json_in = JsonRowDeserializationSchema.builder().type_info(ROW).build()
    json_out = JsonRowSerializationSchema.builder().with_type_info(ROW).build()
    csv_in = CsvRowDeserializationSchema.Builder(ROW).build()
    csv_out = CsvRowSerializationSchema.Builder(ROW).build()
    texts = SimpleStringSchema()
    columns, csv_columns = pa.array(objects, pa.binary()), pa.array(lines, pa.binary())
    assert json_in.deserialize_columns(columns) is not None
    assert csv_in.deserialize_columns(csv_columns) is not None
    rows = [json_in.deserialize(message) for message in objects]
    few = COUNT // 5
    print(f"{len(objects[0])} bytes of JSON, {len(lines[0])} of CSV, five fields")
    measured: list[tuple[str, Callable[[], Any], int]] = [
        ("JSON to columns", lambda: json_in.deserialize_columns(columns), COUNT),
        ("JSON to rows", lambda: [json_in.deserialize(m) for m in objects[:few]], few),
        ("json.loads", lambda: [json.loads(m) for m in objects[:few]], few),
        ("CSV to columns", lambda: csv_in.deserialize_columns(csv_columns), COUNT),
        ("CSV to rows", lambda: [csv_in.deserialize(m) for m in lines[:few]], few),
        ("texts to a column", lambda: texts.deserialize_columns(columns), COUNT),
        ("rows to JSON", lambda: json_out.serialize_many(rows), COUNT),
        ("one row to JSON", lambda: [json_out.serialize(r) for r in rows[:few]], few),
        ("rows to CSV", lambda: csv_out.serialize_many(rows[:few]), few),
    ]
    try:
        import orjson

        measured.append(("orjson.loads", lambda: [orjson.loads(m) for m in objects], COUNT))
    except ImportError:
        print("(without orjson)")
    for name, run, count in measured:
        print(f"{name:20} {micros(run, count):7.3f}")


if __name__ == "__main__":
    main()
