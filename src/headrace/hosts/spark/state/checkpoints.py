"""What Spark has stored of a job: out of it into a savepoint, and a savepoint into it.

    state store files ── export.py ──▶ state/*.parquet       seeding.py ◀── state/*.parquet
    offsets/N, sources/ ── copied ───▶ sources/              offsets/0  ◀── sources/

In: a job's directory.  Out: parts of a savepoint, or a checkpoint that a query begins with.
Next: control/snapshot.py and control/restore.py, which ask
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.connectors.files.file_log import why_not_for_spark
from headrace.errors import ConnectorError, SavepointError
from headrace.hosts.spark.state.checkpoint_files import last_batch, read_offsets, replace_offsets
from headrace.hosts.spark.state.export import entries_frame
from headrace.hosts.spark.state.seeding import seed_state
from headrace.io.storage import Storage
from headrace.runtime.savepoint.files import FOLDER
from headrace.spi.host import SourcePosition

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from headrace.spi.host import Beginning

QUERY_FOLDER = "query"
_SOURCES = "sources"
_COPY_ATTEMPTS = 5


class SparkCheckpoints:
    """The checkpoint of a job's query.

    Args:
        spark: the job's session.
        directory: of the job.
        streams: for every source of the program, how many of Spark's sources it is.
        stages: how many stages with state there are.
        slots: how many subtasks each of them has.
        commands: whether ticks and the end of input are one more source.
        reading: held while a batch is read: the job clears no files away meanwhile.
    """

    def __init__(
        self,
        spark: SparkSession,
        directory: str,
        *,
        streams: tuple[int, ...],
        stages: int,
        slots: int,
        commands: bool,
        reading: threading.Lock,
    ) -> None:
        self._spark = spark
        self._directory = directory
        self._query = f"{directory}/{QUERY_FOLDER}"
        self._streams = streams
        self._stages = stages
        self._slots = slots
        self._commands = commands
        self._reading = reading

    def last_epoch(self) -> int | None:
        """The newest batch that is committed."""
        return last_batch(self._query)

    # --- out -------------------------------------------------------------------------------------

    def save(
        self, epoch: int, location: str, max_parallelism: Mapping[str, int]
    ) -> list[SourcePosition]:
        """Write entries as Parquet, and copy what sources keep."""
        with self._reading:
            return self._save(epoch, location, max_parallelism)

    def _save(
        self, epoch: int, location: str, max_parallelism: Mapping[str, int]
    ) -> list[SourcePosition]:
        offsets = read_offsets(self._query, epoch)
        self._copy_sources(location)
        frame = entries_frame(self._spark, self._query, epoch, max_parallelism)
        if frame is not None:
            frame.write.parquet(f"{location}/{FOLDER}")
        found, first = [], 0
        for width in self._streams:
            numbers = tuple(range(first, first + width))
            found.append(SourcePosition(tuple(offsets[n] for n in numbers), numbers))
            first += width
        return found

    def _copy_sources(self, location: str) -> None:
        """Copy what sources keep; a source that clears up its log meanwhile is copied once more."""
        source, target = Storage.open(self._query), Storage.open(location)
        for attempt in range(_COPY_ATTEMPTS):
            try:
                for number in range(sum(self._streams)):
                    for name in source.walk(f"{_SOURCES}/{number}"):
                        if not name.rsplit("/", 1)[-1].startswith("."):  # half written, a checksum
                            target.write_atomic(name, source.read(name))
                return
            except ConnectorError:
                target.delete_folder(_SOURCES)
                if attempt == _COPY_ATTEMPTS - 1:
                    raise

    # --- back ------------------------------------------------------------------------------------

    def begin_with(self, beginning: Beginning) -> None:
        """Run the batch that loads the state, and let every source begin where it was."""
        Storage.open(self._directory).delete_folder(QUERY_FOLDER)
        seed_state(
            self._spark,
            self._query,
            stages=self._stages,
            slots=self._slots,
            load=beginning.load,
        )
        offsets: list[str | None] = []
        copies: list[tuple[int, int]] = []
        for position, width in zip(beginning.positions, self._streams, strict=True):
            if position is None:
                offsets += [None] * width
                continue
            obstacle = why_not_for_spark(position.offsets[0])
            if obstacle is not None:
                raise SavepointError(
                    f"source {position.source} {obstacle.what}",
                    where=beginning.location,
                    fix=obstacle.fix,
                )
            if len(position.offsets) != width:
                raise SavepointError(
                    f"source {position.source} reads {width} streams and had "
                    f"{len(position.offsets)}",
                    where=beginning.location,
                    fix="read the same paths as before, in the same order",
                )
            copies += [(old, len(offsets) + n) for n, old in enumerate(position.numbers)]
            offsets += position.offsets
        if self._commands:
            offsets.append(None)
        replace_offsets(self._query, offsets)
        self._copy_logs(beginning, copies)

    def _copy_logs(self, beginning: Beginning, copies: list[tuple[int, int]]) -> None:
        source, target = Storage.open(beginning.location), Storage.open(self._query)
        # Files that lie in the job's own directory, such as those of collections, have moved.
        before, after = beginning.old_directory.encode(), self._directory.encode()
        for old, new in copies:
            for name in source.walk(f"{_SOURCES}/{old}"):
                rest = name.removeprefix(f"{_SOURCES}/{old}/")
                content = source.read(name).replace(before, after)
                target.write_atomic(f"{_SOURCES}/{new}/{rest}", content)
