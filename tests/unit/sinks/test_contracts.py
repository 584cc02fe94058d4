"""Every sink that is shipped keeps the promises of the connector kit, on real servers."""

from __future__ import annotations

import itertools
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow.parquet as pq
import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connectors.files.manifest import SinkPlaces
from headrace.connectors.jdbc.sink import JdbcConnectionOptions, JdbcSink
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.postgres import PostgresSink
from headrace.datastream.connectors.redis import RedisSink
from headrace.io.server_calls import sink_hash
from headrace.spi import staging
from headrace.testing.connectors import SinkContract, SinkDriver
from services import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.spi.sink import Sink
    from services import PostgresServer, RedisServer

_names = (f"contract{n}" for n in itertools.count())
NUMBERED = Types.ROW_NAMED(["n"], [Types.LONG()])


class TestJsonFiles(SinkContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path

    def make_sink(self) -> Sink:
        return FileSink.json(str(self.path))

    def record(self, n: int) -> Any:
        return {"n": n}

    def stored(self) -> list[int]:
        return [json.loads(line)["n"] for f in self.path.glob("part-*") for line in f.open()]

    def bad_records(self) -> list[Any]:
        return [{"n": object()}]

    def leftovers(self, job: SinkDriver) -> list[str]:
        folder = self.path / SinkPlaces(job.job_id, job.uid).folder
        return [f.name for name in ("staging", "merging") for f in (folder / name).glob("*")]


class TestParquetFiles(TestJsonFiles):
    type_info: ClassVar = NUMBERED

    def make_sink(self) -> Sink:
        return FileSink.parquet(str(self.path))

    def record(self, n: int) -> Any:
        return Row(n=n)

    def stored(self) -> list[int]:
        files = self.path.glob("part-*")
        return [row["n"] for f in files for row in pq.read_table(f).to_pylist()]

    def bad_records(self) -> list[Any]:
        return [Row(n="four")]


@pytest.fixture(params=["inline", "staged"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a subtask wrote travels with the committable, or waits on the server."""
    if request.param == "staged":
        monkeypatch.setattr(staging, "INLINE_BYTES", -1)


class _OnPostgres(SinkContract):
    columns: ClassVar[str] = "n bigint"

    @pytest.fixture(autouse=True)
    def table(self, postgres: PostgresServer, way: None) -> None:
        self.postgres = postgres
        self.name = next(_names)
        postgres.query(f"CREATE TABLE {self.name} ({self.columns})")

    def stored(self) -> list[int]:
        return [n for (n,) in self.postgres.query(f"SELECT n FROM {self.name}")]

    def record(self, n: int) -> Any:
        return Row(n=n)

    def bad_records(self) -> list[Any]:
        return [Row(n="four"), Row(m=4), Row(n=2**70)]

    def leftovers(self, job: SinkDriver) -> list[str]:
        sink = sink_hash(job.job_id, job.uid)
        found = "SELECT relname FROM pg_class WHERE relname LIKE %s AND relkind = 'r'"
        return [name for (name,) in self.postgres.query(found, f"headrace_stage_{sink}%")]


class TestPostgresAppend(_OnPostgres):
    def make_sink(self) -> Sink:
        return PostgresSink.append(self.postgres.url, self.name)


class TestPostgresUpsert(_OnPostgres):
    columns: ClassVar[str] = "n bigint PRIMARY KEY"

    def make_sink(self) -> Sink:
        return PostgresSink.upsert(self.postgres.url, self.name, key="n")


class TestJdbc(_OnPostgres):
    @pytest.fixture
    def way(self) -> None:
        """Its records always travel to the driver."""

    def make_sink(self) -> Sink:
        options = (
            JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
            .with_url(f"jdbc:postgresql://127.0.0.1:{self.postgres.port}/headrace")
            .with_user_name("headrace")
            .with_password(PASSWORD)
            .build()
        )
        return JdbcSink.sink(f"INSERT INTO {self.name} (n) VALUES (?)", NUMBERED, options)

    def bad_records(self) -> list[Any]:
        return [Row(n="four"), Row(1, 2), 4]


class TestRedis(SinkContract):
    @pytest.fixture(autouse=True)
    def key(self, redis_server: RedisServer, way: None) -> Iterator[None]:
        self.url = redis_server.url
        self.name = next(_names)
        with closing(redis_server.client()) as self.client:
            yield

    def make_sink(self) -> Sink:
        name = self.name
        return RedisSink.rpush(self.url, name, lambda n: n)

    def stored(self) -> list[int]:
        return [int(n) for n in self.client.lrange(self.name, 0, -1)]

    def bad_records(self) -> list[Any]:
        return [None, {"n": 4}]

    def leftovers(self, job: SinkDriver) -> list[str]:
        keys = self.client.keys(f"headrace:{{{sink_hash(job.job_id, job.uid)}}}:*")
        return [key for key in keys if not key.endswith(":marker")]
