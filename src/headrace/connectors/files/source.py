"""Files as a source: which paths, in which format, once or forever.

In: a format (formats/file_format.py) and paths.  Out: `FileSource`, a description.
Next: hosts/spark/sources/file_reader.py turns it into Spark's own file stream, python_reader.py
into a source that Python reads, for hosts without Spark; sink.py re-exports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.time import DurationLike, to_millis
from headrace.connectors.files.absent_columns import absent_columns, names_in_parquet, names_of
from headrace.connectors.files.listing import files_of
from headrace.data.codec import codec_for
from headrace.errors import InvalidArgumentError
from headrace.io.storage import absolute_target
from headrace.spi.source import Boundedness, Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from headrace.common.typeinfo import TypeInformation
    from headrace.formats.file_format import BulkFormat, FileFormat, StreamFormat

__all__ = [
    "FileEnumeratorProvider",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
]


class FileEnumeratorProvider:
    """Whether large files may be read in pieces."""

    def __init__(self, *, splittable: bool) -> None:
        self.splittable = splittable

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Large files are cut into ranges that are read in parallel: order in a file is lost."""
        return FileEnumeratorProvider(splittable=True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Every file is read by one reader from start to end."""
        return FileEnumeratorProvider(splittable=False)


class FileSplitAssignerProvider:
    """Which reader gets which file: Spark's scheduler decides, so there is only one."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Prefers a reader on a host that has the file."""
        return FileSplitAssignerProvider()


class FileSource(Source):
    """Reads the files under some paths, once (the default) or forever.

    Directories are read with all below them; names that begin with ``.`` or ``_`` are skipped.
    A path may contain wildcards and may be a URI of any file system Hadoop knows (``s3a://``,
    ``hdfs://``). A file must appear complete, by a rename: one that grows is not read again.

    Exactly-once: the files of every batch are in the checkpoint before they are read.

    Order: inside one reader's piece of a file, records keep their order. Small files are packed
    together and files above ``max(4 MB, batch size / cores)`` are cut into pieces read in
    parallel, unless `FileSourceBuilder.set_file_enumerator` asks for whole files or the format
    cannot be cut (CSV, compressed text). There is no order between files.

    Example:
        >>> source = FileSource.for_record_stream_format(
        ...     StreamFormat.text_line_format(), "/data/in"
        ... ).monitor_continuously(Duration.of_seconds(1)).build()

    Runs: native, in Spark's own readers; in Python, with the same records, on the local host.
    """

    def __init__(
        self,
        file_format: FileFormat,
        paths: tuple[str, ...],
        *,
        discovery_interval_ms: int | None,
        options: Mapping[str, str],
        splittable: bool | None,
    ) -> None:
        self.file_format = file_format
        self.paths = paths
        self.discovery_interval_ms = discovery_interval_ms
        self.options = dict(options)
        self.splittable = splittable

    @staticmethod
    def for_record_stream_format(
        stream_format: StreamFormat, *paths: str | PathLike[str]
    ) -> FileSourceBuilder:
        """Starts a source that reads ``paths`` record by record.

        Compressed files are unpacked according to their names: ``.gz``, ``.bz2``, ``.deflate``.
        """
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(
        bulk_format: BulkFormat, *paths: str | PathLike[str]
    ) -> FileSourceBuilder:
        """Starts a source that reads ``paths`` in batches of columns."""
        return FileSourceBuilder(bulk_format, paths)

    def produced_type(self) -> TypeInformation:
        """The type of the format's records."""
        return self.file_format.produced_type()

    def boundedness(self) -> Boundedness:
        """Bounded unless the paths are monitored."""
        endless = self.discovery_interval_ms is not None
        return Boundedness.CONTINUOUS_UNBOUNDED if endless else Boundedness.BOUNDED

    def doubts(self) -> list[str]:
        """Columns that are declared, and that the newest Parquet file does not have."""
        if self.file_format.reader_name() != "parquet":
            return []
        schema = codec_for(self.produced_type()).schema
        name_filter = self.options.get("pathGlobFilter")
        files = (file for path in self.paths for file in files_of(path, name_filter) or ())
        return [] if schema is None else absent_columns(names_of(schema), files, names_in_parquet)

    def describe(self) -> str:
        """``FileSource(csv, /data/in, monitored)``."""
        how = "monitored" if self.discovery_interval_ms is not None else "once"
        return f"FileSource({self.file_format.reader_name()}, {', '.join(self.paths)}, {how})"


class FileSourceBuilder:
    """Settings of a `FileSource`; begin with `FileSource.for_record_stream_format`."""

    def __init__(self, file_format: FileFormat, paths: tuple[str | PathLike[str], ...]) -> None:
        if not paths:
            raise InvalidArgumentError("a file source needs a path", fix="pass at least one path")
        self._format = file_format
        self._paths = tuple(absolute_target(path) for path in paths)
        self._interval_ms: int | None = None
        self._options: dict[str, str] = {}
        self._splittable: bool | None = None

    def monitor_continuously(self, discovery_interval: DurationLike) -> FileSourceBuilder:
        """Keeps the source running and reads files as they appear.

        Args:
            discovery_interval: a `Duration`, `timedelta` or text. headrace looks for new files
                before each batch, so it acts as a lower bound of the time between batches.
        """
        self._interval_ms = to_millis(discovery_interval)
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Reads the files that exist when the job starts, then ends. The default."""
        self._interval_ms = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Says whether large files may be read in pieces. Without it, Spark decides by size."""
        self._splittable = file_enumerator.splittable
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Accepted for the sake of Flink; Spark places readers near their files anyway."""
        return self

    def set_name_filter(self, glob: str) -> FileSourceBuilder:
        """Reads only files whose name fits, such as ``*.csv``. Ours."""
        return self.set_option("pathGlobFilter", glob)

    def set_option(self, name: str, value: str) -> FileSourceBuilder:
        """Sets an option of Spark's reader, such as ``maxFileAge`` or ``lineSep``. Ours."""
        self._options[name] = value
        return self

    def build(self) -> FileSource:
        """The source with these settings."""
        return FileSource(
            self._format,
            self._paths,
            discovery_interval_ms=self._interval_ms,
            options=self._options,
            splittable=self._splittable,
        )
