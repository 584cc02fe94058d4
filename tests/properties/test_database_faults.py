"""Whatever breaks, in whatever order, a table and a list of Redis hold every batch once.

A schedule is a list of batches; each has records by subtask and the faults it meets before it goes
through: attempts that came to nothing, connections cut in any message, drivers that died before or
after the commit, commits asked for twice.
"""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flaky_proxy import FlakyProxy
from headrace.common.types import Row, RowKind
from headrace.datastream.connectors.postgres import PostgresSink, Retries
from headrace.datastream.connectors.redis import RedisSink
from headrace.errors import ConnectorError
from headrace.io.server_calls import sink_hash
from headrace.spi import staging
from headrace.testing.connectors import SinkDriver

if TYPE_CHECKING:
    from services import PostgresServer, RedisServer

ONCE = Retries(attempts=1)
SETTINGS = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
_names = (f"schedule{n}" for n in itertools.count())


@dataclass(frozen=True)
class Fault:
    """Something that happens to a batch before it goes through."""

    kind: str
    message: int = 0
    deliver: bool = False


@dataclass(frozen=True)
class Batch:
    """The records of each subtask, and what the batch goes through."""

    subtasks: list[list[tuple[int, int]]]
    faults: list[Fault]


faults = st.builds(
    Fault,
    st.sampled_from(["unused attempt", "cut", "cut", "driver died", "asked twice"]),
    st.integers(0, 14),
    st.booleans(),
)
changes = st.tuples(st.integers(0, 4), st.integers(-1, 9))
batches = st.builds(
    Batch,
    st.lists(st.lists(changes, max_size=4), min_size=1, max_size=3),
    st.lists(faults, max_size=3),
)
schedules = st.lists(batches, min_size=1, max_size=5)


def play(driver: SinkDriver, proxy: FlakyProxy, schedule: list[Batch], to_record: Any) -> None:
    """Runs the batches as the engine would: a batch that failed is staged and committed again."""
    for number, batch in enumerate(schedule):
        records = [list(map(to_record, subtask)) for subtask in batch.subtasks]
        for fault in batch.faults:
            if fault.kind == "cut":
                proxy.cut_at(fault.message, deliver=fault.deliver)
            try:
                parts = driver.stage(number, *records)
                if fault.kind in ("cut", "asked twice"):
                    driver.committer.commit(number, parts)
            except ConnectorError:
                assert fault.kind == "cut"
                driver.restart()
            proxy.heal()
            if fault.kind == "driver died":
                driver.restart()
        driver.run(number, *records)


@pytest.fixture
def staged(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows travel with the committable, more are staged: both ways are taken."""
    of_redis = "redis_server" in request.fixturenames
    monkeypatch.setattr(staging, "INLINE_BYTES", 80 if of_redis else 10)


@SETTINGS
@given(schedules)
def test_appended_rows(staged: None, postgres: PostgresServer, schedule: list[Batch]) -> None:
    table = next(_names)
    postgres.query(f"CREATE TABLE {table} (id serial, k int, n int)")
    with FlakyProxy(postgres.port) as proxy:
        url = postgres.url.replace(str(postgres.port), str(proxy.port)) + "?sslmode=disable"
        sink = PostgresSink.append(url, table, columns=["k", "n"], retries=ONCE)
        driver = SinkDriver(sink)
        play(driver, proxy, schedule, lambda change: change)
        driver.restart()
    expected = [change for batch in schedule for subtask in batch.subtasks for change in subtask]
    assert postgres.query(f"SELECT k, n FROM {table} ORDER BY id") == expected
    _nothing_is_left(postgres, driver)
    postgres.query(f"DROP TABLE {table}")


@SETTINGS
@given(schedules)
def test_upserted_rows(staged: None, postgres: PostgresServer, schedule: list[Batch]) -> None:
    table = next(_names)
    postgres.query(f"CREATE TABLE {table} (k int PRIMARY KEY, n int)")

    def to_record(change: tuple[int, int]) -> Row:
        kind = RowKind.DELETE if change[1] < 0 else RowKind.INSERT
        return Row.of_kind(kind, k=change[0], n=change[1])

    with FlakyProxy(postgres.port) as proxy:
        url = postgres.url.replace(str(postgres.port), str(proxy.port)) + "?sslmode=disable"
        driver = SinkDriver(PostgresSink.upsert(url, table, "k", retries=ONCE))
        play(driver, proxy, schedule, to_record)
        driver.restart()
    expected: dict[int, int] = {}
    for k, n in itertools.chain.from_iterable(s for batch in schedule for s in batch.subtasks):
        expected[k] = n
    kept = sorted((k, n) for k, n in expected.items() if n >= 0)
    assert sorted(postgres.query(f"SELECT k, n FROM {table}")) == kept
    _nothing_is_left(postgres, driver)
    postgres.query(f"DROP TABLE {table}")


@SETTINGS
@given(schedules)
def test_commands(staged: None, redis_server: RedisServer, schedule: list[Batch]) -> None:
    key = next(_names)
    with FlakyProxy(redis_server.port) as proxy:
        url = redis_server.url.replace(str(redis_server.port), str(proxy.port))

        def commands(change: tuple[int, int]) -> list[Any]:
            k, n = change
            return [("RPUSH", key, f"{k},{n}"), ("INCRBY", f"{key}:{k}", n)]

        driver = SinkDriver(RedisSink.commands(url, commands, retries=ONCE))
        play(driver, proxy, schedule, lambda change: change)
        own = driver.committer.keys  # type: ignore[attr-defined]
        driver.restart()
    expected = [change for batch in schedule for subtask in batch.subtasks for change in subtask]
    with closing(redis_server.client()) as client:
        assert client.lrange(key, 0, -1) == [f"{k},{n}" for k, n in expected]
        for k in range(5):
            found = int(client.get(f"{key}:{k}") or 0)
            assert found == sum(n for other, n in expected if other == k)
        assert client.keys(f"{own.base}*") == [own.marker]


def _nothing_is_left(postgres: PostgresServer, driver: SinkDriver) -> None:
    """A last look of the committer removes what the last cut hid from it."""
    driver.sink = PostgresSink.append(postgres.url, "pg_class")
    driver.restart()
    _ = driver.committer
    driver.restart()
    sink = sink_hash(driver.job_id, driver.uid)
    assert postgres.query("SELECT 1 FROM pg_class WHERE relname LIKE %s", f"%{sink}%") == []
