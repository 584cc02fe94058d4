"""``'connector' = 'filesystem'``: tables of files, with or without partitions.

In: the options of a table, Flink's.  Out: a source and a sink of files.
Next: table_files.py (reading), table_sink.py (writing), formats/tables/registry.py (formats)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from headrace.common.data_types import RowType
from headrace.connectors.files.partition_values import check_partition_keys
from headrace.connectors.files.sink import FileSink
from headrace.connectors.files.sink_options import (
    BucketAssigner,
    FileCompactStrategy,
    OutputFileConfig,
    RollingPolicy,
)
from headrace.connectors.files.table_files import METADATA, FileTable, TableFilesSource
from headrace.connectors.files.table_sink import (
    LineAvroFiles,
    LineFiles,
    LineParquetFiles,
    PartitionFolders,
)
from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.formats.tables.avro import CODEC, avro_form
from headrace.formats.tables.parquet import COMPRESSION
from headrace.formats.tables.registry import TABLE_FORMATS, format_of
from headrace.io.storage import absolute_target
from headrace.spi.table_connector import TableConnector, TableSink, TableSource, option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.data_types import DataType
    from headrace.spi.table_connector import TableDefinition, TableOptions
    from headrace.spi.table_format import FormatOptions, TableFormat

PATH = option("path", doc="of a folder, or of a file to read")
FORMAT = option("format", doc="of the files: csv, json, parquet, avro, raw, ...")
MONITOR = option("source.monitor-interval", "duration", doc="how often new files are looked for")
PATTERN = option("source.path.regex-pattern", doc="a pattern that paths must fit")
STATISTICS = option("source.report-statistics", default="all", doc="accepted without effect")
DEFAULT_NAME = option("partition.default-name", default="__DEFAULT_PARTITION__", doc="for NULL")
SIZE = option("sink.rolling-policy.file-size", "memory", 128 << 20, "a file of this size is full")
AGE = option(
    "sink.rolling-policy.rollover-interval", "duration", 1_800_000,
    "a file this old is full; 1 min for parquet and avro unless it is set",
)  # fmt: skip
INACTIVE = option(
    "sink.rolling-policy.inactivity-interval", "duration", 1_800_000,
    "a file is full that has had no line for so long",
)  # fmt: skip
CHECK = option("sink.rolling-policy.check-interval", "duration", 60_000, "without effect")
COMPACT = option("auto-compaction", "boolean", default=False, doc="merges small files")
COMPACT_SIZE = option("compaction.file-size", "memory", doc="of merged files")
COMPACT_PARALLELISM = option("compaction.parallelism", "int", doc="how many files at once")
PARALLELISM = option("sink.parallelism", "int", doc="how many subtasks write")
SHUFFLE = option("sink.shuffle-by-partition.enable", "boolean", default=False, doc="no effect")
TRIGGER = option(
    "sink.partition-commit.trigger", "enum", "process-time", "when a partition is done",
    ("process-time", "partition-time"),
)  # fmt: skip
DELAY = option("sink.partition-commit.delay", "duration", 0, "how long a partition waits")
POLICY = option("sink.partition-commit.policy.kind", doc="what is done to a done partition")
SUCCESS = option("sink.partition-commit.success-file.name", default="_SUCCESS", doc="its name")
ZONE = option("sink.partition-commit.watermark-time-zone", default="UTC", doc="no effect")
TIME_KIND = option("partition.time-extractor.kind", default="default", doc="without effect")
TIME_PATTERN = option("partition.time-extractor.timestamp-pattern", doc="without effect")
TIME_FORMAT = option("partition.time-extractor.timestamp-formatter", doc="without effect")


_BULK_AGE_MS = 60_000


class FileTables(TableConnector):
    """Tables of files."""

    name: ClassVar[str] = "filesystem"
    required = (PATH, FORMAT)
    optional = (
        MONITOR, PATTERN, STATISTICS, DEFAULT_NAME, SIZE, AGE, INACTIVE, CHECK, COMPACT,
        COMPACT_SIZE, COMPACT_PARALLELISM, PARALLELISM, SHUFFLE, TRIGGER, DELAY, POLICY, SUCCESS,
        ZONE, TIME_KIND, TIME_PATTERN, TIME_FORMAT,
    )  # fmt: skip

    def summary(self) -> str:
        return "Files in a folder: csv, json, parquet, avro, raw"

    def readable_metadata(self, definition: TableDefinition) -> Mapping[str, DataType]:
        return METADATA

    def source(self, definition: TableDefinition) -> TableSource:
        options, file_format, settings = self._opened(definition)
        columns = definition.columns
        stored = RowType([f for f in columns if f.name not in definition.partition_keys])
        content = file_format.reader(stored, settings) if file_format.lines_in_files else None
        interval = options.get(MONITOR)
        table = FileTable(
            columns=columns,
            lines=definition.lines(file_format.reads),
            partition=definition.partition_keys,
            metadata=tuple(column.key for column in definition.metadata),
            content=content,
            avro=avro_form(stored, settings) if file_format.name == "avro" else None,
            default_name=options.get(DEFAULT_NAME),
            pattern=options.get(PATTERN),
        )
        path = absolute_target(options.get(PATH))
        return TableSource(
            TableFilesSource(table, path, interval),
            file_format.reads,
            narrowed=(lambda paths: TableFilesSource(table.narrowed(paths), path, interval))
            if table.has_columns
            else None,
        )

    def sink(self, definition: TableDefinition) -> TableSink:
        options, file_format, settings = self._opened(definition)
        if definition.written_metadata():
            column = definition.written_metadata()[0]
            raise ConfigurationError(
                f"the metadata {column.key!r} of files cannot be written",
                where=f"column {column.name!r} of table {definition.name}",
                fix="declare it as METADATA VIRTUAL",
            )
        keys = definition.partition_keys
        writers = self._writers(definition, file_format, settings)
        assigner: BucketAssigner = BucketAssigner.base_path_bucket_assigner()
        if keys:
            assigner = PartitionFolders(definition.columns, keys, options.get(DEFAULT_NAME))
        builder = (
            FileSink.for_bulk_format(str(options.get(PATH)), writers)
            .with_bucket_assigner(assigner)
            .with_rolling_policy(_rolling(definition, options, file_format))
            .with_output_file_config(_names(file_format))
        )
        if options.get(COMPACT):
            builder = builder.enable_compact(_strategy(options))
        sink = _committing(builder.build(), options, partitioned=bool(keys))
        writes = file_format.writes
        return TableSink(sink, lambda changes: changes & writes, None, options.get(PARALLELISM))

    def _opened(
        self, definition: TableDefinition
    ) -> tuple[TableOptions, TableFormat, FormatOptions]:
        name = definition.options.get("format", "")
        if name:
            TABLE_FORMATS.find(name)  # a wrong name is told before its options
        options = self.checked(definition, [f"{name}."])
        check_partition_keys(definition.name, definition.columns, definition.partition_keys)
        file_format, settings = format_of(definition.name, name, definition.options)
        return options, file_format, settings

    def _writers(
        self, definition: TableDefinition, file_format: TableFormat, settings: FormatOptions
    ) -> Any:
        columns, keys = definition.columns, definition.partition_keys
        stored = tuple(i for i, f in enumerate(columns) if f.name not in keys)
        kept = RowType([columns[i] for i in stored])
        if file_format.name == "parquet":
            codec = str(settings.get(COMPRESSION)).lower().replace("uncompressed", "none")
            return LineParquetFiles(kept, stored, codec)
        if file_format.name == "avro":
            return LineAvroFiles(kept, stored, avro_form(kept, settings), str(settings.get(CODEC)))
        return LineFiles(file_format.writer(kept, settings), stored)


def _rolling(
    definition: TableDefinition, options: TableOptions, file_format: TableFormat
) -> RollingPolicy:
    age = options.get(AGE)
    # Flink ends the files of these formats with every checkpoint, whatever the option says: who
    # reads them is not to wait for half an hour.
    if file_format.name in ("parquet", "avro") and AGE.key not in definition.options:
        age = _BULK_AGE_MS
    return RollingPolicy.default_rolling_policy(options.get(SIZE), age, options.get(INACTIVE))


def _names(file_format: TableFormat) -> OutputFileConfig:
    return OutputFileConfig.builder().with_part_suffix(file_format.file_suffix).build()


def _strategy(options: TableOptions) -> FileCompactStrategy:
    size = options.get(COMPACT_SIZE) or options.get(SIZE)
    return (
        FileCompactStrategy.builder()
        .set_size_threshold(size)
        .enable_compaction_on_checkpoint(1)
        .build()
    )


def _committing(sink: FileSink, options: TableOptions, *, partitioned: bool) -> FileSink:
    """The sink that does what is asked for partitions that are done."""
    policy = options.get(POLICY)
    if policy is None:
        return sink
    kinds = {kind.strip() for kind in str(policy).split(",")}
    if kinds != {"success-file"} or not partitioned:
        raise UnsupportedStepError(
            f"'{POLICY.key}' = '{policy}' is not there",
            where=f"table {options.table}",
            fix="use 'success-file' for a table with PARTITIONED BY, or leave it out",
        )
    if options.get(TRIGGER) == "partition-time" or options.get(DELAY):
        raise UnsupportedStepError(
            "partitions cannot wait for the watermark before they are told to be done",
            where=f"table {options.table}",
            fix=f"set '{TRIGGER.key}' = 'process-time' and '{DELAY.key}' = '0 s': then a "
            "partition is told to be done with every batch that writes to it; or leave out "
            f"'{POLICY.key}', since files appear with their checkpoint and whole in any case",
        )
    return sink.marking_folders(str(options.get(SUCCESS)))
