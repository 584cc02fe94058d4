"""SQL in continuous mode: the final tables of micro-batches, and savepoints that go both ways.

Run by tests/continuous/test_tables.py on Spark and by tests/unit/testing/test_table_modes.py in
this process; each says by its fixture `place` where the jobs run.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration
from headrace.errors import ConfigurationError
from headrace.table import EnvironmentSettings, TableEnvironment
from patience import wait_until
from services import PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.table.table_result import TableResult
    from services import PostgresServer

CLICKS = """
    CREATE TABLE clicks (
        item STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'json' {})"""
QUERIES = {
    "stateless": "SELECT UPPER(item) AS item, n * 2 AS n FROM clicks WHERE MOD(n, 3) > 0",
    "group by": """
        SELECT k, COUNT(*) AS c, SUM(s) AS s, MIN(item) AS i FROM (
            SELECT item, MOD(SUM(n), 4) AS k, SUM(n) AS s FROM clicks GROUP BY item
        ) GROUP BY k""",
    "tumble": """
        SELECT item, window_end, COUNT(*) AS c, MAX(n) AS m FROM TABLE(
            TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECONDS))
        GROUP BY item, window_start, window_end""",
}


@dataclass(frozen=True)
class Place:
    """Where jobs run, and their files.

    Attributes:
        host: the name of a host.
        folder: for their files.
    """

    host: str
    folder: Path


def tables(place: Place, mode: str, *, batch: bool = False, **options: str) -> TableEnvironment:
    folder = place.folder
    configuration = Configuration().set_string("parallelism.default", "2")
    configuration.set_string("headrace.execution.host", place.host)
    configuration.set_string("headrace.execution.mode", mode)
    configuration.set_string("execution.checkpointing.interval", "200 ms")
    configuration.set_string("execution.checkpointing.dir", str(folder / f"checkpoint-{mode}"))
    configuration.set_string("restart-strategy.type", "none")
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    builder = EnvironmentSettings.new_instance().with_configuration(configuration)
    wished = builder.in_batch_mode() if batch else builder.in_streaming_mode()
    return TableEnvironment.create(wished.build())


def write_clicks(folder: Path, name: str, numbers: range) -> None:
    folder.mkdir(exist_ok=True)
    lines = [
        {"item": "abc"[n % 3], "n": n, "ts": f"2026-01-01 08:{n // 60:02}:{n % 60:02}"}
        for n in numbers
    ]
    draft = folder / f".{name}"
    draft.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    draft.rename(folder / f"{name}.json")


def final_table(t_env: TableEnvironment, query: str) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in t_env.execute_sql(query).collect():
        found[tuple(row)] += 1 if str(row.get_row_kind()) in ("+I", "+U") else -1
    return +found


@pytest.mark.parametrize("query", QUERIES)
def test_the_final_table_is_that_of_micro_batches(query: str, place: Place) -> None:
    write_clicks(place.folder / "in", "one", range(90))
    write_clicks(place.folder / "in", "two", range(90, 100))
    found = {}
    for mode in ("continuous", "micro-batch"):
        t_env = tables(place, mode)
        t_env.execute_sql(CLICKS.format(place.folder / "in", ""))
        found[mode] = final_table(t_env, QUERIES[query])
    assert found["continuous"] == found["micro-batch"]
    counts = {"stateless": 66, "tumble": 30, "group by": len(groups_of(range(100)))}
    assert sum(found["continuous"].values()) == counts[query]


def totals_job(
    place: Place, mode: str, postgres: PostgresServer, name: str, savepoint: str = ""
) -> TableResult:
    """Groups and windows of a folder that grows, into two tables of PostgreSQL."""
    restore: Any = {"execution__state_recovery__path": savepoint} if savepoint else {}
    t_env = tables(place, mode, **restore)
    t_env.execute_sql(CLICKS.format(place.folder / "in", ", 'source.monitor-interval' = '50 ms'"))
    for table, columns in (("grouped", "k INT, c BIGINT, s INT, i STRING"), ("windowed", WINDOWS)):
        keys = "k" if table == "grouped" else "item, e"
        t_env.execute_sql(f"""
            CREATE TABLE {table} ({columns}, PRIMARY KEY ({keys}) NOT ENFORCED) WITH (
                'connector' = 'jdbc', 'table-name' = '{name}_{table}',
                'url' = 'jdbc:postgresql://127.0.0.1:{postgres.port}/headrace',
                'username' = 'headrace', 'password' = '{PASSWORD}')""")
    inserts = t_env.create_statement_set()
    inserts.add_insert_sql(f"INSERT INTO grouped {QUERIES['group by']}")
    inserts.add_insert_sql(f"INSERT INTO windowed {QUERIES['tumble']}")
    return inserts.execute()


WINDOWS = "item STRING, e TIMESTAMP(3), c BIGINT, m INT"


@pytest.mark.parametrize(
    ("first", "second"), [("continuous", "micro-batch"), ("micro-batch", "continuous")]
)
def test_a_savepoint_of_one_mode_is_restored_in_the_other(
    first: str, second: str, place: Place, postgres: PostgresServer
) -> None:
    name = f"sql_{first.replace('-', '_')}"
    postgres.query(f"CREATE TABLE {name}_grouped (k INT PRIMARY KEY, c BIGINT, s INT, i TEXT)")
    postgres.query(
        f"CREATE TABLE {name}_windowed "
        "(item TEXT, e TIMESTAMP, c BIGINT, m INT, PRIMARY KEY (item, e))"
    )
    write_clicks(place.folder / "in", "one", range(38))
    client = totals_job(place, first, postgres, name).get_job_client()
    assert client is not None
    # 38 seconds, of which the last five may still come: three windows are over, one is open
    wait_until(lambda: groups(postgres, name) == groups_of(range(38)))
    wait_until(lambda: windows(postgres, name) == windows_of(range(30)))
    savepoint = client.stop_with_savepoint(False, str(place.folder / "savepoints")).result()

    write_clicks(place.folder / "in", "two", range(38, 76))
    client = totals_job(place, second, postgres, name, savepoint).get_job_client()
    assert client is not None
    wait_until(lambda: groups(postgres, name) == groups_of(range(76)))
    wait_until(lambda: windows(postgres, name) == windows_of(range(70)))
    client.stop_with_savepoint(True, str(place.folder / "savepoints")).result()
    assert groups(postgres, name) == groups_of(range(76))
    assert windows(postgres, name) == windows_of(range(76))


def groups(postgres: PostgresServer, name: str) -> set[tuple[Any, ...]]:
    return set(postgres.query(f"SELECT k, c, s, i FROM {name}_grouped"))


def windows(postgres: PostgresServer, name: str) -> set[tuple[Any, ...]]:
    query = "SELECT item, EXTRACT(EPOCH FROM e - '2026-01-01 08:00:00')::INT, c, m"
    return set(postgres.query(f"{query} FROM {name}_windowed"))


def groups_of(numbers: range) -> set[tuple[Any, ...]]:
    sums = {item: sum(n for n in numbers if "abc"[n % 3] == item) for item in "abc"}
    found: dict[int, tuple[int, int, str]] = {}
    for item, total in sums.items():
        c, s, i = found.get(total % 4, (0, 0, item))
        found[total % 4] = c + 1, s + total, min(i, item)
    return {(k, *rest) for k, rest in found.items()}


def windows_of(numbers: range) -> set[tuple[Any, ...]]:
    found: dict[tuple[str, int], list[int]] = {}
    for n in numbers:
        found.setdefault(("abc"[n % 3], (n // 10 + 1) * 10), []).append(n)
    return {(*key, len(some), max(some)) for key, some in found.items()}


def test_batch_mode_is_refused(place: Place) -> None:
    write_clicks(place.folder / "in", "one", range(3))
    t_env = tables(place, "continuous", batch=True)
    t_env.execute_sql(CLICKS.format(place.folder / "in", ""))
    with pytest.raises(ConfigurationError, match="BATCH mode reads the whole input"):
        list(t_env.execute_sql(QUERIES["group by"]).collect())
