"""Exactly once against at least once into Kafka: the sink alone, in one process, on a real broker.

    python benchmarks/kafka_sink.py --records 100000 --batches 10 --rounds 5

In: options.  Out: a line for each run, the ratio of the medians (the bar is 0.7 at 100,000 records
a batch), and what one commit costs the driver.  The guarantees alternate, so that a slow
minute of the machine hits both.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from headrace.datastream.connectors.base import DeliveryGuarantee  # noqa: E402
from headrace.testing.connectors import SinkDriver  # noqa: E402
from kafka_broker import KafkaServer  # noqa: E402
from kafka_sinks import text_sink  # noqa: E402

GUARANTEES = (DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE)


def run_once(
    server: KafkaServer, guarantee: DeliveryGuarantee, parts: list[list[str]], batches: int
) -> tuple[float, float]:
    """Records a second, and the median of a commit on the driver in milliseconds."""
    topic = server.create_topic(4)
    with tempfile.TemporaryDirectory() as folder:
        job = SinkDriver(text_sink(server, topic, guarantee=guarantee), state_dir=folder)
        job.run(0, *parts)  # connects, and makes the producers
        commits_ms, started = [], time.perf_counter()
        for batch in range(1, batches + 1):
            staged = job.stage(batch, *parts)
            before = time.perf_counter()
            job.committer.commit(batch, staged)
            commits_ms.append((time.perf_counter() - before) * 1000)
        took_s = time.perf_counter() - started
        job.restart()
    return sum(map(len, parts)) * batches / took_s, statistics.median(commits_ms)


def measure(server: KafkaServer, options: argparse.Namespace) -> None:
    records = [
        f'{{"user": {n}, "page": "index.html", "amount": {n}}}' for n in range(options.records)
    ]
    parts = [records[k :: options.subtasks] for k in range(options.subtasks)]
    rates: dict[DeliveryGuarantee, list[float]] = {each: [] for each in GUARANTEES}
    for _ in range(options.rounds):
        for guarantee in GUARANTEES:
            rate, commit_ms = run_once(server, guarantee, parts, options.batches)
            rates[guarantee].append(rate)
            print(f"{guarantee.name:14} {rate:>10,.0f} records/s, commit {commit_ms:.1f} ms")
    at_least, exactly = (statistics.median(rates[each]) for each in GUARANTEES)
    print(f"exactly once / at least once: {exactly / at_least:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="in a batch")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--subtasks", type=int, default=2)
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
    server = KafkaServer(home)
    try:
        server.start()
        measure(server, options)
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
