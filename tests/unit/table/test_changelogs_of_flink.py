"""Queries from text to changes against Flink's own, whatever the cut of the input into batches.

The queries are in tests/oracle/operator_cases.py, the answers in tests/golden/operators.json.  With
``scan.watermark.emit.strategy`` = on-event a watermark follows the line that raises it, so that it
does not depend on batches which lines are late.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Row, Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.table import DataTypes, Schema, StreamTableEnvironment
from headrace.testing.local_runner import LocalRunner
from oracle.operator_cases import CASES, LINES

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "golden" / "operators.json").read_text()
)
KINDS = ("+I", "-U", "+U", "-D")
# Flink does not find lines that it has marked as updates itself: its table is wrong.
FLINK_IS_WRONG = ("sort_limit_offset",)
# Of upserts that only get better Flink keeps the first N alone; here all are kept.
SAME_TABLE = ("top_update", "top_update_number")


def changes_of(inner: str | None, query: str, size: int) -> list[list[Any]]:
    """The changes of a query, with batches of so many lines and a restart behind each."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("table.local-time-zone", "UTC")
    tables.get_config().set("scan.watermark.emit.strategy", "on-event")
    types = Types.ROW_NAMED(["k", "v", "ts"], [Types.STRING(), Types.INT(), Types.LONG()])
    stream = env.from_collection([], types)
    tables.create_temporary_view("t", tables.from_data_stream(stream, _schema()))
    source = tables.from_path("t") if inner is None else tables.sql_query(inner)
    tables.create_temporary_view("input", source)
    changes = tables.to_changelog_stream(tables.sql_query(query))
    with LocalRunner(changes, parallelism=1) as job:
        rows, found = [Row(*line) for line in LINES], []
        for start in range(0, len(rows), size):
            found += job.run_batch(rows[start : start + size])
            job.restart()
        found += job.end_of_input()
    return [[KINDS[row.get_row_kind().value], *map(_plain, row)] for row in found]


def _schema() -> Schema:
    return (
        Schema.new_builder()
        .column("k", DataTypes.STRING())
        .column("v", DataTypes.INT())
        .column("ts", DataTypes.BIGINT())
        .column_by_expression("rt", "CAST(TO_TIMESTAMP_LTZ(ts, 0) AS TIMESTAMP(3))")
        .column_by_expression("pt", "PROCTIME()")
        .watermark("rt", "rt - INTERVAL '1' SECOND")
        .build()
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    return value


def by_key(changes: list[list[Any]]) -> dict[Any, list[Any]]:
    """The changes of each key in order; of different keys the order is free."""
    found: dict[Any, list[Any]] = {}
    for change in changes:
        found.setdefault(change[1], []).append(change)
    return found


def table_of(changes: list[list[Any]]) -> list[str]:
    """The lines that are left in the end."""
    left: list[str] = []
    for kind, *line in changes:
        if kind in ("+I", "+U"):
            left.append(json.dumps(line))
        else:
            left.remove(json.dumps(line))
    return sorted(left)


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize("case", CASES, ids=[name for name, *_ in CASES])
def test_changes_are_those_of_flink(case: Any, size: int) -> None:
    name, inner, query = case
    mine, its = changes_of(inner, query, size), GOLDEN[name]["changes"]
    if name in FLINK_IS_WRONG:
        assert mine[: len(its)] == its
        assert table_of(mine) != table_of(its)
    elif name in SAME_TABLE:
        assert table_of(mine) == table_of(its)
    else:
        assert by_key(mine) == by_key(its)
