"""A query stops with a savepoint and goes on from it, with another parallelism."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.table import EnvironmentSettings, TableEnvironment
from patience import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from headrace.table.table_result import TableResult

NEVER_DONE = 10**9
QUERY = """
    INSERT INTO counts SELECT t.k, COUNT(*), MAX(id) FROM numbers AS t
    JOIN (VALUES (0), (1)) AS kept (k) ON t.k = kept.k GROUP BY t.k"""


def start(parallelism: int, rows: int, savepoint: str = "") -> TableResult:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("headrace.execution.host", "local")
    t_env.get_config().set("parallelism.default", str(parallelism))
    t_env.get_config().set("pipeline.max-parallelism", "8")
    if savepoint:
        t_env.get_config().set("execution.state-recovery.path", savepoint)
    t_env.execute_sql(f"""
        CREATE TABLE numbers (id BIGINT, k AS id % 3) WITH (
            'connector' = 'datagen', 'rows-per-second' = '400', 'fields.id.kind' = 'sequence',
            'fields.id.start' = '0', 'fields.id.end' = '{rows - 1}')""")
    t_env.execute_sql("""
        CREATE TABLE counts (k INT, c BIGINT, m BIGINT, PRIMARY KEY (k) NOT ENFORCED)
        WITH ('connector' = 'print')""")
    return t_env.execute_sql(QUERY)


def last_lines(printed: str) -> dict[str, tuple[int, int]]:
    """Count and largest number of each key, as they were last."""
    found = re.findall(r"\+[IU]\[(\d), (\d+), (\d+)\]", printed)
    return {key: (int(count), int(most)) for key, count, most in found}


def test_a_query_goes_on_from_its_savepoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = start(2, NEVER_DONE).get_job_client()
    assert client is not None
    printed = ""

    def has_counted() -> bool:
        nonlocal printed
        printed += capsys.readouterr().out
        return "[1, 40," in printed

    wait_until(has_counted)
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    before = last_lines(printed + capsys.readouterr().out)
    rows = 3 * (before["1"][0] + 100)  # the rest, which is as large however late it was stopped
    start(3, rows, savepoint).wait()
    assert last_lines(capsys.readouterr().out) == {
        "0": (rows // 3, rows - 3),
        "1": (rows // 3, rows - 2),
    }
