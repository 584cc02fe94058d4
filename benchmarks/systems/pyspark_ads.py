"""The ad campaigns by hand in PySpark, on files; from Kafka it is pyspark_ads_kafka.py.

All of it runs in the JVM: JSON, filter, a broadcast join, windows of 10 s in update mode.  What a
batch has changed goes to Redis through foreachBatch.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measure import arguments, measure_query, spark_session
from pyspark.sql import functions as f

from ads import ADS

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "user_id string, page_id string, ad_id string, ad_type string, event_type string, "
    "event_time long, ip_address string"
)


def measure_views(
    spark: SparkSession, events: DataFrame, options: argparse.Namespace, *, system: str
) -> None:
    """Counts the views of campaigns and writes them to Redis, whatever the events come from."""
    campaigns = f.broadcast(
        spark.createDataFrame(list(ADS.items()), "ad_id string, campaign string")
    )
    views = (
        events.where("event_type = 'view'")
        .selectExpr("ad_id", "timestamp_millis(event_time) as time")
        .withWatermark("time", "1 second")
        .join(campaigns, "ad_id")
        .groupBy(f.window("time", "10 seconds"), "campaign")
        .count()
    )

    def write(frame: Any, _: int) -> None:
        import redis

        rows = frame.collect()
        with redis.Redis.from_url(options.redis).pipeline(transaction=False) as pipeline:
            for row in rows:
                start = int(row["window"].start.timestamp() * 1000)
                pipeline.hset(f"spark:{row['campaign']}", str(start), row["count"])
            pipeline.execute()

    def run() -> None:
        query = (
            views.writeStream.outputMode("update")
            .foreachBatch(write)
            .option("checkpointLocation", str(options.scratch / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    measure_query(options, run, system=system, every_batch=True)


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2)
    measure_views(spark, reader.json(str(options.data)), options, system="pyspark_ads")
    spark.stop()


if __name__ == "__main__":
    main()
