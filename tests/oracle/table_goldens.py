"""Asks PyFlink for the changelogs of tests/table_cases.py.  Run with .venv-oracle from the root:

    PYTHONPATH=tests .venv-oracle/bin/python tests/oracle/table_goldens.py

Rewrites tests/golden/sql/group_by.json.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import table_cases as cases

TARGET = Path(__file__).parents[1] / "golden" / "sql" / "group_by.json"


def main() -> None:
    """Run all programs."""
    from pyflink.common import Row, RowKind, Types
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import Schema, StreamTableEnvironment

    kinds = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER}
    kinds["-D"] = RowKind.DELETE
    types = {
        "STRING": Types.STRING(), "INT": Types.INT(), "BIGINT": Types.LONG(),
        "DOUBLE": Types.DOUBLE(), "FLOAT": Types.FLOAT(), "DECIMAL(10, 2)": Types.BIG_DEC(),
        "BOOLEAN": Types.BOOLEAN(), "DATE": Types.STRING(), "TIMESTAMP(3)": Types.STRING(),
    }  # fmt: skip
    texts = ("DATE", "TIMESTAMP(3)")
    row_type = Types.ROW_NAMED(
        list(cases.COLUMNS), [types[kind] for kind in cases.COLUMNS.values()]
    )
    found: dict[str, Any] = {}
    for rows_name, rows in cases.ROWS.items():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        tables = StreamTableEnvironment.create(env)
        values = []
        for kind, *row in rows:
            value = Row(*(str(v) if isinstance(v, datetime.date) else v for v in row))
            value.set_row_kind(kinds[kind])
            values.append(value)
        stream = env.from_collection(values, row_type)
        builder = Schema.new_builder()
        for name, kind in cases.COLUMNS.items():
            builder = builder.column(name, "STRING" if kind in texts else kind)
        if rows_name == "inserts":
            table = tables.from_data_stream(stream, builder.build())
        else:
            table = tables.from_changelog_stream(stream, builder.build())
        tables.create_temporary_view("S", table)
        columns = [
            f"CAST({name} AS {kind}) AS {name}" if kind in texts else name
            for name, kind in cases.COLUMNS.items()
        ]
        tables.execute_sql(f"CREATE TEMPORARY VIEW T AS SELECT {', '.join(columns)} FROM S")
        for name, calls in cases.PROGRAMS.items():
            for grouped in (True, False) if name in cases.GLOBAL else (True,):
                title = f"{name}, {rows_name}" + ("" if grouped else ", global")
                try:
                    result = tables.execute_sql(cases.statement(calls, grouped=grouped))
                    with result.collect() as changes:
                        found[title] = [
                            [str(c.get_row_kind()), *map(cases.shown, c)] for c in changes
                        ]
                except Exception as error:
                    lines = [line for line in str(error).splitlines() if "aused by" in line]
                    found[title] = f"error: {(lines or [str(error)])[-1][:300]}"
                print(title, len(found[title]))
    TARGET.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
