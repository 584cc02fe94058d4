"""What a kind of source is to Spark: how it is opened, what comes out, what its offsets mean.

    source ── SourceAdapter.open ──▶ OpenedSource: a streaming DataFrame, and the layout of its rows

Out: the interface, implemented beside this file once for each kind of source.
Next: opening.py has the table of all adapters; layouts.py reads in the workers what they hand over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.common.opaque import JsonObject, JsonValue
    from headrace.hosts.spark.sources.file_pieces import PieceWriter
    from headrace.hosts.spark.sources.layouts import SourceLayout
    from headrace.spi.job_spec import JobSpec
    from headrace.spi.source import Source

__all__ = ["OpenedSource", "SourceAdapter", "SourceOptions", "SourceRequest"]

_EVERYTHING = 1 << 62


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the configuration says about sources.

    Attributes:
        max_records_per_batch: ``source.max-records-per-batch``, for sources written in Python.
        max_files_per_batch: ``source.max-files-per-batch``, for files; None for no limit.
        parallelism: into how many pieces a batch of a divisible source is cut.
        piece_writers: those of large files that are read in pieces; None to take files as a whole.
        board: the folder of watermark alignment (alignment_files.py); None if nobody asks for it.
    """

    max_records_per_batch: int
    max_files_per_batch: int | None
    parallelism: int = 1
    piece_writers: list[PieceWriter] | None = None
    board: Path | None = None

    @staticmethod
    def of(spec: JobSpec, *, unlimited: bool = False, in_pieces: bool = False) -> SourceOptions:
        """What a job says.

        Args:
            spec: of the job.
            unlimited: one batch takes everything, whatever the options say: BATCH mode.
            in_pieces: large files are read in pieces, for a preview.
        """
        if unlimited:
            return SourceOptions(_EVERYTHING, None, spec.parallelism)
        return SourceOptions(
            spec.option("source.max-records-per-batch"),
            spec.option("source.max-files-per-batch"),
            spec.parallelism,
            [] if in_pieces else None,
        )


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What a job asks of a source.

    Attributes:
        spark: the session that will run the query.
        job_dir: the job's directory, the same one after a restart; may be a URI.
        source_id: names the source within the job, the same after a restart (its uid).
        options: limits of a batch.
        columns: the records must come as plain columns, because Catalyst runs the first steps.
    """

    spark: SparkSession
    job_dir: str
    source_id: str
    options: SourceOptions
    columns: bool


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A source as a streaming DataFrame, and how its rows hold the records."""

    frame: DataFrame
    layout: SourceLayout


SourceT = TypeVar("SourceT", bound="Source")


class SourceAdapter(ABC, Generic[SourceT]):
    """Reads one kind of source on Spark; has no state of its own.

    A job opens its sources again for every attempt. Where reading goes on is in Spark's offset log,
    and what an adapter has to find again it keeps in the job's directory.
    """

    @abstractmethod
    def open(self, source: SourceT, request: SourceRequest) -> OpenedSource:
        """The streaming DataFrame. Nothing is read before a query starts.

        Raises:
            HeadraceError: it cannot be read; the caller adds the user's line.
        """

    def streams(self, source: SourceT) -> int:
        """How many of Spark's sources it is: each has an offset of its own in the checkpoint."""
        return 1

    def position(self, source: SourceT, offsets: Sequence[JsonValue]) -> JsonValue:
        """Spark's offsets (one a stream, as JSON values) in the source's own terms.

        What `Source.is_exhausted` is asked with. For sources that Spark itself reads, its offsets.
        """
        return list(offsets)

    def reports(
        self, uid: str, source: SourceT, position: JsonValue, latest: JsonValue
    ) -> list[tuple[int, dict[str, JsonObject]]]:
        """What a source that counts them says of the records between two of Spark's offsets."""
        return []
