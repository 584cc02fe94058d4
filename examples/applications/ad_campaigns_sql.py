"""Views per ad campaign in ten-second windows, in SQL: the job of ad_campaigns.py.

    Kafka (JSON) ── views only ── campaign of the ad ── CUMULATE by a second up to ten ── Redis

The table of ads comes from Redis (`ads`: ad -> campaign). Redis gets a hash for each campaign and
window, with the views so far: `HGETALL views:campaign-007:2026-01-01 08:00:10`.
"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.common import Configuration
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.udf import ScalarFunction, udf


class CampaignOf(ScalarFunction):
    """The join: the table of ads is small, so that every subtask has all of it."""

    def __init__(self, redis_url: str) -> None:
        self.redis_url = redis_url

    def open(self, function_context: Any) -> None:
        import redis

        with redis.Redis.from_url(self.redis_url, decode_responses=True) as server:
            self.campaigns: Any = server.hgetall("ads")

    def eval(self, ads: Any) -> Any:  # a pandas series of a batch's ads
        return ads.map(self.campaigns).fillna("unknown")


def build(t_env: TableEnvironment, kafka: str, topic: str, redis_url: str, *, bounded: bool) -> str:
    """Declares the tables; returns the INSERT that is the job."""
    t_env.get_config().set_local_timezone("UTC")
    function = udf(CampaignOf(redis_url), result_type=DataTypes.STRING(), func_type="pandas")
    t_env.create_temporary_system_function("campaign_of", function)
    t_env.execute_sql(f"""
        CREATE TABLE events (
            ad_id STRING, event_type STRING, event_time BIGINT,
            ts AS TO_TIMESTAMP_LTZ(event_time, 3),
            WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
        ) WITH (
            'connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json',
            'properties.bootstrap.servers' = '{kafka}', 'properties.group.id' = 'ad-campaigns',
            'scan.startup.mode' = 'earliest-offset',
            'scan.bounded.mode' = '{"latest-offset" if bounded else "unbounded"}'
        )""")
    t_env.execute_sql("""
        CREATE TEMPORARY VIEW ad_views AS
        SELECT campaign_of(ad_id) AS campaign, ts FROM events WHERE event_type = 'view'""")
    t_env.execute_sql(f"""
        CREATE TABLE totals (
            campaign STRING, window_start TIMESTAMP(3), total BIGINT,
            PRIMARY KEY (campaign, window_start) NOT ENFORCED
        ) WITH ('connector' = 'redis', 'url' = '{redis_url}', 'key-prefix' = 'views:')""")
    return """
        INSERT INTO totals
        SELECT campaign, window_start, COUNT(*)
        FROM TABLE(
            CUMULATE(TABLE ad_views, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '10' SECOND))
        GROUP BY campaign, window_start, window_end"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kafka", default="127.0.0.1:9092", help="bootstrap servers")
    parser.add_argument("--topic", default="ad-events")
    parser.add_argument("--redis", default="redis://127.0.0.1:6379/0")
    parser.add_argument("--bounded", action="store_true", help="end with what is there now")
    options = parser.parse_args()
    settings = EnvironmentSettings.new_instance().with_configuration(Configuration())
    t_env = TableEnvironment.create(settings.in_streaming_mode().build())
    job = build(t_env, options.kafka, options.topic, options.redis, bounded=options.bounded)
    t_env.execute_sql(job).wait()


if __name__ == "__main__":
    main()
