"""headrace's schemas against what Flink's own said to the same input (tests/oracle/formats)."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from headrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from headrace.errors import BadMessageError
from headrace.formats.java_parsing import single
from oracle.formats.cases import CASES, Case

GOLDEN = Path(__file__).parents[2] / "oracle" / "formats" / "golden.json"
ANSWERS: dict[str, list[Any]] = json.loads(GOLDEN.read_text())


def schema_of(case: Case) -> Any:
    kind = eval(case.type, {"Types": Types})
    builder: Any
    if case.schema == "json":
        builder = JsonRowDeserializationSchema.builder().type_info(kind)
    else:
        builder = CsvRowDeserializationSchema.Builder(kind)
    for option, arguments in case.options.items():
        builder = getattr(builder, option)(*arguments)
    return builder.build()


def canonical(value: Any) -> Any:
    """The counterpart of run_pyflink.py's function, for Python's values."""
    if isinstance(value, float):
        return {"float": value}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, decimal.Decimal):
        return {"decimal": value}
    if isinstance(value, dt.datetime):
        fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
        return {"Timestamp": f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"}
    if isinstance(value, dt.date):
        return {"Date": str(value)}
    if isinstance(value, dt.time):
        return {"Time": str(value)}
    if isinstance(value, Row):
        return {"row": [canonical(item) for item in value]}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, dict):
        return {"map": sorted(([canonical(k), canonical(v)] for k, v in value.items()), key=str)}
    return value


def same(ours: Any, flinks: Any) -> bool:
    """Whether two canonical values are equal; numbers by value, with the sign of zero."""
    if isinstance(flinks, dict) and isinstance(ours, dict):
        (kind,) = flinks
        if kind not in ours:
            return False
        if kind == "float":
            # Java shows a FLOAT with fewer digits than the number has.
            found = float(flinks[kind])
            return repr(ours[kind]) in (repr(found), repr(single(found)))
        if kind == "decimal":
            return bool(ours[kind] == decimal.Decimal(flinks[kind]))
        if kind == "Timestamp":
            return bool(ours[kind] == flinks[kind][:26])
        return same(ours[kind], flinks[kind])
    if isinstance(flinks, list) and isinstance(ours, list):
        return len(ours) == len(flinks) and all(map(same, ours, flinks))
    return type(ours) is type(flinks) and bool(ours == flinks)


READ = [case for case in CASES if not case.schema.startswith("to ")]
WRITTEN = [case for case in CASES if case.schema.startswith("to ")]


@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
def test_a_message_becomes_what_flink_makes_of_it(case: Case) -> None:
    schema, wrong = schema_of(case), []
    for message, flinks in zip(case.inputs, ANSWERS[case.name], strict=True):
        try:
            ours = canonical(schema.deserialize(message))
        except BadMessageError:
            ours = "error"
        if not same(ours, flinks):
            wrong.append(f"{message!r}: {ours!r}, Flink: {flinks!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", WRITTEN, ids=lambda case: case.name)
def test_a_row_is_written_as_flink_writes_it(case: Case) -> None:
    kind = eval(case.type, {"Types": Types})
    reader = JsonRowDeserializationSchema.builder().type_info(kind).build()
    pairs = zip(case.inputs, ANSWERS[case.name], strict=True)
    known = [(reader.deserialize(message), text) for message, text in pairs if text != "error"]
    builder: Any
    if case.schema == "to json":
        builder = JsonRowSerializationSchema.builder().with_type_info(kind)
    else:
        builder = CsvRowSerializationSchema.Builder(kind)
    for option, arguments in case.options.items():
        builder = getattr(builder, option)(*arguments)
    writer = builder.build()
    rows = [row for row, _ in known]
    assert [data.decode() for data in writer.serialize_many(rows)] == [text for _, text in known]
    assert [writer.serialize(row).decode() for row in rows] == [text for _, text in known]
