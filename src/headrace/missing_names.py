"""What PyFlink has and headrace has not, and why: for missing.py.

Written by scripts/parity_page.py from docs/parity.toml: run `make golden`.
"""

from __future__ import annotations

# with everything below them
MODULES: dict[str, str] = {
    "headrace.datastream.connectors.cassandra": "a Java sink of Flink's; write a `Sink` in Python, or use `to_dataframe` and Spark's writer",
    "headrace.datastream.connectors.dynamic_kafka": "which cluster has which topics is a service of Flink's Java API; use a `KafkaSource` for each cluster and `union`",
    "headrace.datastream.connectors.hybrid_source": "switching between sources needs their positions at the switch; use `union` meanwhile",
    "headrace.datastream.connectors.kinesis": "message queues come in a later version; until then read one with Spark and `env.from_dataframe`",
    "headrace.datastream.connectors.pulsar": "message queues come in a later version; until then read one with Spark and `env.from_dataframe`",
    "headrace.datastream.connectors.rabbitmq": "message queues come in a later version; until then read one with Spark and `env.from_dataframe`",
    "headrace.datastream.formats.orc": "write Parquet, or use `to_dataframe` and Spark's ORC writer",
    "headrace.fn_execution": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
    "headrace.java_gateway": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
    "headrace.pyflink_callback_server": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
    "headrace.pyflink_gateway_server": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
    "headrace.serializers": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
    "headrace.shell": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
    "headrace.table": "the Table API and SQL come in a later version; use streams, or `to_dataframe` and Spark SQL",
    "headrace.util": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
}

NAMES: dict[str, str] = {
    "headrace.datastream.connectors.kafka:FlinkKafkaConsumer": "Flink's connector has left these behind; use `KafkaSource` and `KafkaSink`",
    "headrace.datastream.connectors.kafka:FlinkKafkaProducer": "Flink's connector has left these behind; use `KafkaSource` and `KafkaSink`",
    "headrace.datastream.connectors.kafka:Semantic": "Flink's connector has left these behind; use `KafkaSource` and `KafkaSink`",
    "headrace.datastream.formats.parquet:AvroParquetReaders": "Parquet is written from rows; use `ParquetBulkWriters` and `ParquetColumnarRowInputFormat`",
    "headrace.datastream.formats.parquet:AvroParquetWriters": "Parquet is written from rows; use `ParquetBulkWriters` and `ParquetColumnarRowInputFormat`",
    "headrace.datastream.functions:AsyncFunctionDescriptor": "internal to PyFlink: how a function is handed to the JVM; use `AsyncDataStream`",
}
