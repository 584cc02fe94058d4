"""A broker with the events of the Kafka jobs, for as long as a benchmark runs.

In: how many.  Out: topics of 4 partitions: `events` (typed JSON of some 80 bytes), `ads` (the
events of Yahoo's streaming benchmark), and the same ads as files of JSON lines, for Spark without
Kafka.  Next: systems/headrace_kafka.py.  The broker is that of the tests.
"""

from __future__ import annotations

import random
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from ads import ADS
from headrace.io.maven_jars import jars_of
from kafka_broker import KafkaServer
from services import RedisServer, new_redis

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 7
PARTITIONS = 4
FIRST_MS = 1_700_000_000_000
EVENTS_PER_MS = 20


def events(count: int) -> Iterator[bytes]:
    """Objects with a number, a text, a fraction and a time: 75 to 85 bytes."""
    chance = random.Random(SEED)
    for number in range(count):
        key, value = chance.randrange(10_000), chance.random()
        time = FIRST_MS + number // EVENTS_PER_MS
        yield b'{"key":%d,"name":"user-%06d","value":%.6f,"ts":%d}' % (key, key, value, time)


def ads(count: int) -> Iterator[bytes]:
    """The fields of Yahoo's benchmark; a third of the events are views."""
    chance = random.Random(SEED)
    names, kinds = list(ADS), ("view", "click", "purchase")
    for number in range(count):
        yield (
            b'{"user_id":"u-%06d","page_id":"p-%04d","ad_id":"%s","ad_type":"banner",'
            b'"event_type":"%s","event_time":%d,"ip_address":"1.2.3.4"}'
        ) % (
            chance.randrange(100_000),
            chance.randrange(1_000),
            chance.choice(names).encode(),
            chance.choice(kinds).encode(),
            FIRST_MS + number // EVENTS_PER_MS,
        )


class Servers:
    """Kafka and Redis, started when they are first asked for; they keep what they were given."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._kafka: KafkaServer | None = None
        self._redis: RedisServer | None = None
        self._filled: set[str] = set()

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self._kafka, self._redis):
            if server is not None:
                server.stop()

    def kafka(self) -> KafkaServer:
        if self._kafka is None:
            self._kafka = KafkaServer(self._home("kafka"))
            self._kafka.start()
        return self._kafka

    def redis(self) -> str:
        """The address of a server that has the table of ads."""
        if self._redis is None:
            self._redis = new_redis(self._home("redis"))
            self._redis.start()
            with self._redis.client() as client:
                client.hset("ads", mapping=ADS)
        return self._redis.url

    def topic_arguments(self, job: str, count: int) -> list[str]:
        """Where a job finds its events, and where it may write."""
        kind = "ads" if job == "kafka-ads" else "events"
        found = ["--kafka", self.kafka().bootstrap, "--topic", self._topic(kind, count)]
        if job == "kafka-sink":
            found += ["--out-topic", self.kafka().create_topic(PARTITIONS)]
        return [*found, "--redis", self.redis()] if job == "kafka-ads" else found

    def ad_files(self, count: int, per_file: int) -> Path:
        return write_ad_files(self._folder / f"ads-{count}", count, per_file)

    def flink_connector(self) -> Path:
        """The jar of Flink's Kafka connector."""
        name, version = "flink-sql-connector-kafka", "5.0.0-2.2"
        folder = jars_of(f"{name}-{version}", [("org.apache.flink", name, version)])
        return folder / f"{name}-{version}.jar"

    def _topic(self, kind: str, count: int) -> str:
        """The topic with that many events of a kind, spread evenly over its partitions."""
        name = f"{kind}-{count}"
        if name not in self._filled:
            self.kafka().create_topic(PARTITIONS, name)
            fill(self.kafka().bootstrap, name, {"events": events, "ads": ads}[kind](count))
            self._filled.add(name)
        return name

    def _home(self, name: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._folder))


def fill(bootstrap: str, topic: str, values: Iterator[bytes]) -> None:
    """Chunks of 1,000 go to the partitions in turn, so that all advance together."""
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "batch.num.messages": 10_000,
            "queue.buffering.max.messages": 500_000,
            "compression.type": "lz4",
        }
    )
    partition = 0
    while chunk := list(islice(values, 1_000)):
        for value in chunk:
            produce_patiently(producer, topic, value, partition)
        producer.poll(0)
        partition = (partition + 1) % PARTITIONS
    assert producer.flush(120) == 0


def produce_patiently(producer: Any, topic: str, value: bytes, partition: int) -> None:
    while True:
        try:
            producer.produce(topic, value, partition=partition)
        except BufferError:  # the queue is full
            producer.poll(0.1)
        else:
            return


def write_ad_files(folder: Path, count: int, per_file: int) -> Path:
    """The ads as files of JSON lines."""
    if not folder.exists():
        folder.mkdir(parents=True)
        values = ads(count)
        number = 0
        while chunk := list(islice(values, per_file)):
            (folder / f"part-{number:04d}.json").write_bytes(b"\n".join(chunk) + b"\n")
            number += 1
    return folder
