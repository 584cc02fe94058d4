"""Drives writers and a committer as the engine does, without the engine.

In: a sink and records by subtask.  Out: calls in the engine's order, with its pickling in between.
Next: sink_contract.py (the suite for any sink)
"""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import sys
import warnings
from typing import TYPE_CHECKING, Any

import cloudpickle

from headrace.spi.sink import Committer, CommitterContext, Sink, WriterContext

if TYPE_CHECKING:
    from headrace.common.opaque import Committable
    from headrace.common.typeinfo import TypeInformation
    from headrace.spi.sink import SinkWriter

__all__ = ["SinkDriver"]

_jobs = itertools.count()
_attempts = itertools.count()


class SinkDriver:
    """One job with one sink: what its workers and its driver do to the sink, step by step.

    Args:
        sink: the sink; tests may replace it between two runs.
        job_id: a new one by default; two drivers of one id are two runs of one job.
        uid: the sink's uid in the program.
        type_info: declared type of the records, or None for an untyped stream.
        state_dir: see `CommitterContext`.

    Example:
        >>> from headrace.connectors.discarding import DiscardingSink
        >>> job = SinkDriver(DiscardingSink())
        >>> job.run(0, ["a", "b"], ["c"])    # batch 0, two subtasks
        >>> job.crash()                      # the driver process dies
        >>> job.run(0, ["a", "b"], ["c"])    # and the next one repeats the batch
    """

    def __init__(
        self,
        sink: Sink,
        *,
        job_id: str | None = None,
        uid: str = "out",
        type_info: TypeInformation | None = None,
        state_dir: str | None = None,
    ) -> None:
        self.sink = sink
        # With the process: a server may outlive a test run, and must not know the next one's jobs.
        self.job_id = job_id or f"job-{os.getpid()}-{next(_jobs)}"
        self.uid = uid
        self.type_info = type_info
        self.state_dir = state_dir
        self._committer: Committer | None = None
        self._committer_elsewhere = False

    @property
    def committer(self) -> Committer:
        """The committer of this run; made when it is first asked for."""
        if self._committer is None:
            context = CommitterContext(self.job_id, self.uid, self.state_dir)
            self._committer = self.sink.create_committer(context)
            self._committer.begin()
        return self._committer

    def restart(self) -> None:
        """The job stops in order; the next call belongs to a new run of it."""
        if self._committer is not None:
            self._committer.close()
        self._committer = None

    def crash(self) -> None:
        """The driver dies: nobody closes the committer."""
        self._committer = None

    def writer(
        self,
        batch: int,
        *,
        subtask: int = 0,
        parallelism: int = 1,
        type_info: TypeInformation | None = None,
    ) -> SinkWriter:
        """A writer of a new attempt, made from a copy of the sink as in a worker."""
        if not self._committer_elsewhere:
            _ = self.committer  # as in the engine: there is a committer before there are writers
        sink = pickle.loads(cloudpickle.dumps(self.sink))
        attempt = f"try-{next(_attempts)}"
        kind = type_info or self.type_info
        place = (subtask, parallelism, attempt, self.job_id, self.uid, batch, kind)
        writer: SinkWriter = sink.create_writer(WriterContext(*place))
        return writer

    def stage(
        self, batch: int, *subtasks: list[Any], type_info: TypeInformation | None = None
    ) -> list[Any]:
        """One attempt of every subtask; gives what the driver would get, last subtask first."""
        found: list[Any] = []
        for number, records in enumerate(subtasks):
            writer = self.writer(
                batch, subtask=number, parallelism=len(subtasks), type_info=type_info
            )
            try:
                # In two calls, because one batch comes in several pieces.
                writer.write(records[:2], None)
                writer.write(records[2:], None)
                found = writer.prepare_commit() + found
            except BaseException:
                writer.abort()
                raise
        committables: list[Committable] = pickle.loads(pickle.dumps(found))
        return committables

    def run(
        self, batch: int, *subtasks: list[Any], type_info: TypeInformation | None = None
    ) -> None:
        """Stages and commits a batch."""
        self.committer.commit(batch, self.stage(batch, *subtasks, type_info=type_info))

    def run_and_die(self, batch: int, *subtasks: list[Any], after_lines: int) -> int:
        """A new driver process begins, this one stages a batch for it, and it dies in its commit.

        Args:
            batch: number of the batch.
            subtasks: records by subtask.
            after_lines: how many lines of the connector's own package run before the process gets
                SIGKILL; lines of libraries do not count, or they would hide the few that matter.

        Returns:
            How many lines it ran; less than `after_lines` when it came to its end.
        """
        self.restart()
        answers, answer = os.pipe()
        orders, order = os.pipe()
        with warnings.catch_warnings():
            # Python warns of threads that a child does not have; the child only commits and dies.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(order)
            _commit_as_child(self, batch, after_lines, orders, answer)
        os.close(orders)
        os.close(answer)
        with os.fdopen(answers, "rb") as told, os.fdopen(order, "wb") as tell:
            said = told.readline()
            if said == b"ready\n":
                said = b""
                tell.write(pickle.dumps(self._staged_for_another(batch, subtasks)))
            tell.close()
            said += told.read()
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return after_lines
        if not said.isdigit():
            raise AssertionError(f"the commit failed by itself: {said.decode(errors='replace')}")
        return int(said)

    def _staged_for_another(self, batch: int, subtasks: tuple[list[Any], ...]) -> list[Any]:
        """What a committer in another process gets."""
        self._committer_elsewhere = True
        try:
            return self.stage(batch, *subtasks)
        finally:
            self._committer_elsewhere = False


def _commit_as_child(
    driver: SinkDriver, batch: int, after_lines: int, orders: int, answer: int
) -> None:
    """Commits what it is given, counting lines; never returns."""
    lines = 0
    own: set[str] = set()

    def count(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        if frame.f_globals.get("__name__", "").partition(".")[0] not in own:
            return None
        if event == "line":
            lines += 1
            if lines >= after_lines:
                os.kill(os.getpid(), signal.SIGKILL)
        return count

    try:
        committer = driver.committer
        own |= _own_packages(type(committer))
        os.write(answer, b"ready\n")
        with os.fdopen(orders, "rb") as pipe:
            committables = pickle.loads(pipe.read())
        sys.settrace(count)
        committer.commit(batch, committables)
        sys.settrace(None)
        os.write(answer, b"%d" % lines)
    except BaseException as error:
        sys.settrace(None)
        os.write(answer, f"{type(error).__name__}: {error}".encode())
    finally:
        # No handlers, no flushing: those belong to the process this one was copied from.
        os._exit(0)


def _own_packages(committer: type) -> set[str]:
    """The packages that a connector is made of: of its class and those that it extends."""
    packages = {base.__module__.partition(".")[0] for base in committer.__mro__}
    own = packages - sys.stdlib_module_names
    # The base classes of spi/ are everybody's; only our own connectors are of this package.
    return own - {"headrace"} or own
