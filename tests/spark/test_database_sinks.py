"""Jobs that write to PostgreSQL, Redis and Elasticsearch, fail in the middle and start again."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from bulk_server import BulkServer
from headrace.common import Row, Types
from headrace.datastream.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
)
from headrace.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from headrace.datastream.connectors.postgres import PostgresSink
from headrace.datastream.connectors.redis import RedisSink
from headrace.errors import UserFunctionError
from services import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment
    from services import PostgresServer, RedisServer

VISIT = Types.ROW_NAMED(["id", "page"], [Types.LONG(), Types.STRING()])
COUNT = Types.TUPLE([Types.STRING(), Types.LONG()])
VISITS = [Row(id=n, page=f"p{n % 3}") for n in range(23)]
COUNTS = {f"p{k}": sum(1 for visit in VISITS if visit.page == f"p{k}") for k in range(3)}


def fails_once(flag: Path) -> Callable[[Row], Row]:
    def check(visit: Row) -> Row:
        if visit.id == 13 and flag.exists():
            raise ValueError("poison")
        return visit

    return check


def visits_of(
    make_env: Callable[..., StreamExecutionEnvironment], folder: Path
) -> tuple[StreamExecutionEnvironment, Any]:
    """Batches of five visits; the one with number 13 fails as long as the flag is there."""
    env = make_env(
        {
            "source.max-records-per-batch": 5,
            "execution.checkpointing.dir": str(folder / "checkpoint"),
            "restart-strategy.type": "none",
        }
    )
    visits = env.from_collection(VISITS, VISIT).map(fails_once(folder / "poison"), VISIT)
    return env, visits


def run_twice(run: Callable[[], None], folder: Path) -> None:
    """The first run fails; the second one goes on from its checkpoint."""
    (folder / "poison").touch()
    with pytest.raises(UserFunctionError, match="poison"):
        run()
    (folder / "poison").unlink()
    run()


def test_every_row_is_in_postgres_once_after_a_restart(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path, postgres: PostgresServer
) -> None:
    postgres.query("CREATE TABLE spark_visits (id bigint, page text)")
    postgres.query("CREATE TABLE spark_counts (page text PRIMARY KEY, n bigint)")
    postgres.query("CREATE TABLE spark_total (n bigint); INSERT INTO spark_total VALUES (0)")
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(f"jdbc:postgresql://127.0.0.1:{postgres.port}/headrace")
        .with_user_name("headrace")
        .with_password(PASSWORD)
        .build()
    )

    def run() -> None:
        env, visits = visits_of(make_env, tmp_path)
        visits.sink_to(PostgresSink.append(postgres.url, "spark_visits")).uid("visits")
        counts = (
            visits.map(lambda visit: (visit.page, 1), COUNT).key_by(lambda pair: pair[0]).sum(1)
        )
        counts.sink_to(PostgresSink.upsert(postgres.url, "spark_counts", key="page")).uid("counts")
        one = Types.ROW([Types.LONG()])
        visits.map(lambda visit: Row(visit.id), one).add_sink(
            JdbcSink.sink("UPDATE spark_total SET n = n + ?", one, options)
        ).uid("total")
        env.execute("visits to postgres")

    run_twice(run, tmp_path)

    expected = [(visit.id, visit.page) for visit in VISITS]
    assert sorted(postgres.query("SELECT * FROM spark_visits")) == expected
    assert dict(postgres.query("SELECT * FROM spark_counts")) == COUNTS
    assert postgres.query("SELECT n FROM spark_total") == [(sum(range(23)),)]
    noted = "SELECT sink_uid FROM headrace_commits WHERE sink_uid IN ('visits', 'counts', 'total')"
    assert sorted(postgres.query(noted)) == [("counts",), ("total",), ("visits",)]


def test_every_command_is_applied_to_redis_once_after_a_restart(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path, redis_server: RedisServer
) -> None:
    url = redis_server.url

    def run() -> None:
        env, visits = visits_of(make_env, tmp_path)
        count = RedisSink.incrby(url, lambda visit: f"spark:{visit.page}", lambda visit: 1)
        visits.sink_to(count).uid("count")
        log = RedisSink.xadd(url, "spark:log", lambda visit: {"id": visit.id})
        visits.sink_to(log).uid("log")
        env.execute("visits to redis")

    run_twice(run, tmp_path)

    with closing(redis_server.client()) as client:
        assert {page: int(client.get(f"spark:{page}")) for page in COUNTS} == COUNTS
        logged = [int(fields["id"]) for _, fields in client.xrange("spark:log")]
        assert sorted(logged) == list(range(23))


def test_every_document_is_in_elasticsearch_once_after_a_restart(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    with BulkServer() as server:

        def sink(index: str, key: str) -> Any:
            emitter = ElasticsearchEmitter.static_index(index, key_field=key)
            return Elasticsearch7SinkBuilder().set_hosts(server.url).set_emitter(emitter).build()

        def run() -> None:
            env, visits = visits_of(make_env, tmp_path)
            visits.sink_to(sink("visits", "id")).uid("visits")
            counts = (
                visits.map(lambda visit: (visit.page, 1), COUNT).key_by(lambda pair: pair[0]).sum(1)
            )
            named = Types.ROW_NAMED(["page", "n"], [Types.STRING(), Types.LONG()])
            counts.map(lambda pair: Row(*pair), named).sink_to(sink("counts", "page")).uid("counts")
            env.execute("visits to elasticsearch")

        run_twice(run, tmp_path)
        found = server.documents("visits")
        counted = {page: document["n"] for page, document in server.documents("counts").items()}
    assert found == {str(v.id): {"id": v.id, "page": v.page} for v in VISITS}
    assert counted == COUNTS
