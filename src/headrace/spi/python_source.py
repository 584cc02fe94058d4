"""Sources written in Python: named splits, offsets in them, ranges that can be read again.

In: a subclass by the user, or one of ours (connectors/generator/datagen.py, say).
Out: records of a range of offsets.  Next: hosts/admission.py chooses the ranges, batch by batch;
hosts/spark/sources/python_source.py and hosts/local/sources.py have them read.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from headrace.spi.source import Boundedness, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from headrace.common.opaque import Record
    from headrace.common.typeinfo import TypeInformation

__all__ = ["TIMESTAMP_COLUMN", "Offset", "Position", "PythonSource"]

# The last of the columns of `read_columns`, where a source has timestamps: epoch milliseconds.
TIMESTAMP_COLUMN = "__ts"

# A whole number, or any other JSON value.  Any, because a subclass declares the one kind it has.
Offset: TypeAlias = Any
# Where a source was read to: split -> offset.
Position: TypeAlias = "dict[str, Offset]"

_UNKNOWN_MANY = 1 << 62


class PythonSource(Source):
    """Base class for your own source.

    Records live in *splits* (a file, a topic partition, a shard), each numbered by offsets. Before
    every batch headrace asks how far each split can be read, limits that to the size of a batch,
    writes the chosen range to the checkpoint, and only then reads it. After a failure it reads the
    same range again, which is what makes the job exactly-once: **the same range must always give
    the same records**.

    Offsets are whole numbers that count records, or any other JSON value that says where to
    continue reading (the text of a sequence number, a list of file and line, a dict). headrace
    stores such an offset and gives it back, and only compares it for equality; override
    `records_between` and `offset_after` to have batches limited in size.

    Example:
        >>> class Lines(PythonSource):
        ...     def __init__(self, paths):
        ...         self.paths = paths
        ...
        ...     def splits(self):
        ...         return self.paths
        ...
        ...     def latest_offset(self, split, start):
        ...         with open(split) as lines:
        ...             return sum(1 for _ in lines)
        ...
        ...     def read(self, split, start, end):
        ...         with open(split) as lines:
        ...             yield from itertools.islice(lines, start, end)

    Where it runs: `splits`, `initial_offset`, `latest_offset`, `open`, `commit` and `close` are
    called in one process next to the driver, on its machine, always on the same object, so they may
    keep a connection in a field; variables of the program that started the job are not seen there.
    `read` is called on a copy in a worker process, one call per split and batch, splits in
    parallel. The source travels by cloudpickle: open files and sockets in `open` or in `read`,
    never in ``__init__``.

    Coming from Flink: takes the place of a `Source` with its split enumerator and reader, which
    PyFlink does not let you write.
    """

    divisible: ClassVar[bool] = False
    """True if a range of one split may be read in pieces at the same time. Order is then kept
    only inside a piece, as it is between Flink's parallel readers."""

    reads_on_driver: ClassVar[bool] = False
    """True if `read` needs what only the driver's machine has (the data itself, a socket). It is
    then called in the process next to the driver, and the records travel to the workers inside the
    task: meant for small streams."""

    reads_in_turn: ClassVar[bool] = False
    """True to have a batch filled with the first split of `most_of_batch` before the next one gets
    any of it, as files are: the older one first. Otherwise splits get equal shares."""

    def splits(self) -> list[str]:
        """Names of the splits that exist now, the same name for the same split forever.

        Asked before every batch; a new name is picked up and read from the next batch on.
        """
        return ["0"]

    def initial_offset(self, split: str) -> Offset:
        """The offset at which a split that was never read begins. Asked once per split."""
        return 0

    @abstractmethod
    def latest_offset(self, split: str, start: Offset) -> Offset:
        """The offset up to which ``split`` can be read now, exclusive.

        A bounded source returns the end of the split from the first call on. Must not wait for
        data: return ``start`` when there is nothing new.

        Args:
            split: the split's name.
            start: where the next batch begins.
        """

    def latest_offsets(self, starts: Mapping[str, Offset]) -> Mapping[str, Offset]:
        """`latest_offset` of many splits; override it where one request is enough for all."""
        return {split: self.latest_offset(split, start) for split, start in starts.items()}

    @abstractmethod
    def read(self, split: str, start: Offset, end: Offset) -> Iterator[Record]:
        """The records of ``[start, end)``, the same ones on every call.

        The size of a batch is counted in offsets, so they should number the records.
        """

    def records_between(self, split: str, start: Offset, end: Offset) -> int:
        """How many records ``[start, end)`` holds, negative if ``end`` lies before ``start``.

        Known for whole numbers. For other offsets the default is "more than a batch takes" unless
        the two are equal, so that splits get equal shares of a batch.
        """
        if isinstance(start, int) and isinstance(end, int):
            return end - start
        return 0 if start == end else _UNKNOWN_MANY

    def offset_after(self, split: str, start: Offset, end: Offset, records: int) -> Offset:
        """The offset after the next ``records`` records, at most ``end``.

        Known for whole numbers. For other offsets the default is ``end``: `latest_offset`
        alone then says how much a batch takes.
        """
        if isinstance(start, int) and isinstance(end, int):
            return min(start + records, end)
        return end

    def most_of_batch(
        self, waiting: Mapping[str, int], starts: Mapping[str, Offset]
    ) -> Mapping[str, int]:
        """How many of each split's waiting records a batch takes at most; all by default.

        Beside ``source.max-records-per-batch``, which holds for all splits together. Not asked
        where a batch takes everything, as in BATCH mode.

        Args:
            waiting: the records that each split has.
            starts: where the batch begins.
        """
        return waiting

    def splits_are_gone(self, positions: Mapping[str, Offset]) -> None:
        """Splits of the checkpoint are not among `splits` any more.

        They rest where they are; raise an error if records are lost by that.

        Args:
            positions: where they were read to.
        """

    def rests(self, split: str, at: Offset) -> bool:
        """Whether nothing of a split will be read, so that event time need not wait for it.

        Override it where splits come and go while a job runs: a split of the checkpoint that is
        not among `splits` any more, or one that is read up to a certain offset only.

        Args:
            split: the split's name.
            at: where it was read to.
        """
        return False

    def read_columns(
        self, split: str, start: Offset, end: Offset
    ) -> Iterator[pa.RecordBatch] | None:
        """The records of ``[start, end)`` as Arrow batches, for sources that already have columns.

        Override it to skip the conversion of single records. The columns are those of the produced
        type: ``value`` for a basic type, one column per field for a tuple or a row. Where records
        have an event time of their own, a last column ``__ts`` holds it in epoch milliseconds;
        without it `timestamp` is called for each record.

        Returns:
            None (the default) to have `read` called.
        """
        return None

    def timestamp(self, record: Record) -> int:
        """The record's own event time in epoch milliseconds. Override it only if there is one."""
        raise NotImplementedError

    def open(self) -> None:
        """Called once next to the driver before any other call, also after a restart."""

    def commit(self, offsets: Mapping[str, Offset]) -> None:
        """Says that everything before these offsets is processed and never read again."""

    def close(self) -> None:
        """Called next to the driver when the job ends."""

    def produced_type(self) -> TypeInformation:
        """The records' type; without one they travel pickled, which is slower."""
        from headrace.common.typeinfo import Types

        return Types.PICKLED_BYTE_ARRAY()

    def boundedness(self) -> Boundedness:
        """Unbounded, unless a subclass overrides it."""
        return Boundedness.CONTINUOUS_UNBOUNDED

    # What the engine derives from the class; not for overriding.

    def has_splits(self) -> bool:
        """Whether the source names its own splits."""
        return type(self).splits is not PythonSource.splits

    def has_timestamps(self) -> bool:
        """Whether records carry their own event time."""
        return type(self).timestamp is not PythonSource.timestamp

    def gives_all_at_once(self) -> bool:
        """Whether a first batch without limits would leave nothing behind."""
        if not self.may_hold_back():
            return True
        starts = {split: self.initial_offset(split) for split in self.splits()}
        return self.is_exhausted(dict(self.latest_offsets(starts)))
