"""How sources are read in this process, without Spark.

    plan where the batch ends ─▶ write it down ─▶ read ─▶ (the batch runs) ─▶ commit

In: a source of the program.  Out: a batch's parts, (split, records), for stage 0.  As on Spark a
range is written down before it is read, so that a batch which failed is read again as it was.
Next: hosts/admission.py chooses the ranges; testing/local_runner.py runs the batches.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import cloudpickle

from headrace.connectors.files.file_log import SparkFileLog, restored_position, saved_logs
from headrace.connectors.files.python_reader import files_in_python
from headrace.connectors.files.source import FileSource
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.hosts.admission import (
    initial_position,
    latest_position,
    next_position,
    ranges_between,
)
from headrace.hosts.alignment import SplitGate
from headrace.hosts.pending import pending_of
from headrace.hosts.source_ranges import read_range
from headrace.spi.python_source import PythonSource
from headrace.spi.source_adapters import SourceAdapters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.common.opaque import JsonValue
    from headrace.hosts.alignment import Board
    from headrace.hosts.pending import Report
    from headrace.spi.python_source import Position
    from headrace.spi.source import Source

__all__ = ["ADAPTERS", "LocalSource", "LocalSourceAdapter", "Part", "SavedStream"]

# (split, records): what stage 0 reads; a split without records waits, one with None rests
Part = tuple[str, Records | None]
# (offset as JSON, files beside it): what a savepoint keeps of one of a source's streams
SavedStream: TypeAlias = "tuple[str | None, Mapping[str, bytes]]"
SourceT = TypeVar("SourceT", bound="Source")


class LocalSourceAdapter(ABC, Generic[SourceT]):
    """Reads one kind of source in this process; has no state of its own.

    Positions are JSON values; they are all that is kept of a source over a restart.
    """

    def check(self, source: SourceT) -> None:
        """Refuses a source of which something cannot be read here, before anything runs.

        Raises:
            UnsupportedStepError: which names it.
        """

    def open(self, source: SourceT) -> SourceT:
        """A copy that may be asked and read; after a restart a new one."""
        copied: SourceT = cloudpickle.loads(cloudpickle.dumps(source))
        return copied

    @abstractmethod
    def begin(self, source: SourceT) -> JsonValue:
        """The position at which a source that was never read begins."""

    @abstractmethod
    def next_end(self, source: SourceT, start: JsonValue, limit: int | None) -> JsonValue:
        """Where a batch of at most ``limit`` records ends that begins at ``start``."""

    def aligned_end(
        self, source: SourceT, start: JsonValue, limit: int | None, gate: SplitGate
    ) -> JsonValue:
        """The same, without records of splits that ``gate`` holds back; only if it makes gates."""
        raise NotImplementedError

    def planned_end(
        self, source: SourceT, start: JsonValue, limit: int | None, gate: SplitGate | None
    ) -> JsonValue:
        """Where the next batch ends; ``gate`` is what `gate` gave for the opened source."""
        if gate is None:
            return self.next_end(source, start, limit)
        return self.aligned_end(source, start, limit, gate)

    def gate(self, source: SourceT, source_id: str, board: Board) -> SplitGate | None:
        """What holds splits of an opened source back for watermark alignment, if it has any."""
        return None

    @abstractmethod
    def read(self, source: SourceT, start: JsonValue, end: JsonValue) -> Iterator[Part]:
        """The records between two positions, the same ones on every call."""

    def reports(self, uid: str, source: SourceT, end: JsonValue) -> list[Report]:
        """What it tells the job's metrics of a batch that ends there."""
        return []

    def saved(self, source: SourceT, position: JsonValue) -> list[SavedStream]:
        """What a savepoint keeps of a position, for this host and for others."""
        return [(json.dumps(position), {})]

    def restored(self, source: SourceT, streams: list[SavedStream]) -> JsonValue:
        """The position that a savepoint keeps, of whichever host it is."""
        offset = streams[0][0]
        return None if offset is None else json.loads(offset)

    def commit(self, source: SourceT, end: JsonValue) -> None:
        """Everything before ``end`` is processed and never asked for again."""

    def close(self, source: SourceT) -> None:
        """The copy is not needed any more."""


