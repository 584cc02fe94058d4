"""Opens any source as a streaming DataFrame.

In: a `Source` of the program.  Out: a DataFrame whose columns are exactly the codec schema of the
produced type, or one column ``pickled`` of pickled lists of records; then, where the source has
them, ``__ts`` (epoch milliseconds) and ``__split`` (name of the split).
Next: python_source.py, file_reader.py or dataframe_source.py beside this file.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors.files.source import FileSource
from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.hosts.spark.sources.dataframe_source import DataFrameSource, open_dataframe_source
from headrace.hosts.spark.sources.file_pieces import in_pieces
from headrace.hosts.spark.sources.file_reader import open_file_source
from headrace.hosts.spark.sources.python_source import open_python_source
from headrace.io.storage import local_path
from headrace.spi.python_source import PythonSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from headrace.hosts.spark.sources.file_pieces import PieceWriter
    from headrace.spi.source import Source

__all__ = ["SourceOptions", "has_lasting_place", "open_source", "streams_of"]


_EVERYTHING = 1 << 62


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the configuration says about sources.

    Attributes:
        max_records_per_batch: ``source.max-records-per-batch``, for sources written in Python.
        max_files_per_batch: ``source.max-files-per-batch``, for files; None for no limit.
        parallelism: into how many pieces a batch of a divisible source is cut.
        piece_writers: those of large files that are read in pieces; None to take files as a whole.
    """

    max_records_per_batch: int = 400_000
    max_files_per_batch: int | None = 1_000
    parallelism: int = 1
    piece_writers: list[PieceWriter] | None = None

    @staticmethod
    def from_configuration(
        values: Mapping[str, Any],
        *,
        parallelism: int = 1,
        unlimited: bool = False,
        in_pieces: bool = False,
    ) -> SourceOptions:
        """Reads the two keys, if they are there.

        Args:
            values: the configuration.
            parallelism: of the job.
            unlimited: one batch takes everything, whatever the keys say: BATCH mode.
            in_pieces: large files are read in pieces, for a preview.

        Raises:
            ConfigurationError: a value is not a positive whole number.
        """
        if unlimited:
            return SourceOptions(_EVERYTHING, None, parallelism)
        defaults = SourceOptions()
        records = _positive(values, "source.max-records-per-batch", defaults.max_records_per_batch)
        files = _positive(values, "source.max-files-per-batch", defaults.max_files_per_batch or 0)
        return SourceOptions(records, files, parallelism, [] if in_pieces else None)

    def cut(self, source: FileSource, job_dir: str, source_id: str) -> FileSource:
        """The source to read in the place of a file source."""
        here = local_path(job_dir)
        if self.piece_writers is None or here is None:
            return source
        found, writers = in_pieces(source, here / "sources" / source_id, here / "query")
        self.piece_writers.extend(writers)
        return found


def open_source(
    source: Source,
    spark: SparkSession,
    job_dir: str,
    options: SourceOptions | None = None,
    *,
    source_id: str = "source",
) -> DataFrame:
    """The streaming DataFrame of a source. Nothing is read before a query starts.

    Args:
        source: any source of headrace.
        spark: the session that will run the query.
        job_dir: the job's directory, the same one after a restart; may be a URI.
        options: limits of a batch.
        source_id: names the source within the job, the same after a restart (its uid).

    Raises:
        ConnectorError: a path does not exist.
        UnserializableFunctionError: a source written in Python cannot be pickled.
        UnsupportedStepError: the source is of a kind that Spark has no reader for.
    """
    options = options or SourceOptions()
    if isinstance(source, PythonSource):
        return open_python_source(
            source,
            spark,
            _local_dir(job_dir),
            max_records_per_batch=options.max_records_per_batch,
            parallelism=options.parallelism,
        )
    if isinstance(source, FileSource):
        source = options.cut(source, job_dir, _file_name(source_id))
        return open_file_source(source, spark, max_files_per_batch=options.max_files_per_batch)
    if isinstance(source, DataFrameSource):
        source_dir = f"{job_dir.rstrip('/')}/sources/{_file_name(source_id)}"
        return open_dataframe_source(
            source, spark, source_dir, max_files_per_batch=options.max_files_per_batch
        )
    raise UnsupportedStepError(
        f"there is no reader for a source of class {type(source).__name__}",
        fix="derive a source of your own from PythonSource",
    )


def streams_of(source: Source) -> int:
    """How many of Spark's sources a source is: each has an offset of its own in the checkpoint."""
    if isinstance(source, FileSource):
        return len(source.paths)
    if isinstance(source, DataFrameSource) and source.df.isStreaming:
        return count_streams(source.df)
    return 1


def has_lasting_place(source: Source) -> bool:
    """Whether a place in the source means the same to a new job with a directory of its own."""
    return not isinstance(source, DataFrameSource) or bool(source.df.isStreaming)


def count_streams(frame: DataFrame) -> int:
    """How many of Spark's sources a streaming DataFrame reads."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    return sum(bool(leaves.apply(i).isStreaming()) for i in range(leaves.size()))


def _local_dir(job_dir: str) -> Path:
    """Where the driver may write files for processes on its own machine."""
    here = local_path(job_dir)
    if here is None:
        scratch = Path(tempfile.mkdtemp(prefix="headrace-sources-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        return scratch
    return here / "sources"


def _file_name(source_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", source_id)


def _positive(values: Mapping[str, Any], key: str, default: int) -> int:
    value = values.get(key, default)
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise ConfigurationError(
            f"{key} must be a positive whole number, got {value!r}", fix=f"set {key}: {default}"
        )
    return number
