"""Schemas, descriptors, settings and options, without any job."""

from __future__ import annotations

import datetime

import pytest

from headrace.common import Configuration
from headrace.common.config_options import ConfigOptions
from headrace.errors import InvalidArgumentError
from headrace.table import (
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    Schema,
    SqlDialect,
    TableConfig,
    TableDescriptor,
    TableSchema,
)
from headrace.table.catalog import Column, ResolvedSchema, UniqueConstraint
from headrace.table.expressions import call_sql, col


def test_a_schema_reads_as_flink_writes_it() -> None:
    schema = (
        Schema.new_builder()
        .from_fields(["a"], [DataTypes.TINYINT()])
        .primary_key("id")
        .column("id", DataTypes.INT().not_null())
        .column("payload", "ROW<name STRING, age INT>")
        .column_by_metadata("topic", DataTypes.STRING(), None, True)
        .column_by_expression("ts", call_sql("orig_ts - INTERVAL '60' MINUTE"))
        .column_by_metadata("orig_ts", DataTypes.TIMESTAMP(3), "timestamp")
        .column_by_expression("up", col("a").upper_case)
        .watermark("ts", "ts - INTERVAL '5' SECOND")
        .build()
    )
    assert str(schema).splitlines() == [
        "(",
        "  `a` TINYINT,",
        "  `id` INT NOT NULL,",
        "  `payload` [ROW<name STRING, age INT>],",
        "  `topic` STRING METADATA VIRTUAL,",
        "  `ts` AS [orig_ts - INTERVAL '60' MINUTE],",
        "  `orig_ts` TIMESTAMP(3) METADATA FROM 'timestamp',",
        "  `up` AS [upper(a)],",
        "  WATERMARK FOR `ts` AS [ts - INTERVAL '5' SECOND],",
        "  CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED",
        ")",
    ]
    assert Schema.new_builder().from_schema(schema).build() == schema


def test_a_format_has_its_options_below_its_name() -> None:
    key_format = ConfigOptions.key("key.format").string_type().no_default_value()
    flag = ConfigOptions.key("flag").boolean_type().no_default_value()
    fmt = FormatDescriptor.for_format("json").option(flag, True).option("n", 3).build()
    descriptor = TableDescriptor.for_connector("kafka").format(fmt, key_format).build()
    assert descriptor.get_options() == {
        "connector": "kafka",
        "key.json.flag": "true",
        "key.json.n": "3",
        "key.format": "json",
    }
    assert str(fmt) == "json[{flag=true, n=3}]"


def test_settings_choose_the_mode_and_the_first_names() -> None:
    assert EnvironmentSettings.in_streaming_mode().is_streaming_mode()
    options = Configuration()
    options.set_string("execution.runtime-mode", "batch")
    settings = (
        EnvironmentSettings.new_instance()
        .with_configuration(options)
        .with_built_in_catalog_name("c")
        .with_built_in_database_name("d")
        .build()
    )
    assert not settings.is_streaming_mode()
    assert (settings.get_built_in_catalog_name(), settings.get_built_in_database_name()) == (
        "c",
        "d",
    )


def test_options_have_methods_and_keys() -> None:
    config = TableConfig.get_default()
    config.set_idle_state_retention(datetime.timedelta(hours=2))
    assert config.get("table.exec.state.ttl", "") == "7200000 ms"
    assert config.get_idle_state_retention() == datetime.timedelta(hours=2)
    config.set_local_timezone("Asia/Shanghai")
    assert config.get_local_timezone() == "Asia/Shanghai"
    with pytest.raises(ValueError, match="time zone"):
        config.set_local_timezone("Nowhere/Land")
    config.set_sql_dialect(SqlDialect.HIVE)
    assert config.get_sql_dialect() == SqlDialect.HIVE


def test_the_older_schema_is_found_by_place_and_name() -> None:
    schema = TableSchema(["a", "b"], [DataTypes.INT(), DataTypes.STRING()])
    assert schema.get_field_data_type("b") == DataTypes.STRING()
    assert schema.get_field_data_type(7) is None
    assert schema.get_field_name(1) == "b"
    assert str(schema) == "root\n |-- a: INT\n |-- b: STRING\n"
    assert schema.copy() == schema
    with pytest.raises(InvalidArgumentError):
        TableSchema(["a"], [])


def test_a_resolved_schema_knows_what_is_written() -> None:
    schema = ResolvedSchema(
        [
            Column.physical("a", DataTypes.INT().not_null()),
            Column.metadata("m", DataTypes.STRING(), None, True),
        ],
        [],
        UniqueConstraint.primary_key("pk", ["a"]),
    )
    assert schema.get_primary_key_indexes() == [0]
    assert schema.to_sink_row_data_type().field_names() == ["a"]
    assert schema.to_source_row_data_type().field_names() == ["a", "m"]
    column = schema.get_column("m")
    assert column is not None
    assert column.rename("n").as_summary_string() == "`n` STRING METADATA VIRTUAL"
