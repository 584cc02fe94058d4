"""Views per ad campaign in ten-second windows: the job of Yahoo's streaming benchmark.

    Kafka (JSON) ── views only ── campaign of the ad ── views a second ── 10 s windows ── Redis

The table of ads comes from Redis (`ads`: ad -> campaign), as in the original. Redis gets a hash for
each campaign, from the start of a window to the views so far: `HGETALL campaign:campaign-007`.
"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.common import Row, Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headrace.datastream.connectors.redis import RedisSink
from headrace.datastream.expressions import col
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.datastream.functions import (
    AggregateFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from headrace.datastream.window import CountTrigger, TumblingEventTimeWindows

TEXT, NUMBER = Types.STRING(), Types.LONG()
# Events have more fields (user, page, address, ...), which are left where they are.
EVENT = Types.ROW_NAMED(["ad_id", "event_type", "event_time"], [TEXT, TEXT, NUMBER])

VIEWS, TOTAL = Types.TUPLE([TEXT, NUMBER]), Types.TUPLE([TEXT, NUMBER, NUMBER])


class FindCampaign(MapFunction):
    """The join: the table of ads is small, so that every subtask has all of it."""

    def __init__(self, redis_url: str) -> None:
        self.redis_url = redis_url

    def open(self, runtime_context: RuntimeContext) -> None:
        import redis

        with redis.Redis.from_url(self.redis_url, decode_responses=True) as server:
            self.campaigns: dict[str, str] = server.hgetall("ads")

    def map(self, value: Row) -> str:
        return self.campaigns.get(value[0], "unknown")


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: str, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class WithKey(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        for views in elements:
            yield key, views


class WithWindow(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        for _, views in elements:
            yield key, context.window().start, views


def build(
    env: StreamExecutionEnvironment, kafka: str, topic: str, redis_url: str, *, bounded: bool
) -> None:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka)
        .set_topics(topic)
        .set_group_id("ad-campaigns")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(EVENT).build()
        )
    )
    if bounded:  # up to what is there now
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    in_order = WatermarkStrategy.for_bounded_out_of_orderness("1 s").with_timestamp_assigner(
        "event_time"
    )
    views = (
        env.from_source(builder.build(), in_order.with_idleness("5 s"), "ad events")
        .uid("ad events")
        .filter(col("event_type") == "view")
        .select(col("ad_id"))
        .map(FindCampaign(redis_url), output_type=Types.STRING())
        .key_by(lambda campaign: campaign, key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .aggregate(Count(), WithKey(), output_type=VIEWS)
        .uid("views a second")
        # A window has only ten of them, and tells its new total for each.
        .key_by(lambda views: views[0], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .trigger(CountTrigger.of(1))
        .reduce(lambda a, b: (a[0], a[1] + b[1]), WithWindow(), output_type=TOTAL)
        .uid("views")
    )
    sink = RedisSink.hset(
        redis_url, key=lambda row: f"campaign:{row[0]}", mapping=lambda row: {str(row[1]): row[2]}
    )
    views.sink_to(sink).uid("redis")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kafka", default="127.0.0.1:9092", help="bootstrap servers")
    parser.add_argument("--topic", default="ad-events")
    parser.add_argument("--redis", default="redis://127.0.0.1:6379/0")
    parser.add_argument("--bounded", action="store_true", help="end with what is there now")
    options = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, options.kafka, options.topic, options.redis, bounded=options.bounded)
    env.execute("ad campaigns")


if __name__ == "__main__":
    main()
