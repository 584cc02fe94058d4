"""The job under attack, a script as a user would write it: source, state machine, sinks.

In: a JSON file of settings, the only argument.  Out: answers and window counts as JSON, in files or
topics (chaos/media.py).
It runs until `stop.json` appears in the control folder, then it stops with a savepoint and leaves
`stopped.json` there.  Next: chaos/runner.py, which starts it, kills it and starts it again.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaos.failing_sink import FailingSink, Orders
from chaos.machine import MOST_WAITING, WINDOW_MS, Event, advance, answer
from headrace.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from headrace.common.serialization import SerializationSchema
from headrace.common.time import Time
from headrace.connectors.files.source import FileSource
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.formats.file_format import StreamFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common import JobClient
    from headrace.datastream.connectors import Sink, Source
    from headrace.datastream.functions import RuntimeContext

MACHINE = Types.TUPLE([Types.LONG(), Types.STRING(), Types.LONG()])


def draw_lot(event: Event) -> tuple[int, Event]:
    """A function that gives another result each time: a task that runs again sends otherwise."""
    return random.randrange(1000), event


class CheckOrder(KeyedProcessFunction):
    """Runs the machine of one entity; files of one batch may be read in any order."""

    def open(self, runtime_context: RuntimeContext) -> None:
        # how many events were answered, state, digest
        self.machine = runtime_context.get_state(ValueStateDescriptor("machine", MACHINE))
        # events that came before their turn, by number
        self.waiting = runtime_context.get_map_state(
            MapStateDescriptor("waiting", Types.LONG(), Types.STRING())
        )

    def process_element(self, value: Event, ctx: Any) -> Iterator[dict[str, Any]]:
        done, state, digest = self.machine.value() or (0, "new", 0)
        if value.number <= done or self.waiting.contains(value.number):
            yield answer(value, state, digest, f"repeated: {value.number}")
            return
        self.waiting.put(value.number, value.line())
        while (line := self.waiting.get(done + 1)) is not None:
            self.waiting.remove(done + 1)
            event = Event.parse(line)
            done += 1
            state, digest, alert = advance(state, digest, event.kind)
            yield answer(event, state, digest, alert)
        self.machine.update((done, state, digest))
        if value.number > done + MOST_WAITING:
            yield answer(value, state, digest, f"lost: {done + 1}")


class Count(ProcessWindowFunction):
    """Events of an entity in a window: loses and repeats show here, and so do lost timers."""

    def process(self, key: str, context: Any, elements: Any) -> Iterator[dict[str, Any]]:
        numbers = [event.number for event in elements]
        start = context.window().start
        yield {"entity": key, "start": start, "events": len(numbers), "sum": sum(numbers)}


def environment(settings: dict[str, Any]) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in settings["options"].items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(settings["parallelism"])


def source_of(medium: dict[str, Any]) -> Source:
    """Lines that never end."""
    if "kafka" not in medium:
        lines = StreamFormat.text_line_format()
        files = FileSource.for_record_stream_format(lines, medium["in"])
        return files.monitor_continuously("100 ms").build()
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(medium["kafka"])
        .set_topics("in")
        .set_group_id("chaos")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def sink_of(medium: dict[str, Any], name: str) -> Sink:
    """Rows as JSON, exactly once; those of an entity stay in order."""
    if "kafka" not in medium:
        # in continuous mode: parts that grow over epochs, and end often enough to be looked at
        rolling = RollingPolicy.default_rolling_policy(rollover_interval=2000)
        return FileSink.json(medium[name], rolling=rolling)
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(name)
        .set_key_serialization_schema(Entity())
        .set_value_serialization_schema(Json())
        .build()
    )
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(medium["kafka"])
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"chaos-{name}")
        .build()
    )


class Entity(SerializationSchema):
    """The key of a message."""

    def serialize(self, element: dict[str, Any]) -> bytes:
        return str(element["entity"]).encode()


class Json(SerializationSchema):
    """The value of a message."""

    def serialize(self, element: dict[str, Any]) -> bytes:
        return json.dumps(element).encode()


def build(env: StreamExecutionEnvironment, settings: dict[str, Any]) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("10 s").with_timestamp_assigner(
        lambda event, _: event.at
    )
    keyed = (
        env.from_source(source_of(settings["medium"]), None, "lines")
        .uid("lines")
        .map(Event.parse)
        .assign_timestamps_and_watermarks(strategy)
        .rebalance()
        .map(draw_lot)
        .key_by(lambda drawn: drawn[0], key_type=Types.INT())
        .map(lambda drawn: drawn[1])
        .uid("by lot")
        .key_by(lambda event: event.entity, key_type=Types.STRING())
    )
    orders = Orders(Path(settings["orders"]))
    checked = keyed.process(CheckOrder()).uid("check")
    checked.sink_to(FailingSink(sink_of(settings["medium"], "answers"), orders)).uid("answers")
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
    counts = windows.process(Count()).uid("count")
    counts.sink_to(FailingSink(sink_of(settings["medium"], "windows"), orders)).uid("windows")


def serve(client: JobClient, control: Path) -> None:
    """Until the job is told to stop, or ends for a reason of its own."""
    order = control / "stop.json"
    while not client.wait(0.2):
        if order.exists():
            wish = json.loads(order.read_text())
            order.unlink()
            savepoint = client.stop_with_savepoint(wish["drain"], wish["folder"]).result()
            draft = control / ".stopped"
            draft.write_text(json.dumps({"savepoint": savepoint}))
            draft.rename(control / "stopped.json")
            return
    client.get_job_execution_result().result()


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    settings = json.loads(Path(sys.argv[1]).read_text())
    env = environment(settings)
    build(env, settings)
    began = time.monotonic()
    client = env.execute_async("orders")
    print(f"job runs after {time.monotonic() - began:.1f} s", flush=True)
    serve(client, Path(settings["control"]))


if __name__ == "__main__":
    main()
