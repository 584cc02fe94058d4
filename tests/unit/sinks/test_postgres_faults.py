"""Batches that are repeated, crashes at every moment, servers that go away: each row once."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from flaky_proxy import FlakyProxy
from headrace.connectors.postgres import writer as postgres_writer
from headrace.datastream.connectors.postgres import PostgresSink, Retries
from headrace.errors import ConnectorError
from headrace.io.server_calls import sink_hash
from headrace.spi import staging
from headrace.testing.connectors import SinkDriver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from services import PostgresServer

ONCE = Retries(attempts=1)
PATIENT = Retries(attempts=4, first_delay_s=0.01)
_numbers = itertools.count()


@pytest.fixture
def table(postgres: PostgresServer) -> str:
    name = f"faults{next(_numbers)}"
    postgres.query(f"CREATE TABLE {name} (n int)")
    return name


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even one row goes through a staging table."""
    monkeypatch.setattr(staging, "INLINE_BYTES", -1)


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[FlakyProxy]:
    with FlakyProxy(postgres.port) as made:
        yield made


def through(proxy: FlakyProxy, postgres: PostgresServer) -> str:
    return postgres.url.replace(str(postgres.port), str(proxy.port)) + "?sslmode=disable"


def rows(postgres: PostgresServer, table: str) -> list[int]:
    return sorted(n for (n,) in postgres.query(f"SELECT n FROM {table}"))


def staging_tables(postgres: PostgresServer, *drivers: SinkDriver) -> list[str]:
    """The staging tables of these jobs; other tests may have left theirs."""
    found = postgres.query("SELECT relname FROM pg_class WHERE relname LIKE 'headrace_stage%'")
    hashes = [sink_hash(driver.job_id, driver.uid) for driver in drivers]
    return [name for (name,) in found if any(sink in name for sink in hashes)]


def test_a_batch_that_is_repeated_after_its_commit_is_dropped(
    postgres: PostgresServer, table: str, staged: None
) -> None:
    driver = SinkDriver(PostgresSink.append(postgres.url, table))
    driver.run(0, [(1,)], [(2,)])
    driver.run(1, [(3,)])
    # The driver died before it could note that batch 1 was through.
    driver.restart()
    driver.run(1, [(3,)])
    driver.run(1, [(3,), (99,)])
    driver.run(2, [(4,)])
    assert rows(postgres, table) == [1, 2, 3, 4]
    assert staging_tables(postgres, driver) == []


def test_a_batch_that_never_came_to_its_commit_leaves_nothing(
    postgres: PostgresServer, table: str, staged: None
) -> None:
    driver = SinkDriver(PostgresSink.append(postgres.url, table))
    driver.run(0, [(0,)])
    driver.stage(1, [(1,)], [(2,)])  # a stage that was run twice,
    driver.restart()  # a driver that died,
    kept = driver.stage(1, [(1,)], [(2,)])
    driver.stage(1, [(1,)])  # a task that ran beside another
    assert len(staging_tables(postgres, driver)) == 5
    assert rows(postgres, table) == [0]
    driver.committer.commit(1, kept)
    assert rows(postgres, table) == [0, 1, 2]
    assert staging_tables(postgres, driver) == []


def test_a_job_that_starts_afresh_counts_from_zero_again(
    postgres: PostgresServer, table: str
) -> None:
    sink = PostgresSink.append(postgres.url, table)
    first = SinkDriver(sink)
    first.run(0, [(1,)])
    first.run(1, [(2,)])
    SinkDriver(sink).run(0, [(10,)])
    other_sink_of_the_job = SinkDriver(sink, job_id=first.job_id, uid="other")
    other_sink_of_the_job.run(0, [(20,)])
    assert rows(postgres, table) == [1, 2, 10, 20]
    noted = "SELECT sink_uid, batch_id FROM headrace_commits WHERE job_id = %s ORDER BY 1"
    assert postgres.query(noted, first.job_id) == [("other", 0), ("out", 1)]


