"""A server that nobody reaches: who waits says so, keeps to its limit and says why.

Two kinds: nobody listens, and somebody listens who never says a word.
"""

from __future__ import annotations

import socket
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.client import rest_client
from headrace.client.rest_client import RestClient
from headrace.common import Configuration
from headrace.connectors.elasticsearch.client import ElasticClient, ElasticServers
from headrace.connectors.kafka.client import ClientSettings
from headrace.connectors.kafka.offsets import KafkaTopicPartition
from headrace.connectors.kafka.planner import Planner, Subscription
from headrace.connectors.kafka.producers import SinkProducer
from headrace.connectors.kafka.reader import PartitionReader
from headrace.connectors.kafka.transaction_admin import TransactionAdmin
from headrace.connectors.postgres.client import PostgresClient
from headrace.connectors.redis import client as redis_client
from headrace.connectors.redis.client import RedisClient
from headrace.errors import ConfigurationError, ConnectorError
from headrace.formats import schema_registry
from headrace.formats.schema_registry import SchemaRegistryClient
from headrace.io import waiting
from headrace.io.server_calls import Retries
from headrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_MS = 700
# The clients' own limits are 10 s and more; a busy machine is not that slow.
FAR_BELOW_THE_CLIENTS_OWN_S = 8.0
ONCE = Retries(attempts=1)
PARTITION = KafkaTopicPartition("clicks", 0)


@pytest.fixture(params=["nobody listens", "somebody listens and says nothing"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if request.param.startswith("somebody"):
            taken.listen(16)
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_client, "_TIMEOUT_S", LIMIT_MS / 1000)
    monkeypatch.setattr(redis_client, "_CONNECT_S", LIMIT_MS / 1000)
    monkeypatch.setattr(schema_registry, "_RETRIES", Retries(attempts=2, first_delay_s=0.01))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Those who would be told of after three seconds (tests/unit/io/test_waiting.py)."""
    found: list[Any] = []
    watch = SimpleNamespace(add=found.append, remove=lambda wait: None)
    monkeypatch.setattr(waiting, "_watch", watch)
    return found


def kafka(address: str) -> ClientSettings:
    limit = {"default.api.timeout.ms": str(LIMIT_MS)}
    return ClientSettings.of_source({"bootstrap.servers": address, **limit}, "here")


def planner(address: str, **subscription: Any) -> Planner:
    return Planner(kafka(address), Subscription(**subscription))


def elastic(address: str) -> ElasticClient:
    limit_s = LIMIT_MS / 1000
    servers = ElasticServers(
        (f"http://{address}",), connect_timeout_s=limit_s, socket_timeout_s=limit_s
    )
    return ElasticClient(servers, ONCE)


def registry(address: str) -> SchemaRegistryClient:
    return SchemaRegistryClient(f"http://{address}", {"request.timeout.ms": str(LIMIT_MS // 4)})


def postgres(address: str) -> PostgresClient:
    url = f"postgresql://me@{address}/db?connect_timeout=1"
    return PostgresClient(url, "table t", ONCE)


CALLS: dict[str, Callable[[str], Any]] = {
    "partitions": lambda at: planner(at, topics=("clicks",)).partitions(),
    "topics of a pattern": lambda at: planner(at, pattern="c.*").partitions(),
    "ends": lambda at: planner(at, topics=("clicks",)).ends([PARTITION]),
    "a partition": lambda at: list(PartitionReader(kafka(at), PARTITION).read(0, 1)),
    "producer": lambda at: SinkProducer(kafka(at)).partitions("clicks"),
    "transactions of a producer": lambda at: SinkProducer(kafka(at), "tx"),
    "transactions": lambda at: TransactionAdmin(kafka(at)).open_ids("tx"),
    "postgres": lambda at: postgres(at).run("write", lambda c: c.execute("SELECT 1")),
    "redis": lambda at: RedisClient(f"redis://{at}/0", ONCE).run("write", lambda c: c.ping()),
    "elasticsearch": lambda at: elastic(at).run("write", lambda ask: ask("GET", "/")),
    "schema registry": lambda at: registry(at).schema(1),
    "dispatcher": lambda at: RestClient.of(at, Configuration()).jobs(),
}
LIBRARIES = {"postgres": "psycopg", "redis": "redis", "elasticsearch": "elastic_transport"}


@pytest.mark.parametrize("name", CALLS)
def test_who_waits_says_so_and_keeps_to_its_limit(
    address: str, name: str, waits: list[Any]
) -> None:
    pytest.importorskip(LIBRARIES.get(name, "confluent_kafka"))
    start = time.monotonic()
    with pytest.raises(ConnectorError) as caught:
        CALLS[name](address)
    assert time.monotonic() < start + FAR_BELOW_THE_CLIENTS_OWN_S
    assert address in str(caught.value)
    (wait,) = waits  # one line, however often the server was called
    assert address in wait.what
    assert wait.limit.startswith("for ")


# --- whole programs: all that is tried, from the first statement to the end of the job ----------

TABLES = {
    "kafka": """CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 'clicks',
        'properties.bootstrap.servers' = '{at}', 'properties.default.api.timeout.ms' = '1000',
        'scan.startup.mode' = 'earliest-offset', 'format' = 'json')""",
    "jdbc": """CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'table-name' = 't',
        'url' = 'jdbc:postgresql://{at}/db', 'connection.max-retry-timeout' = '1 s')""",
}
STATEMENTS = {"source": "SELECT a FROM t", "sink": "INSERT INTO t VALUES (1)"}


@pytest.mark.parametrize("use", STATEMENTS)
@pytest.mark.parametrize("connector", TABLES)
def test_a_statement_keeps_to_the_limit_of_its_table(
    address: str, connector: str, use: str, waits: list[Any]
) -> None:
    pytest.importorskip({"kafka": "confluent_kafka", "jdbc": "psycopg"}[connector])
    settings = EnvironmentSettings(Configuration.from_dict({"headrace.execution.host": "local"}))
    tables = TableEnvironment.create(settings)
    tables.execute_sql(TABLES[connector].format(at=address))
    start = time.monotonic()
    with pytest.raises(ConnectorError, match=address):
        list(tables.execute_sql(STATEMENTS[use]).collect())
    assert time.monotonic() < start + FAR_BELOW_THE_CLIENTS_OWN_S
    assert all(wait.limit.startswith("for ") for wait in waits)


def test_a_database_is_not_given_up_within_a_second() -> None:
    settings = EnvironmentSettings(Configuration.from_dict({"headrace.execution.host": "local"}))
    tables = TableEnvironment.create(settings)
    text = TABLES["jdbc"].format(at="127.0.0.1:1").replace("1 s", "999 ms")
    tables.execute_sql(text)
    with pytest.raises(ConfigurationError, match="999 ms"):
        tables.execute_sql("SELECT a FROM t")
