"""How old a message is when a read_committed reader gets it, by the length of an epoch.

    python benchmarks/kafka_latency.py --epochs 200 1000 5000

    producer ─▶ topic ─▶ job: Kafka source, map, exactly-once sink ─▶ topic ─▶ reader

In: options.  Out: a line for each length of an epoch: p50 and p99 from produce to the reader, on a
real broker, in continuous mode.  Messages carry the time at which they were produced.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from confluent_kafka import Consumer, Producer  # noqa: E402

from headrace.common import Configuration, WatermarkStrategy  # noqa: E402
from headrace.common.serialization import SimpleStringSchema  # noqa: E402
from headrace.common.typeinfo import Types  # noqa: E402
from headrace.datastream import StreamExecutionEnvironment  # noqa: E402
from headrace.datastream.connectors.kafka import KafkaSource  # noqa: E402
from kafka_broker import KafkaServer  # noqa: E402
from kafka_sinks import text_sink  # noqa: E402

if TYPE_CHECKING:
    from headrace.common.job_client import JobClient

# epochs that are over before it is measured: the job starts, the sink connects
WARM_UP_EPOCHS = 2
WARM_UP_S = 5.0


def start_job(server: KafkaServer, source: str, sink: str, epoch_ms: int, host: str) -> JobClient:
    settings = {
        "headrace.execution.host": host,
        "headrace.execution.mode": "continuous",
        "execution.checkpointing.interval": f"{epoch_ms} ms",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(1)
    read = (
        KafkaSource.builder()
        .set_bootstrap_servers(server.bootstrap)
        .set_topics(source)
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    stream = env.from_source(read, WatermarkStrategy.no_watermarks(), "messages")
    stream.map(str, Types.STRING()).sink_to(text_sink(server, sink))
    return env.execute_async(f"epochs of {epoch_ms} ms")


def produce(server: KafkaServer, topic: str, rate: float, over: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": server.bootstrap, "linger.ms": 0})
    due = time.monotonic()
    while not over.is_set():
        producer.produce(topic, str(time.time_ns()))
        producer.poll(0)
        due += 1 / rate
        time.sleep(max(0.0, due - time.monotonic()))
    producer.flush()


def ages_ms(server: KafkaServer, topic: str, skipped_s: float, seconds: float) -> list[float]:
    """How old messages were; nothing is counted of those that come in the beginning."""
    reader = Consumer(
        {
            "bootstrap.servers": server.bootstrap,
            "group.id": "latency",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 20,
        }
    )
    reader.subscribe([topic])
    ages: list[float] = []
    begin: float | None = None
    while begin is None or time.monotonic() < begin + skipped_s + seconds:
        message = reader.poll(0.5)
        if message is None or message.error():
            continue
        now = time.monotonic()
        begin = begin or now
        if now >= begin + skipped_s:
            ages.append((time.time_ns() - int(message.value() or b"0")) / 1e6)
    reader.close()
    return ages


def measure(server: KafkaServer, epoch_ms: int, options: argparse.Namespace) -> None:
    source, sink = server.create_topic(1), server.create_topic(1)
    over = threading.Event()
    feeding = threading.Thread(target=produce, args=(server, source, options.rate, over))
    job = start_job(server, source, sink, epoch_ms, options.host)
    feeding.start()
    try:
        skipped_s = max(WARM_UP_S, WARM_UP_EPOCHS * epoch_ms / 1000)
        ages = ages_ms(server, sink, skipped_s, options.seconds)
    finally:
        over.set()
        feeding.join()
        job.cancel().result()
    cuts = statistics.quantiles(ages, n=100)
    print(
        f"| {epoch_ms:,} ms | {cuts[49]:,.0f} ms | {cuts[98]:,.0f} ms | {len(ages):,} |", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, nargs="+", default=[200, 1000, 5000], help="in ms")
    parser.add_argument("--rate", type=float, default=200, help="messages a second")
    parser.add_argument("--seconds", type=float, default=30, help="that are measured")
    parser.add_argument("--host", default="local", help="local or spark")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
    server = KafkaServer(home)
    try:
        server.start()
        print("| epoch | p50 | p99 | messages |\n| --- | --- | --- | --- |", flush=True)
        for epoch_ms in options.epochs:
            measure(server, epoch_ms, options)
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