class SplitAdapter(LocalSourceAdapter[PythonSource]):
    """Reads any `PythonSource`, split by split."""

    def open(self, source: PythonSource) -> PythonSource:
        copied = super().open(source)
        copied.open()
        return copied

    def begin(self, source: PythonSource) -> Position:
        return initial_position(source)

    def next_end(self, source: PythonSource, start: Position, limit: int | None) -> Position:
        return next_position(source, start, latest_position(source, start), limit)

    def aligned_end(
        self, source: PythonSource, start: Position, limit: int | None, gate: SplitGate
    ) -> Position:
        return gate.next_position(start, latest_position(source, start), limit)

    def gate(self, source: PythonSource, source_id: str, board: Board) -> SplitGate:
        return SplitGate(board, source, source_id, board.clock)

    def read(self, source: PythonSource, start: Position, end: Position) -> Iterator[Part]:
        codec = codec_for(source.produced_type())
        for split, low, high in ranges_between(source, start, end):
            name = split if source.has_splits() else ""
            if low == high:
                yield name, None if low is None else Records([])
                continue
            for records in read_range(source, split, low, high, codec):
                yield name, records

    def reports(self, uid: str, source: PythonSource, end: Position) -> list[Report]:
        return pending_of(uid, source, end, lambda: latest_position(source, end))

    def commit(self, source: PythonSource, end: Position) -> None:
        source.commit(end)

    def close(self, source: PythonSource) -> None:
        source.close()


class LocalFileAdapter(SplitAdapter):
    """Reads files in this process, as Spark's readers would.

    Opened, a `FileSource` is a `FilesInPython`.
    """

    def check(self, source: Source) -> None:
        files_in_python(_files(source))

    def open(self, source: Source) -> PythonSource:
        return super().open(files_in_python(_files(source)))

    def saved(self, source: Source, position: Position) -> list[SavedStream]:
        return [(log.offset, log.files) for log in saved_logs(_files(source), position)]

    def restored(self, source: Source, streams: list[SavedStream]) -> JsonValue:
        return restored_position([SparkFileLog(offset, files) for offset, files in streams])


def _files(source: Source) -> FileSource:
    assert isinstance(source, FileSource)
    return source


# Any: each adapter reads one class of sources, and the table pairs them
ADAPTERS: SourceAdapters[LocalSourceAdapter[Any]] = SourceAdapters(
    "the local host",
    group="headrace.local_sources",
    shipped={PythonSource: SplitAdapter(), FileSource: LocalFileAdapter()},
    fix="use a collection in tests that run in one process, or run the program on Spark",
)


class LocalSource:
    """A source of a running job: where it is, and the batch that is being made of it.

    Args:
        source: of the program.
        where: its line in the program.
        source_id: its uid.
        board: of watermark alignment; None if nobody asks for it.

    Raises:
        UnsupportedStepError: it cannot be read without Spark.
    """

    def __init__(
        self,
        source: Source,
        *,
        where: object = None,
        source_id: str = "",
        board: Board | None = None,
    ) -> None:
        self._source = source
        self._source_id = source_id
        self._board = board
        self._adapter = ADAPTERS.of(source, where=where)
        # survives restart, as JSON: what is committed, and where the next batch was to end
        self._committed: str | None = None
        self._planned: str | None = None
        # rebuilt on open
        self._opened: Source | None = None
        self._gate: SplitGate | None = None

    @property
    def position(self) -> JsonValue:
        """Where the next batch begins; None before the first question."""
        return None if self._committed is None else json.loads(self._committed)

    def next_parts(self, limit: int | None = None) -> list[Part]:
        """The records of the next batch; of the same one until it is committed."""
        source = self._open()
        if self._planned is None:
            end = self._adapter.planned_end(source, self.position, limit, self._gate)
            self._planned = json.dumps(end)
        return list(self._adapter.read(source, self.position, json.loads(self._planned)))

    def reports(self, uid: str) -> list[Report]:
        """What the source tells the job's metrics of the batch."""
        end = self.position if self._planned is None else json.loads(self._planned)
        return self._adapter.reports(uid, self._open(), end)

    def commit(self) -> None:
        """The batch is done."""
        if self._planned is not None:
            self._committed, self._planned = self._planned, None
            self._adapter.commit(self._open(), self.position)

    def is_exhausted(self) -> bool:
        """Whether everything was read and committed, as far as the source can tell."""
        return self._committed is not None and self._open().is_exhausted(self.position)

    def close(self) -> None:
        """Forget the process, as a restart does; the position stays."""
        if self._opened is not None:
            self._adapter.close(self._opened)
            self._opened = None

    def _open(self) -> Source:
        if self._opened is None:
            self._opened = self._adapter.open(self._source)
            if self._board is not None:
                self._gate = self._adapter.gate(self._opened, self._source_id, self._board)
        if self._committed is None:
            self._committed = json.dumps(self._adapter.begin(self._opened))
        return self._opened
