"""Files as a sink.

In: records.  Out: files that appear once and whole.  Next: sink_options.py (its settings),
writer.py (staging), committer.py (publishing)
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from headrace.connectors.files.committer import FileCommitter
from headrace.connectors.files.manifest import CommitPlanner, CompactionRules, SinkPlaces
from headrace.connectors.files.sink_options import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    OutputFileConfig,
    RollingPolicy,
)
from headrace.connectors.files.writer import CreateBulkWriter, FileWriter
from headrace.errors import InvalidArgumentError
from headrace.formats.writer_factories import (
    CsvWriters,
    EncodedRows,
    JsonLines,
    ParquetWriters,
    TextLines,
)
from headrace.io.storage import Storage, absolute_target
from headrace.spi.sink import CommitterContext, Sink, WriterContext
from headrace.spi.source import SupportsPreprocessing

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    import pyarrow as pa

    from headrace.spi.source import StreamTransformer

__all__ = ["FileSink", "StreamingFileSink"]


_PART_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class _FileSinkSettings:
    path: str
    writers: CreateBulkWriter
    assigner: BucketAssigner
    policy: RollingPolicy
    names: OutputFileConfig = field(default_factory=lambda: OutputFileConfig("part", ""))
    strategy: FileCompactStrategy | None = None
    compactor: FileCompactor | None = None
    success_name: str | None = None


class FileSink(Sink, SupportsPreprocessing):
    """Writes records to files in a folder, exactly once.

    Readers of the folder only ever see whole files of completed micro-batches: workers write to a
    hidden area (``.headrace/``), and the driver moves the files of a batch to their final names
    once. A job that fails and is started again neither loses nor repeats a record.

    The path may be local or any URI that pyarrow knows (``s3://``, ``gs://``, ``abfs://``,
    ``hdfs://``). Driver and workers must see the same folder.

    Example:
        >>> sink = FileSink.json("/tmp/orders", bucket=lambda order: f"country={order['country']}")

        With PyFlink's builder:

        >>> from headrace.datastream.formats.parquet import ParquetBulkWriters
        >>> from headrace.common.typeinfo import Types
        >>> row = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> sink = (
        ...     FileSink.for_bulk_format("/tmp/orders", ParquetBulkWriters.for_row_type(row))
        ...     .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        ...     .with_output_file_config(
        ...         OutputFileConfig.builder().with_part_suffix(".parquet").build()
        ...     )
        ...     .build()
        ... )

    In continuous mode, whose epochs may be short, files of several epochs become one part until it
    is full by the rolling policy; readers see it then. In micro-batches every part ends with its
    batch.

    Coming from Flink: the name of a part is ``part-<job and sink>-<batch>-<subtask>-<n>``.
    """

    def __init__(self, settings: _FileSinkSettings) -> None:
        self._settings = settings

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.path!r})"

    def get_transformer(self) -> StreamTransformer | None:
        """None: records are converted by the writer."""
        return None

    # headrace's own short forms

    @staticmethod
    def parquet(
        path: str,
        *,
        schema: pa.Schema | None = None,
        compression: str = "snappy",
        bucket: BucketAssigner | Callable[[Any], str] | None = None,
        part_size: int = _PART_BYTES,
        rolling: RollingPolicy | None = None,
        compact: FileCompactStrategy | None = None,
    ) -> FileSink:
        """A sink of Parquet files.

        Args:
            path: the folder.
            schema: the columns. By default those of the stream's type; for an untyped stream those
                of the first records (dicts, rows, tuples or dataclasses).
            compression: as pyarrow names it: snappy, zstd, gzip, lz4, none.
            bucket: folder below ``path`` for a record; by default all files are in ``path``.
            part_size: a file of about so many bytes is full.
            rolling: when a file is full, if not by ``part_size`` and after a minute.
            compact: when to merge small files.
        """
        writers = ParquetWriters(schema=schema, compression=compression)
        policy = _policy(part_size, rolling)
        return _short_form(path, writers, ".parquet", bucket, policy, compact)

    @staticmethod
    def json(
        path: str,
        *,
        bucket: BucketAssigner | Callable[[Any], str] | None = None,
        part_size: int = _PART_BYTES,
        rolling: RollingPolicy | None = None,
        compact: FileCompactStrategy | None = None,
    ) -> FileSink:
        """A sink of JSON lines: one object, or value, a line. Arguments as for ``parquet``."""
        policy = _policy(part_size, rolling)
        return _short_form(path, JsonLines(), ".json", bucket, policy, compact)

    @staticmethod
    def csv(
        path: str,
        *,
        header: bool = True,
        separator: str = ",",
        bucket: BucketAssigner | Callable[[Any], str] | None = None,
        part_size: int = _PART_BYTES,
        rolling: RollingPolicy | None = None,
        compact: FileCompactStrategy | None = None,
    ) -> FileSink:
        """A sink of CSV files.

        Args:
            path: the folder.
            header: whether each file begins with the column names.
            separator: between two fields.
            bucket: see ``parquet``.
            part_size: see ``parquet``.
            rolling: see ``parquet``.
            compact: see ``parquet``.
        """
        writers = CsvWriters.with_options(header=header, separator=separator)
        policy = _policy(part_size, rolling)
        return _short_form(path, writers, ".csv", bucket, policy, compact)

    @staticmethod
    def text(
        path: str,
        *,
        bucket: BucketAssigner | Callable[[Any], str] | None = None,
        part_size: int = _PART_BYTES,
        rolling: RollingPolicy | None = None,
        compact: FileCompactStrategy | None = None,
    ) -> FileSink:
        """A sink of text files: one record a line, as Flink would print it."""
        policy = _policy(part_size, rolling)
        return _short_form(path, TextLines(), ".txt", bucket, policy, compact)

    # PyFlink's builders

    @staticmethod
    def for_row_format(base_path: str | PathLike[str], encoder: Any) -> FileSink.RowFormatBuilder:
        """A builder for files where each record is encoded for itself.

        Args:
            base_path: the folder.
            encoder: ``Encoder.simple_string_encoder()``, or any object with ``encode(value)``, or a
                function, that returns the bytes (or text) of a record with its line end.
        """
        return FileSink.RowFormatBuilder(base_path, EncodedRows.of(encoder))

    @staticmethod
    def for_bulk_format(
        base_path: str | PathLike[str], writer_factory: Any
    ) -> FileSink.BulkFormatBuilder:
        """A builder for files that are written in bulk.

        Args:
            base_path: the folder.
            writer_factory: from ``ParquetBulkWriters``, ``CsvBulkWriters`` or ``JsonBulkWriters``,
                or an object of your own with ``create(out, type_info) -> BulkWriter``.
        """
        if not callable(getattr(writer_factory, "create", None)):
            raise InvalidArgumentError(
                f"{writer_factory!r} is not a writer factory: it has no method create()",
                where="FileSink.for_bulk_format",
                fix="pass ParquetBulkWriters.for_row_type(...) or CsvBulkWriters.for_schema(...)",
            )
        return FileSink.BulkFormatBuilder(base_path, writer_factory)

    class BaseBuilder:
        """What the builders for row and bulk formats share."""

        _sink_class: type[FileSink]

        def __init__(self, base_path: str | PathLike[str], writers: CreateBulkWriter) -> None:
            self._settings = _FileSinkSettings(
                path=absolute_target(base_path),
                writers=writers,
                assigner=BucketAssigner.date_time_bucket_assigner(),
                policy=RollingPolicy.on_checkpoint_rolling_policy(),
            )

        def with_bucket_check_interval(self, interval: int) -> Self:
            """Accepted for Flink's sake: whether files are full is looked at with every epoch.

            Args:
                interval: milliseconds.
            """
            if interval <= 0:
                raise InvalidArgumentError(
                    f"the bucket check interval is {interval!r} ms",
                    where="with_bucket_check_interval",
                    fix="pass a positive number of milliseconds, or leave the call out",
                )
            return self

        def with_bucket_assigner(
            self, bucket_assigner: BucketAssigner | Callable[[Any], str]
        ) -> Self:
            """Sets the folder of each record: an assigner, or a function from record to name."""
            return self._with(assigner=_as_assigner(bucket_assigner))

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
            """Sets prefix and suffix of file names."""
            return self._with(names=output_file_config)

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            """Sets when a file is full.

            Coming from Flink: bulk formats take every policy too.
            """
            if not isinstance(rolling_policy, RollingPolicy):
                raise InvalidArgumentError(
                    f"{rolling_policy!r} is not a rolling policy",
                    where="with_rolling_policy",
                    fix="pass RollingPolicy.default_rolling_policy(part_size=...) or "
                    "RollingPolicy.on_checkpoint_rolling_policy()",
                )
            return self._with(policy=rolling_policy)

        def enable_compact(
            self, strategy: FileCompactStrategy, compactor: FileCompactor | None = None
        ) -> Self:
            """Holds small files back and merges them.

            Args:
                strategy: when.
                compactor: how; by default as the format needs it.
            """
            return self._with(strategy=strategy, compactor=compactor)

        def disable_compact(self) -> Self:
            """Publishes every file as it is; files that still wait are published first."""
            return self._with(strategy=None, compactor=None)

        def build(self) -> FileSink:
            """The sink."""
            return _checked(FileSink(self._settings))

        def _with(self, **changes: Any) -> Self:
            self._settings = replace(self._settings, **changes)
            return self

    class RowFormatBuilder(BaseBuilder):
        """Builds a sink of encoded rows."""

        def __init__(self, base_path: str | PathLike[str], writers: CreateBulkWriter) -> None:
            super().__init__(base_path, writers)
            self._with(policy=RollingPolicy.default_rolling_policy())

    class BulkFormatBuilder(BaseBuilder):
        """Builds a sink of a bulk format."""

    # what the engine calls

    @property
    def path(self) -> str:
        """The output folder."""
        return self._settings.path

    @property
    def native_format(self) -> str | None:
        """The format in which Spark itself can write what this sink writes, or None.

        Bucketing, merging of small files and a schema of its own need the writer in Python.
        """
        s = self._settings
        one_bucket = s.assigner == BucketAssigner.base_path_bucket_assigner()
        plain = s.writers == ParquetWriters() and one_bucket and s.strategy is None
        return "parquet" if plain else None

    def create_writer(self, context: WriterContext) -> FileWriter:
        """See `Sink`."""
        s = self._settings
        return FileWriter(Storage.open(s.path), context, s.writers, s.assigner, s.policy)

    def create_committer(self, context: CommitterContext) -> FileCommitter:
        """See `Sink`; fails when the folder cannot be written, before any work is done."""
        s = self._settings
        storage = Storage.open(s.path)
        storage.check_target()
        compactor = self._compactor()
        rolling = s.policy.over_epochs() if context.epochs_overlap else None
        if compactor.merge is None:
            rolling = None  # files that cannot be merged would wait for nothing
        compaction = None
        if s.strategy is not None:
            counted = s.strategy.num_checkpoints_before_compaction
            compaction = CompactionRules(s.strategy.size_threshold, counted)
        planner = CommitPlanner(
            layout=SinkPlaces(context.job_id, context.sink_uid),
            prefix=s.names.part_prefix,
            suffix=s.names.part_suffix,
            compaction=compaction,
            merges_files=compactor.merge is not None and bool(rolling or compaction),
            rolling=rolling,
        )
        threads = 1 if s.strategy is None else s.strategy.num_compact_threads
        return FileCommitter(
            storage,
            planner,
            compactor.merge,
            merge_threads=threads,
            success_name=s.success_name,
        )

    def marking_folders(self, success_name: str) -> FileSink:
        """The sink, which puts an empty file into every folder that got files, once they show."""
        return FileSink(replace(self._settings, success_name=success_name))

    def _compactor(self) -> FileCompactor:
        if self._settings.compactor is not None:
            return self._settings.compactor
        own = getattr(self._settings.writers, "merge_files", None)
        return FileCompactor(None if own is None else own())


class StreamingFileSink(FileSink):
    """Flink's older name of `FileSink`, for ``add_sink``; deprecated there and here."""

    @staticmethod
    def for_row_format(base_path: str | PathLike[str], encoder: Any) -> FileSink.RowFormatBuilder:
        """See `FileSink.for_row_format`."""
        _warn_deprecated()
        return FileSink.for_row_format(base_path, encoder)

    @staticmethod
    def for_bulk_format(
        base_path: str | PathLike[str], writer_factory: Any
    ) -> FileSink.BulkFormatBuilder:
        """See `FileSink.for_bulk_format`."""
        _warn_deprecated()
        return FileSink.for_bulk_format(base_path, writer_factory)


def _warn_deprecated() -> None:
    warnings.warn(
        "StreamingFileSink is deprecated: use FileSink and sink_to()",
        DeprecationWarning,
        stacklevel=3,
    )


def _short_form(
    path: str,
    writers: CreateBulkWriter,
    suffix: str,
    bucket: BucketAssigner | Callable[[Any], str] | None,
    policy: RollingPolicy,
    compact: FileCompactStrategy | None,
) -> FileSink:
    no_bucket = BucketAssigner.base_path_bucket_assigner()
    builder = (
        FileSink.BulkFormatBuilder(path, writers)
        .with_bucket_assigner(no_bucket if bucket is None else bucket)
        .with_rolling_policy(policy)
        .with_output_file_config(OutputFileConfig("part", suffix))
    )
    return (builder if compact is None else builder.enable_compact(compact)).build()


def _policy(part_size: int, rolling: RollingPolicy | None) -> RollingPolicy:
    if rolling is None:
        return RollingPolicy.default_rolling_policy(part_size)
    if part_size != _PART_BYTES:
        raise InvalidArgumentError(
            f"the size of parts is told twice: part_size={part_size} and rolling={rolling!r}",
            where="FileSink",
            fix="give one of them: RollingPolicy.default_rolling_policy() has a part_size, too",
        )
    return rolling


def _as_assigner(given: BucketAssigner | Callable[[Any], str]) -> BucketAssigner:
    if isinstance(given, BucketAssigner):
        return given
    if callable(given):
        return BucketAssigner.of(given)
    raise InvalidArgumentError(
        f"{given!r} ({type(given).__name__}) cannot assign buckets",
        where="with_bucket_assigner",
        fix="pass BucketAssigner.date_time_bucket_assigner(), "
        "BucketAssigner.base_path_bucket_assigner() or a function from record to folder name",
    )


def _checked(sink: FileSink) -> FileSink:
    settings = sink._settings
    joins_bytes = settings.compactor is not None and settings.compactor.joins_bytes
    if joins_bytes and not getattr(settings.writers, "concatenable", True):
        raise InvalidArgumentError(
            "files of this format cannot be merged by writing one after the other: the result "
            "could not be read",
            where="enable_compact(strategy, FileCompactor.concat_file_compactor())",
            fix="leave the compactor out, so that the format's own is used",
        )
    return sink
