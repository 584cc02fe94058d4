"""The ad campaigns by hand in PySpark, from Kafka with the reader that it can have.

Workers read messages (spark_kafka_source.py) and hand their values to the JVM; there the job is
that of pyspark_ads.py, with `from_json` for the three fields that are needed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable
# workers import the reader by its name
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")]
)

from measure import arguments, spark_session
from pyspark_ads import measure_views
from spark_kafka_source import KafkaValues

SCHEMA = "ad_id string, event_type string, event_time long"
BATCH = 1_600_000  # that of headrace_kafka.py


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    spark.dataSource.register(KafkaValues)
    values = (
        spark.readStream.format("kafka_values")
        .option("bootstrap", options.kafka)
        .option("topic", options.topic)
        .option("batch", str(min(BATCH, options.events // 5)))  # a quick run has batches, too
        .load()
    )
    events = values.selectExpr(f"from_json(value, '{SCHEMA}') as event").select("event.*")
    measure_views(spark, events, options, system="pyspark_ads_kafka")
    spark.stop()


if __name__ == "__main__":
    main()
