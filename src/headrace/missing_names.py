"""What PyFlink has and headrace has not, and why: for missing.py.

Written by scripts/parity_page.py from docs/parity.toml: run `make golden`.
"""

from __future__ import annotations

# with everything below them
MODULES: dict[str, str] = {
    "headrace.datastream.connectors.cassandra": "a Java sink of Flink's; write a `Sink` in Python, or use `to_dataframe` and Spark's writer",
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
    "headrace.table.descriptors": "descriptors of Flink's old connectors, which nothing takes any more; use `TableDescriptor` and `Schema`",
    "headrace.table.functions": 'internal to PyFlink: aggregates that it runs in Python; use `col("a").sum` and its like',
    "headrace.table.model_descriptor": 'models run in functions of Python; use `udf`, or `func_type="pandas"` for whole columns',
    "headrace.table.serializers": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
    "headrace.table.utils": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
    "headrace.util": "internal to PyFlink, which drives a JVM of Flink's; `env.get_spark_session()` gives Spark's own",
}

NAMES: dict[str, str] = {
    "headrace.datastream.connectors.kafka:FlinkKafkaConsumer": "Flink's connector has left these behind; use `KafkaSource` and `KafkaSink`",
    "headrace.datastream.connectors.kafka:FlinkKafkaProducer": "Flink's connector has left these behind; use `KafkaSource` and `KafkaSink`",
    "headrace.datastream.connectors.kafka:Semantic": "Flink's connector has left these behind; use `KafkaSource` and `KafkaSink`",
    "headrace.datastream.formats.parquet:AvroParquetReaders": "Parquet is written from rows; use `ParquetBulkWriters` and `ParquetColumnarRowInputFormat`",
    "headrace.datastream.formats.parquet:AvroParquetWriters": "Parquet is written from rows; use `ParquetBulkWriters` and `ParquetColumnarRowInputFormat`",
    "headrace.datastream.functions:AsyncFunctionDescriptor": "internal to PyFlink: how a function is handed to the JVM; use `AsyncDataStream`",
    "headrace.table.catalog:HiveCatalog": "Hive's metastore is Spark's business; use CREATE TABLE, or `env.from_dataframe(spark.table(name))`",
    "headrace.table.module:HiveModule": "Hive's metastore is Spark's business; use CREATE TABLE, or `env.from_dataframe(spark.table(name))`",
}
