"""Two bare consumers in processes of their own, two partitions each: the ceiling of the job.

What one would write without any engine: lists of messages, each decoded with orjson, and dropped.
"""

from __future__ import annotations

import multiprocessing
import time
from typing import Any

from measure import arguments, report

PROCESSES = 2
LIST = 20_000


def consume(bootstrap: str, topic: str, partitions: list[int], warmup: int, marks: Any) -> None:
    import orjson
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bare",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            # by default a full queue is looked at again after a second: four times slower here
            "fetch.queue.backoff.ms": 5,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    decoded, ended, steady_from, steady_after = 0, 0, 0.0, 0
    while ended < len(partitions):
        messages = consumer.consume(LIST, timeout=1.0)
        values = [message.value() for message in messages if message.error() is None]
        ended += len(messages) - len(values)
        for value in values:
            orjson.loads(value)
        decoded += len(values)
        if not steady_from and decoded >= warmup:
            steady_from, steady_after = time.time(), decoded
    marks.put((decoded, decoded - steady_after, steady_from, time.time()))
    consumer.close()


def main() -> None:
    options = arguments()
    began = time.time()
    marks: Any = multiprocessing.Queue()
    mine = [[number for number in range(4) if number % PROCESSES == n] for n in range(PROCESSES)]
    warmup = options.warmup_events // PROCESSES
    processes = [
        multiprocessing.Process(
            target=consume, args=(options.kafka, options.topic, partitions, warmup, marks)
        )
        for partitions in mine
    ]
    for process in processes:
        process.start()
    found = [marks.get() for _ in processes]
    for process in processes:
        process.join()
    if sum(decoded for decoded, *_ in found) < options.events:
        raise SystemExit(f"only {found} of {options.events} events")
    report(
        system="kafka_bare",
        job=options.job,
        events=options.events,
        seconds=round(time.time() - began, 3),
        events_per_s=round(sum(steady / (end - start) for _, steady, start, end in found)),
    )


if __name__ == "__main__":
    main()
