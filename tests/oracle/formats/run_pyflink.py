"""Asks Flink's own schemas, through PyFlink's gateway to them; no job runs.

In: cases.py.  Out: golden.json beside this file.
Run: .venv-oracle/bin/python tests/oracle/formats/run_pyflink.py
"""

from __future__ import annotations

import decimal
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from pyflink.common import Types
from pyflink.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from pyflink.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema

from oracle.formats.cases import CASES, Case

ERROR = "error"


def canonical(value: Any) -> Any:
    """A Java value as JSON that tells types apart."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, bytes | bytearray):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, decimal.Decimal):
        return {"decimal": str(value)}
    kind = value.getClass()
    name = kind.getSimpleName()
    if name == "Row":
        return {"row": [canonical(value.getField(i)) for i in range(value.getArity())]}
    if kind.isArray() or name.endswith("List"):
        return [canonical(item) for item in value]
    if name.endswith("Map"):
        return {"map": sorted(([canonical(key), canonical(value[key])] for key in value), key=str)}
    if name == "BigInteger":
        return int(value.toString())
    return {name: value.toString()}


def outcome(schema: Any, message: bytes) -> Any:
    """The record, or that there is none."""
    try:
        return canonical(schema.deserialize(message))
    except Exception:
        return ERROR


def written(case: Case, message: bytes) -> Any:
    """The text that Flink writes for the row of a message."""
    kind = eval(case.type, {"Types": Types})
    reader = JsonRowDeserializationSchema.builder().type_info(kind).build()
    try:
        if case.schema == "to json":
            builder = JsonRowSerializationSchema.builder().with_type_info(kind)
        else:
            builder = CsvRowSerializationSchema.Builder(kind)
        for option, arguments in case.options.items():
            builder = getattr(builder, option)(*arguments)
        writer = builder.build()._j_serialization_schema
        reader = reader._j_deserialization_schema
        reader.open(None)
        writer.open(None)
        return bytes(writer.serialize(reader.deserialize(message))).decode()
    except Exception:
        return ERROR


def schema_of(case: Case) -> Any:
    """Flink's schema for a case."""
    kind = eval(case.type, {"Types": Types})
    if case.schema == "json":
        builder = JsonRowDeserializationSchema.builder().type_info(kind)
    else:
        builder = CsvRowDeserializationSchema.Builder(kind)
    for option, arguments in case.options.items():
        builder = getattr(builder, option)(*arguments)
    schema = builder.build()._j_deserialization_schema
    schema.open(None)
    return schema


if __name__ == "__main__":
    answers = {}
    for case in CASES:
        if case.schema.startswith("to "):
            answers[case.name] = [written(case, message) for message in case.inputs]
            continue
        schema = schema_of(case)
        answers[case.name] = [outcome(schema, message) for message in case.inputs]
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in answers.items()]
    Path(__file__).with_name("golden.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
