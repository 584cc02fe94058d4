"""Asks PyFlink for the changelogs of queries, and keeps them as goldens.

    .venv-oracle/bin/python tests/oracle/ask_operators.py [case ...]        all without names

In: operator_cases.py.  Out: tests/golden/operators.json: for each case the changes of its input and
its own, or what Flink says against it.  tests/unit/runtime/table/test_flink_goldens.py plays them
to single operators, without PyFlink.  Standard library and PyFlink only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from operator_cases import CASES, LINES
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, Schema, StreamTableEnvironment
from pyflink.table.expressions import col
from pyflink.table.types import TimestampType

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "operators.json"


def environment() -> StreamTableEnvironment:
    """One subtask, and the table `t`."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("table.local-time-zone", "UTC")
    types = Types.ROW_NAMED(["k", "v", "ts"], [Types.STRING(), Types.INT(), Types.LONG()])
    stream = env.from_collection([Row(*line) for line in LINES], types)
    schema = (
        Schema.new_builder()
        .column("k", DataTypes.STRING())
        .column("v", DataTypes.INT())
        .column("ts", DataTypes.BIGINT())
        .column_by_expression("rt", "CAST(TO_TIMESTAMP_LTZ(ts, 0) AS TIMESTAMP(3))")
        .column_by_expression("pt", "PROCTIME()")
        .watermark("rt", "rt - INTERVAL '1' SECOND")
        .build()
    )
    tables.create_temporary_view("t", tables.from_data_stream(stream, schema))
    return tables


def changes(tables: StreamTableEnvironment, table: Any) -> list[list[Any]]:
    """The changelog of a table."""
    schema = table.get_schema()
    pairs = zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
    stream = tables.to_changelog_stream(table.select(*(as_text(*pair) for pair in pairs)))
    found = []
    with stream.execute_and_collect() as rows:
        for row in rows:
            kind = ["+I", "-U", "+U", "-D"][row.get_row_kind().value]
            found.append([kind, *row])
    return found


def as_text(name: str, kind: Any) -> Any:
    """A column; PyFlink's streams have no times, so these are texts."""
    if isinstance(kind, TimestampType):
        return col(name).cast(DataTypes.STRING()).alias(name)
    return col(name)


def ask(inner: str | None, query: str) -> dict[str, Any]:
    """The changelogs of one case."""
    tables = environment()
    source = tables.from_path("t") if inner is None else tables.sql_query(inner)
    tables.create_temporary_view("input", source)
    found: dict[str, Any] = {"query": " ".join(query.split())}
    try:
        found["changes"] = changes(tables, tables.sql_query(query))
    except Exception as error:  # what Flink says is the answer
        found["refused"] = str(error).split("\n\tat ")[0][-400:]
        return found
    if inner is not None:
        found["input"] = changes(tables, tables.from_path("input"))
    return found


def main(names: list[str]) -> None:
    """Ask all, or those with a name."""
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    for name, inner, query in CASES:
        if not names or name in names:
            known[name] = ask(inner, query)
            print(name, known[name].get("refused", len(known[name].get("changes", ()))))
    lines = [f"{json.dumps(name)}: {json.dumps(known[name])}" for name in known]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
