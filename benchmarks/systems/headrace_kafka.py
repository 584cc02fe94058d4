"""The Kafka jobs on headrace.

`kafka-source`: typed JSON is read and dropped in the worker.  `kafka-ads`: the program of
examples/applications, Redis included, as a bounded run; with the variant `sql` the one in SQL.
`kafka-sink`: strings from one topic into another, with the guarantee that the variant names.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "applications"))

from measure import QueryCatcher, WorkerMemory, arguments, report, spark_session

from headrace.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from headrace.connectors.discarding import DiscardingSink
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

BATCH = 1_600_000  # the fixed part of a batch, some 0.3 s, is a fifth of it
EVENT = Types.ROW_NAMED(
    ["key", "name", "value", "ts"], [Types.LONG(), Types.STRING(), Types.DOUBLE(), Types.LONG()]
)


def source(options: argparse.Namespace, schema: Any) -> KafkaSource:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(options.kafka)
        .set_topics(options.topic)
        .set_group_id("bench")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(schema)
        .build()
    )


def read_only(env: StreamExecutionEnvironment, options: argparse.Namespace) -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(EVENT).build()
    stream = env.from_source(source(options, schema), WatermarkStrategy.no_watermarks(), "events")
    stream.sink_to(DiscardingSink())


def ads(env: StreamExecutionEnvironment, options: argparse.Namespace) -> None:
    import ad_campaigns

    ad_campaigns.build(env, options.kafka, options.topic, options.redis, bounded=True)


def ads_in_sql(configuration: Configuration, options: argparse.Namespace) -> Callable[[], Any]:
    import ad_campaigns_sql

    configuration.set_string("parallelism.default", "2")
    settings = EnvironmentSettings.new_instance().with_configuration(configuration)
    t_env = TableEnvironment.create(settings.in_streaming_mode().build())
    job = ad_campaigns_sql.build(t_env, options.kafka, options.topic, options.redis, bounded=True)
    return lambda: t_env.execute_sql(job).wait()


def copy(env: StreamExecutionEnvironment, options: argparse.Namespace) -> None:
    schema = SimpleStringSchema()
    serializer = KafkaRecordSerializationSchema.builder().set_topic(options.out_topic)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(options.kafka)
        .set_record_serializer(serializer.set_value_serialization_schema(schema).build())
        .set_delivery_guarantee(DeliveryGuarantee[options.variant.upper()])
        .set_transactional_id_prefix(f"bench-{options.out_topic}")
        .build()
    )
    lines = env.from_source(source(options, schema), WatermarkStrategy.no_watermarks(), "lines")
    lines.sink_to(sink).uid("copy")


JOBS = {"kafka-source": read_only, "kafka-ads": ads, "kafka-sink": copy}


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    configuration = Configuration()
    batch = min(BATCH, options.events // 5)  # a quick run has batches, too
    configuration.set_string("source.max-records-per-batch", str(batch))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    if options.variant == "sql":
        run = ads_in_sql(configuration, options)
    else:
        JOBS[options.job](env, options)
        run = partial(env.execute, "bench")
    memory, began = WorkerMemory(), time.perf_counter()
    with QueryCatcher() as queries, memory:
        run()
    seconds = time.perf_counter() - began
    done, steady, steady_ms, durations = 0, 0, 0, []
    for batch in queries[0].recentProgress:
        count = records_of(batch["sources"][0])
        if done >= options.warmup_events:
            steady += count
            steady_ms += batch["batchDuration"]
        durations.append(batch["batchDuration"])
        done += count
    if done < options.events:
        raise SystemExit(f"only {done} of {options.events} events were processed")
    rate = steady / (steady_ms / 1000)
    report(
        system="headrace_kafka",
        job=options.job,
        events=done,
        seconds=round(seconds, 3),
        events_per_s=round(rate),
        batch_ms=durations,
        worker_rss_mb=memory.quarters(),
        note=f"{rate / 2:,.0f} events/s a core; Flink's published run of this job: 370,000"
        if options.job == "kafka-ads"
        else "",
    )
    spark.stop()


def records_of(progress: Any) -> int:
    """How many offsets a batch has read: the positions of its ends tell it."""
    starts, ends = positions(progress["startOffset"]), positions(progress["endOffset"])
    return sum(end - starts.get(split, 0) for split, end in ends.items())


def positions(offset: Any) -> dict[str, int]:
    """Partition -> offset; a bounded source keeps beside it where it ends."""
    found = json.loads(offset) if isinstance(offset, str) else offset
    return {split: at[0] if isinstance(at, list) else at for split, at in (found or {}).items()}


if __name__ == "__main__":
    main()
