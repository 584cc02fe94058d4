"""Jobs that write to Kafka, fail in the middle and go on, on Spark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Row, Types
from headrace.common.serialization import SimpleStringSchema
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from headrace.errors import UserFunctionError
from kafka_sinks import end_offset_is_stable, new_prefix, text_sink, unfinished

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment
    from kafka_broker import KafkaServer

VISIT = Types.ROW_NAMED(["id", "page"], [Types.LONG(), Types.STRING()])
COUNT = Types.TUPLE([Types.STRING(), Types.LONG()])
VISITS = [Row(id=n, page=f"p{n % 3}") for n in range(23)]


def fails_at(number: int, flag: Path, *, once: bool) -> Callable[[Row], Row]:
    """Fails at a record while the flag is there; takes it away if it is to fail once."""

    def check(visit: Row) -> Row:
        if visit.id == number and flag.exists():
            if once:
                flag.unlink()
            raise ValueError("poison")
        return visit

    return check


def settings(folder: Path, restart: str) -> dict[str, Any]:
    return {
        "source.max-records-per-batch": 5,
        "execution.checkpointing.dir": str(folder / "checkpoint"),
        "restart-strategy.type": restart,
        "restart-strategy.fixed-delay.attempts": 3,
        "restart-strategy.fixed-delay.delay": "10 ms",
    }


def count_sink(kafka: KafkaServer, topic: str, prefix: str) -> KafkaSink:
    """Counts as "page count", with the page as key."""
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_key_serialization_schema(_First())
        .set_value_serialization_schema(_Joined())
        .build()
    )
    builder = KafkaSink.builder().set_bootstrap_servers(kafka.bootstrap)
    builder.set_record_serializer(schema).set_transactional_id_prefix(prefix)
    return builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()


class _First(SimpleStringSchema):
    def serialize(self, element: Any) -> bytes:
        return str(element[0]).encode()


class _Joined(SimpleStringSchema):
    def serialize(self, element: Any) -> bytes:
        return f"{element[0]} {element[1]}".encode()


@pytest.mark.parametrize("restart", ["none", "fixed-delay"])
def test_every_message_is_in_kafka_once_after_a_restart(
    make_env: Callable[..., StreamExecutionEnvironment],
    tmp_path: Path,
    kafka: KafkaServer,
    restart: str,
) -> None:
    """The job is started again by a person, or by itself in the same worker processes."""
    ids, counts = kafka.create_topic(2), kafka.create_topic(2)
    prefix = new_prefix()  # one for both sinks of the job
    flag = tmp_path / "poison"

    def run() -> None:
        env = make_env(settings(tmp_path, restart))
        visits = env.from_collection(VISITS, VISIT)
        checked = visits.map(fails_at(13, flag, once=restart != "none"), VISIT)
        sink = text_sink(kafka, ids, prefix)
        checked.map(lambda visit: visit.id, Types.LONG()).sink_to(sink).uid("ids")
        pairs = checked.map(lambda visit: (visit.page, 1), COUNT).key_by(lambda pair: pair[0])
        pairs.sum(1).sink_to(count_sink(kafka, counts, prefix)).uid("counts")
        env.execute("visits to kafka")

    flag.touch()
    if restart == "none":
        with pytest.raises(UserFunctionError, match="poison"):
            run()
        flag.unlink()
    run()

    assert unfinished(kafka, prefix) == {}
    assert sorted(int(m.value()) for m in kafka.read(ids)) == list(range(23))
    found = Counter(m.value().decode() for m in kafka.read(counts))
    pages = Counter(visit.page for visit in VISITS)
    assert found == Counter(f"{p} {n}" for p, total in pages.items() for n in range(1, total + 1))
    assert end_offset_is_stable(kafka, ids)
    assert end_offset_is_stable(kafka, counts)


def test_a_job_without_a_checkpoint_directory_is_exactly_once_while_its_driver_lives(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path, kafka: KafkaServer
) -> None:
    topic, prefix, flag = kafka.create_topic(2), new_prefix(), tmp_path / "poison"
    flag.touch()
    options = settings(tmp_path, "fixed-delay")
    del options["execution.checkpointing.dir"]
    env = make_env(options)
    checked = env.from_collection(VISITS, VISIT).map(fails_at(13, flag, once=True), VISIT)
    ids = checked.map(lambda visit: visit.id, Types.LONG())
    ids.sink_to(text_sink(kafka, topic, prefix)).uid("ids")
    env.execute("visits to kafka, no checkpoint")
    assert unfinished(kafka, prefix) == {}
    assert sorted(int(m.value()) for m in kafka.read(topic)) == list(range(23))


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE])
def test_the_other_guarantees_on_spark(
    make_env: Callable[..., StreamExecutionEnvironment],
    kafka: KafkaServer,
    guarantee: DeliveryGuarantee,
) -> None:
    topic = kafka.create_topic(2)
    env = make_env({"source.max-records-per-batch": 10})
    numbers = env.from_collection(list(range(30)), Types.LONG())
    numbers.sink_to(text_sink(kafka, topic, guarantee=guarantee)).uid("out")
    env.execute("numbers to kafka")
    assert sorted(int(m.value()) for m in kafka.read(topic)) == list(range(30))
