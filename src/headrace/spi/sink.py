"""The base of every sink: a writer in the workers, a committer on the driver.

In: records of the last chained step (runtime/chain.py).  Out: committables, made visible once per
micro-batch (control/attempt.py calls the committer).  Next: connectors/ for the sinks we ship.

One micro-batch, seen from a sink:

    worker, one writer per subtask          driver, one committer per sink
    ------------------------------          ------------------------------
    writer.write(values, timestamps) *n
    writer.prepare_commit() ── committables ──> committer.commit(batch_id, committables)
                                            ... after the last batch of a bounded job:
                                            committer.end_of_input()
                                            ... at a stop, and before a savepoint:
                                            committer.publish_held_back()

A worker may be run twice for one batch (retry, speculation) and the driver may die at any moment
and ask for the same batch again. So writers only stage, and committers decide once per batch id.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.common.opaque import Committable, Record
    from headrace.common.typeinfo import TypeInformation

__all__ = ["Committer", "CommitterContext", "Sink", "SinkWriter", "WriterContext"]


@dataclass(frozen=True, slots=True)
class WriterContext:
    """What a writer knows about its place in the job.

    Attributes:
        subtask_index: which parallel instance this is, from 0.
        parallelism: how many parallel instances the sink has.
        attempt: unique text for this try of this subtask and batch; two tries never share it.
        job_id: identifies the job for as long as its batch ids continue (a job restored from its
            own checkpoint keeps it; a job whose batch ids start at 0 again has a new one).
        sink_uid: the sink's uid in the program.
        batch_id: number of the micro-batch that the writer is opened for.
        type_info: declared type of the records, or None when the stream is untyped.
        epochs_overlap: whether writers of the next epoch begin before this one is committed, as in
            continuous mode; never two epochs ahead.
    """

    subtask_index: int
    parallelism: int
    attempt: str
    job_id: str
    sink_uid: str
    batch_id: int
    type_info: TypeInformation | None = None
    epochs_overlap: bool = False


@dataclass(frozen=True, slots=True)
class CommitterContext:
    """What a committer knows about its place in the job.

    Attributes:
        job_id: same as in ``WriterContext``.
        sink_uid: the sink's uid in the program.
        state_dir: local path or URI of a directory that lives and dies with the job's checkpoint,
            where a committer may keep its own progress; None when the job has no checkpoint.
        epochs_overlap: see ``WriterContext``. An epoch then counts before it is committed: its
            committables come again after a crash, but its records do not.
    """

    job_id: str
    sink_uid: str
    state_dir: str | None = None
    epochs_overlap: bool = False


class SinkWriter(ABC):
    """Takes the records of one subtask in one micro-batch and stages them."""

    @abstractmethod
    def write(self, values: list[Record], timestamps: list[int] | None) -> None:
        """Stages some records.

        Args:
            values: the records, in order.
            timestamps: event time of each record in epoch milliseconds, or None when there is none.
        """

    def write_arrow(self, batch: pa.RecordBatch, timestamps: list[int] | None) -> bool:
        """Stages records that are already columns, if this writer can use them.

        Args:
            batch: the records, in the columns of the stream's type.
            timestamps: see ``write``.

        Returns:
            Whether it did. After False nothing is staged, and the same records come to ``write``.
        """
        return False

    @abstractmethod
    def prepare_commit(self) -> list[Committable]:
        """Ends the batch.

        Returns:
            Small picklable objects that tell the committer what was staged. Their order across
            subtasks is not kept, so include the subtask and a sequence number if order matters.
        """

    @abstractmethod
    def abort(self) -> None:
        """Throws away what was staged. Called when the subtask fails; must not raise."""


class Committer(ABC):
    """Makes staged output visible, on the driver.

    Its methods are called from different threads, one call after the other.
    """

    def begin(self) -> None:  # noqa: B027 - optional hook
        """Called once, before the writers of this run begin.

        Everything that counts is committed; what is staged still was left by a run that is over.
        """

    @abstractmethod
    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        """Makes one micro-batch visible, or finds that it already is.

        A batch id that was committed once is never committed again with other content: a repeated
        call finishes what the first one decided and throws the new committables away.

        Args:
            batch_id: number of the micro-batch; grows, and repeats only after a failure.
            committables: everything the writers of this batch returned, in no particular order.
        """

    def deliver(self, batch_id: int, committables: list[Committable]) -> None:
        """Makes records visible before their epoch ends; for sinks with ``acts_at_once``.

        Args:
            batch_id: number of the running epoch.
            committables: what a writer returned.
        """
        raise NotImplementedError

    @property
    def holds_back(self) -> bool:
        """Whether something that was committed is not in sight of readers yet.

        Then `commit` is called for epochs in which nothing was written, too, with nothing.
        """
        return False

    def publish_held_back(self) -> None:  # noqa: B027 - optional hook
        """Makes visible what was committed and is held back.

        Called when the job ends, and before a savepoint, from which a job of another id may start,
        but only by a driver that still has the job.
        """

    def end_of_input(self) -> None:
        """Called once, after the last batch of a bounded job: nothing has to wait any more."""
        self.publish_held_back()

    def close(self) -> None:  # noqa: B027 - optional hook
        """Releases what the committer holds. Called when the job stops for any reason.

        It must not change what readers see: another driver may have the job by then.
        """


class Sink(ABC):
    """Base class of sinks; subclass it to write your own exactly-once sink.

    A sink is a picklable description: it is sent to the workers, which call ``create_writer`` for
    every subtask and batch, and kept on the driver, which calls ``create_committer`` once per run.

    Coming from Flink: the roles are those of ``Sink``, ``SinkWriter`` and ``Committer`` of Sink V2,
    with lists instead of single records and the batch id instead of the checkpoint id. In
    PyFlink this class only wraps Java sinks; here a sink is written in Python.

    Example:
        A sink that writes to a SQLite table. Batch id and rows are stored in one transaction, so a
        batch that is repeated after a crash is found and skipped:

        >>> import sqlite3, tempfile, os
        >>> class StageRows(SinkWriter):
        ...     def __init__(self):
        ...         self.rows = []
        ...     def write(self, values, timestamps):
        ...         self.rows += values
        ...     def prepare_commit(self):
        ...         return self.rows
        ...     def abort(self):
        ...         self.rows = []
        >>> class InsertRows(Committer):
        ...     def __init__(self, file):
        ...         # called from several threads, but never by two at once
        ...         self.db = sqlite3.connect(file, check_same_thread=False)
        ...         self.db.execute("create table if not exists done (batch primary key)")
        ...         self.db.execute("create table if not exists words (word)")
        ...     def commit(self, batch_id, committables):
        ...         done = "select 1 from done where batch = ?"
        ...         with self.db:
        ...             if self.db.execute(done, [batch_id]).fetchone():
        ...                 return
        ...             self.db.execute("insert into done values (?)", [batch_id])
        ...             rows = [[word] for word in committables]
        ...             self.db.executemany("insert into words values (?)", rows)
        ...     def close(self):
        ...         self.db.close()
        >>> class WordsTable(Sink):
        ...     def __init__(self, file):
        ...         self.file = file
        ...     def create_writer(self, context):
        ...         return StageRows()
        ...     def create_committer(self, context):
        ...         return InsertRows(self.file)
        >>> sink = WordsTable(os.path.join(tempfile.mkdtemp(), "words.db"))
        >>> writer = sink.create_writer(WriterContext(0, 1, "try-1", "job", "words", 0))
        >>> writer.write(["tea", "water"], None)
        >>> staged = writer.prepare_commit()
        >>> committer = sink.create_committer(CommitterContext("job", "words"))
        >>> committer.commit(0, staged)
        >>> committer.commit(0, staged)  # the driver asks again after a crash
        >>> committer.db.execute("select count(*) from words").fetchone()
        (2,)
        >>> committer.close()

        In a program: ``stream.sink_to(WordsTable("words.db"))``.
    """

    acts_at_once: ClassVar[bool] = False
    """True if records may take effect before their epoch is committed. In continuous mode, where
    epochs are long, `Committer.deliver` then gets them as they come: at least once. In a
    micro-batch they are committed with it all the same."""

    @abstractmethod
    def create_writer(self, context: WriterContext) -> SinkWriter:
        """A new writer for one subtask and one micro-batch; called in a worker."""

    @abstractmethod
    def create_committer(self, context: CommitterContext) -> Committer:
        """The committer of this run of the job; called on the driver."""
