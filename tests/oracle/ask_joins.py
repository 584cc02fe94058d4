"""Asks PyFlink for the changelogs of joins, and keeps them as goldens.

    .venv-oracle/bin/python tests/oracle/ask_joins.py [case ...]        all without names

In: join_cases.py.  Out: tests/golden/joins.json: for each case its changes, or what Flink says
against it.  tests/unit/runtime/table/joins/test_joins_against_flink.py plays the scripts to single
operators, without PyFlink.  Standard library and PyFlink only.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from join_cases import CASES, SCRIPTS, VERSIONS
from pyflink.common import Configuration, Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, Schema, StreamTableEnvironment
from pyflink.table.changelog_mode import ChangelogMode

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "joins.json"
KINDS = {
    "+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER,
    "-D": RowKind.DELETE,
}  # fmt: skip
BETWEEN_S = 0.15


def slowly(row: Row) -> Row:
    """A while behind the line before."""
    time.sleep(BETWEEN_S)
    return row


def environment(script: str) -> StreamTableEnvironment:
    """One subtask, and the sides of the script."""
    settings = Configuration()
    settings.set_string("python.fn-execution.bundle.size", "1")
    settings.set_string("execution.buffer-timeout.interval", "0 ms")
    settings.set_string("pipeline.auto-watermark-interval", "0 ms")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(1)
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("table.local-time-zone", "UTC")
    types = Types.ROW_NAMED(
        ["side", "k", "v", "ts"], [Types.STRING(), Types.STRING(), Types.INT(), Types.LONG()]
    )
    rows = []
    for side, kind, *values in SCRIPTS[script]:
        row = Row(side, *values)
        row.set_row_kind(KINDS[kind])
        rows.append(row)
    stream = env.from_collection(rows, types).map(slowly, types)
    builder = (
        Schema.new_builder()
        .column("side", DataTypes.STRING())
        .column("k", DataTypes.STRING())
        .column("v", DataTypes.INT())
        .column("ts", DataTypes.BIGINT())
        .column_by_expression("rt", "CAST(TO_TIMESTAMP_LTZ(ts, 0) AS TIMESTAMP(3))")
    )
    if script == "times":
        schema = builder.watermark("rt", "rt").build()
        table = tables.from_data_stream(stream, schema)
    else:
        table = tables.from_changelog_stream(stream, builder.build(), ChangelogMode.all())
    tables.create_temporary_view("t", table)
    for side in ("l", "r"):
        query = f"SELECT k, v, rt FROM t WHERE side = '{side}'"
        tables.create_temporary_view(side, tables.sql_query(query))
    if script == "times":
        tables.create_temporary_view("versions", tables.sql_query(VERSIONS.strip()[1:-1]))
    return tables


def ask(script: str, query: str) -> dict[str, Any]:
    """The changelog of one case."""
    tables = environment(script)
    found: dict[str, Any] = {"query": " ".join(query.split())}
    try:
        stream = tables.to_changelog_stream(tables.sql_query(query))
        with stream.execute_and_collect() as rows:
            found["changes"] = [[_kind(row), *row] for row in rows]
    except Exception as error:  # what Flink says is the answer
        found["refused"] = str(error).split("\n\tat ")[0][-600:]
    return found


def _kind(row: Row) -> str:
    number: int = row.get_row_kind().value
    return ["+I", "-U", "+U", "-D"][number]


def main(names: list[str]) -> None:
    """Ask all, or those with a name."""
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    for name, case in CASES.items():
        if not names or name in names:
            known[name] = ask(*case)
            print(name, known[name].get("refused", len(known[name].get("changes", ()))), flush=True)
            lines = [f"{json.dumps(each)}: {json.dumps(known[each])}" for each in known]
            GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