def test_two_drivers_of_one_job_write_a_batch_once(
    postgres: PostgresServer, table: str, staged: None
) -> None:
    sink = PostgresSink.append(postgres.url, table)
    drivers = [SinkDriver(sink, job_id=f"twins-{table}") for _ in range(4)]
    for batch in range(5):
        parts = [driver.stage(batch, [(batch,)], [(batch + 100,)]) for driver in drivers]
        start = threading.Barrier(len(drivers))

        def commit(
            driver: SinkDriver, part: list[Any], batch: int = batch, start: Any = start
        ) -> None:
            committer = driver.committer
            start.wait()
            # One may find its staged rows swept by the other; then the batch is there already.
            committer.commit(batch, part)

        threads = [
            threading.Thread(target=commit, args=pair) for pair in zip(drivers, parts, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert rows(postgres, table) == [*range(5), *range(100, 105)]
    assert staging_tables(postgres, drivers[0]) == []


def test_an_attempt_that_still_writes_is_not_waited_for(
    postgres: PostgresServer, table: str, staged: None
) -> None:
    driver = SinkDriver(PostgresSink.append(postgres.url, table))
    driver.stage(0, [(1,)])
    [left] = staging_tables(postgres, driver)
    with psycopg.connect(postgres.url) as zombie:
        zombie.execute(f"INSERT INTO {left} VALUES (7)")
        driver.run(0, [(1,)])  # would never end if it waited: the other ends behind it
        assert rows(postgres, table) == [1]
        assert staging_tables(postgres, driver) == [left]
        zombie.rollback()
    driver.run(1, [(2,)])
    assert rows(postgres, table) == [1, 2]
    assert staging_tables(postgres, driver) == []


def test_staged_rows_of_jobs_that_never_came_back_are_removed_after_a_week(
    postgres: PostgresServer, table: str, staged: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = PostgresSink.append(postgres.url, table)
    now = postgres_writer.today()
    young, old = SinkDriver(sink), SinkDriver(sink)
    for driver, age in ((young, 6), (old, 9)):
        monkeypatch.setattr(postgres_writer, "today", lambda age=age: now - age)
        driver.stage(0, [(1,)])
    assert len(staging_tables(postgres, young, old)) == 2
    SinkDriver(sink).run(0, [(2,)])
    assert len(staging_tables(postgres, young)) == 1
    assert staging_tables(postgres, old) == []


@pytest.mark.parametrize("deliver", [False, True], ids=["lost", "answer lost"])
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_connection_that_breaks_at_any_moment_of_a_commit(
    postgres: PostgresServer, proxy: FlakyProxy, table: str, mode: str, deliver: bool
) -> None:
    postgres.query(f"ALTER TABLE {table} ADD PRIMARY KEY (n)")
    url = through(proxy, postgres)
    sink = (
        PostgresSink.append(url, table, retries=ONCE)
        if mode == "append"
        else PostgresSink.upsert(url, table, "n", retries=ONCE)
    )
    driver = SinkDriver(sink)
    expected: list[int] = []
    failures = 0
    for moment in range(14):
        batch = driver.stage(moment, [(2 * moment,)], [(2 * moment + 1,)])
        _ = driver.committer
        proxy.cut_at(moment, deliver=deliver)
        try:
            driver.committer.commit(moment, batch)
        except ConnectorError:
            failures += 1
            proxy.heal()
            # All of the batch or nothing of it, whatever the moment.
            assert rows(postgres, table) in (expected, [*expected, 2 * moment, 2 * moment + 1])
            driver.restart()
            driver.run(moment, [(2 * moment,)], [(2 * moment + 1,)])
        proxy.heal()
        expected += [2 * moment, 2 * moment + 1]
        assert rows(postgres, table) == expected
    assert failures >= 4


@pytest.mark.parametrize("deliver", [False, True], ids=["lost", "answer lost"])
def test_a_connection_that_breaks_is_made_again(
    postgres: PostgresServer, proxy: FlakyProxy, table: str, staged: None, deliver: bool
) -> None:
    driver = SinkDriver(PostgresSink.append(through(proxy, postgres), table, retries=PATIENT))
    for moment in range(30):
        proxy.cut_at(moment, deliver=deliver)
        driver.run(moment, [(2 * moment,)], [(2 * moment + 1,)])
        proxy.heal()
    assert rows(postgres, table) == list(range(60))
    assert proxy.cuts >= 15
    driver.run(30, [])
    assert staging_tables(postgres, driver) == []


def test_a_server_that_crashed_and_forgot_the_staged_rows_gets_the_batch_again(
    postgres: PostgresServer, table: str, staged: None
) -> None:
    driver = SinkDriver(PostgresSink.append(postgres.url, table, retries=PATIENT))
    driver.run(0, [(0,)])
    for mode in ("append", "upsert"):
        if mode == "upsert":
            postgres.query(f"ALTER TABLE {table} ADD PRIMARY KEY (n)")
            driver.sink = PostgresSink.upsert(postgres.url, table, "n", retries=PATIENT)
            driver.restart()
        batch = 1 if mode == "append" else 2
        parts = driver.stage(batch, [(batch,)])
        postgres.crash()
        postgres.start()
        with pytest.raises(ConnectorError, match="staged 1 rows, but 0 were found"):
            driver.committer.commit(batch, parts)
        driver.restart()
        driver.run(batch, [(batch,)])
    assert rows(postgres, table) == [0, 1, 2]
    assert staging_tables(postgres, driver) == []


def test_a_server_that_restarts_between_staging_and_commit_is_no_matter(
    postgres: PostgresServer, table: str, staged: None
) -> None:
    driver = SinkDriver(PostgresSink.append(postgres.url, table, retries=PATIENT))
    driver.run(0, [(0,)])
    parts = driver.stage(1, [(1,)])
    postgres.stop()
    postgres.start()
    driver.committer.commit(1, parts)
    assert rows(postgres, table) == [0, 1]


def test_a_server_that_comes_back_in_time_is_waited_for(
    postgres: PostgresServer, table: str
) -> None:
    retries = Retries(attempts=60, first_delay_s=0.1, longest_delay_s=0.2)
    driver = SinkDriver(PostgresSink.append(postgres.url, table, retries=retries))
    parts = driver.stage(0, [(0,)])
    _ = driver.committer
    postgres.stop()
    back = threading.Timer(0.5, postgres.start)
    back.start()
    driver.committer.commit(0, parts)
    back.join()
    assert rows(postgres, table) == [0]
