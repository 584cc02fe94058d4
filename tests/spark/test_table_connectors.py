"""Tables of Kafka, PostgreSQL and Redis on Spark: read, joined, grouped and upserted by SQL."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment
from services import PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kafka_broker import KafkaServer
    from services import PostgresServer, RedisServer

ORDERS = [{"item": f"i{n % 5}", "shop": n % 3, "amount": n} for n in range(60)]
TOTALS = {
    item: (len(amounts), sum(amounts))
    for item in sorted({str(order["item"]) for order in ORDERS})
    for amounts in [[int(str(o["amount"])) for o in ORDERS if o["item"] == item]]
}


@pytest.fixture
def t_env(spark: SparkSession) -> TableEnvironment:
    configuration = Configuration().set_string("parallelism.default", "2")
    configuration.set_string("source.max-records-per-batch", "20")
    wished = EnvironmentSettings.new_instance().in_streaming_mode()
    return TableEnvironment.create(wished.with_configuration(configuration).build())


def create(t_env: TableEnvironment, name: str, columns: str, **options: str) -> None:
    settings = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({settings})")


def orders_topic(t_env: TableEnvironment, kafka: KafkaServer) -> str:
    """Orders as a table that ends: `orders`."""
    topic = kafka.create_topic(2)
    for place in range(2):
        texts = [json.dumps(order) for order in ORDERS[place::2]]
        kafka.send(topic, texts, partition=place)
    of_kafka(t_env, kafka, "orders", "item STRING, shop INT, amount INT, t AS PROCTIME()", topic)
    return topic


def of_kafka(
    t_env: TableEnvironment, kafka: KafkaServer, name: str, columns: str, topic: str
) -> None:
    create(
        t_env,
        name,
        columns,
        **{
            "connector": "kafka",
            "topic": topic,
            "format": "json",
            "properties.bootstrap.servers": kafka.bootstrap,
            "scan.startup.mode": "earliest-offset",
            "scan.bounded.mode": "latest-offset",
        },
    )


def of_upsert_kafka(
    t_env: TableEnvironment, kafka: KafkaServer, name: str, columns: str, topic: str, **more: str
) -> None:
    create(
        t_env,
        name,
        columns,
        **{
            "connector": "upsert-kafka",
            "topic": topic,
            "key.format": "json",
            "value.format": "json",
            "properties.bootstrap.servers": kafka.bootstrap,
        },
        **more,
    )


def of_postgres(t_env: TableEnvironment, postgres: PostgresServer, name: str, columns: str) -> None:
    create(
        t_env,
        name,
        columns,
        **{
            "connector": "jdbc",
            "url": f"jdbc:postgresql://127.0.0.1:{postgres.port}/headrace",
            "table-name": name,
            "username": "headrace",
            "password": PASSWORD,
        },
    )


def newest(kafka: KafkaServer, topic: str) -> dict[Any, Any]:
    """What a topic says of each key in the end; None if it was deleted."""
    found = {}
    for message in kafka.read(topic):
        key = tuple(json.loads(message.key()).values())
        found[key] = message.value() and json.loads(message.value())
    return found


def test_a_topic_is_grouped_into_an_upsert_topic_which_is_read_again(
    t_env: TableEnvironment, kafka: KafkaServer
) -> None:
    orders_topic(t_env, kafka)
    columns = "item STRING, c BIGINT, s INT, PRIMARY KEY (item) NOT ENFORCED"
    totals, shops = kafka.create_topic(2), kafka.create_topic(1)
    of_upsert_kafka(t_env, kafka, "totals", columns, totals)
    t_env.execute_sql(
        "INSERT INTO totals SELECT item, COUNT(*), SUM(amount) FROM orders GROUP BY item"
    ).wait()
    expected = {(item,): {"item": item, "c": c, "s": s} for item, (c, s) in TOTALS.items()}
    assert newest(kafka, totals) == expected

    # read again, its upserts are changes: a group that all items leave in the end is deleted
    bounded = {"scan.bounded.mode": "latest-offset"}
    of_upsert_kafka(t_env, kafka, "totals_again", columns, totals, **bounded)
    of_upsert_kafka(
        t_env, kafka, "sizes", "c BIGINT, items BIGINT, PRIMARY KEY (c) NOT ENFORCED", shops
    )
    t_env.execute_sql("INSERT INTO sizes SELECT c, COUNT(*) FROM totals_again GROUP BY c").wait()
    sizes = newest(kafka, shops)
    assert {key: row for key, row in sizes.items() if row} == {(12,): {"c": 12, "items": 5}}


def test_orders_of_a_topic_look_up_their_shops_in_postgresql_and_their_totals_go_there(
    t_env: TableEnvironment, kafka: KafkaServer, postgres: PostgresServer
) -> None:
    postgres.query("CREATE TABLE sql_shops (id INT PRIMARY KEY, city TEXT)")
    postgres.query("INSERT INTO sql_shops VALUES (0, 'Aachen'), (1, 'Bonn')")
    postgres.query("CREATE TABLE sql_cities (city TEXT PRIMARY KEY, c BIGINT, s INT)")
    orders_topic(t_env, kafka)
    of_postgres(t_env, postgres, "sql_shops", "id INT, city STRING")
    of_postgres(
        t_env,
        postgres,
        "sql_cities",
        "city STRING, c BIGINT, s INT, PRIMARY KEY (city) NOT ENFORCED",
    )
    t_env.execute_sql("""
        INSERT INTO sql_cities
        SELECT COALESCE(city, 'nowhere'), COUNT(*), SUM(amount)
        FROM orders AS o LEFT JOIN sql_shops FOR SYSTEM_TIME AS OF o.t AS s ON o.shop = s.id
        GROUP BY COALESCE(city, 'nowhere')""").wait()
    expected = {
        (city, 20, sum(int(str(o["amount"])) for o in ORDERS if o["shop"] == shop))
        for shop, city in enumerate(("Aachen", "Bonn", "nowhere"))
    }
    assert set(postgres.query("SELECT city, c, s FROM sql_cities")) == expected


def test_a_table_of_postgresql_is_scanned_and_joined_with_a_topic(
    t_env: TableEnvironment, kafka: KafkaServer, postgres: PostgresServer
) -> None:
    postgres.query("CREATE TABLE sql_prices (item TEXT PRIMARY KEY, price INT)")
    postgres.query("INSERT INTO sql_prices VALUES ('i0', 2), ('i1', 3), ('other', 5)")
    orders_topic(t_env, kafka)
    of_postgres(t_env, postgres, "sql_prices", "item STRING, price INT")
    found = t_env.execute_sql("""
        SELECT o.item, o.amount * p.price FROM orders AS o JOIN sql_prices AS p
        ON o.item = p.item""").collect()
    prices = {"i0": 2, "i1": 3}
    expected = sorted(
        (str(o["item"]), int(str(o["amount"])) * prices[str(o["item"])])
        for o in ORDERS
        if o["item"] in prices
    )
    assert sorted(tuple(row) for row in found) == expected


def test_totals_are_hashes_of_redis_and_are_looked_up_there(
    t_env: TableEnvironment, redis_server: RedisServer, kafka: KafkaServer, tmp_path: Path
) -> None:
    orders_topic(t_env, kafka)
    columns = "item STRING, c BIGINT, s INT, PRIMARY KEY (item) NOT ENFORCED"
    options = {"connector": "redis", "url": redis_server.url, "key-prefix": "sql-totals:"}
    create(t_env, "totals", columns, **options)
    t_env.execute_sql(
        "INSERT INTO totals SELECT item, COUNT(*), SUM(amount) FROM orders GROUP BY item"
    ).wait()
    with closing(redis_server.client()) as client:
        found = {key: client.hgetall(key) for key in client.keys("sql-totals:*")}
    assert found == {
        f"sql-totals:{item}": {"item": item, "c": str(c), "s": str(s)}
        for item, (c, s) in TOTALS.items()
    }
    rows = t_env.execute_sql("""
        SELECT o.amount, t.s FROM orders AS o
        JOIN totals FOR SYSTEM_TIME AS OF o.t AS t ON o.item = t.item""").collect()
    expected = sorted((int(str(o["amount"])), TOTALS[str(o["item"])][1]) for o in ORDERS)
    assert sorted(tuple(row) for row in rows) == expected
