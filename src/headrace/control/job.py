"""One job: a streaming query, the committers of its sinks, its status and its counts.

    start ─▶ batches: messages of all tasks ─▶ errors? ─▶ sinks commit by batch id ─▶ counts
         └─▶ bounded: until idle, end of input, until idle, stop

In: a query that spark/ built.  Out: a status, a result or an error.  Next: control/commands.py
"""

from __future__ import annotations

import logging
import pickle
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from headrace.common.job_status import JobStatus
from headrace.control.job_state import check_transition, is_terminal
from headrace.control.metrics import JobMetrics
from headrace.errors import ConnectorError, HeadraceError, JobError
from headrace.runtime.buffers import content_of, frames_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.control.commands import CommandWriter
    from headrace.datastream.connectors.sink import Committer

log = logging.getLogger(__name__)

_POLL_S = 0.02


class Query(Protocol):
    """What a job needs of a running query; spark/query.py has it."""

    def start(self) -> None:
        """Start it."""
        ...

    def wait_until_idle(self) -> None:
        """Until all that is available was processed."""
        ...

    def wait(self) -> None:
        """Until it ends."""
        ...

    def stop(self) -> None:
        """End it."""
        ...


@dataclass(slots=True)
class BatchMessages:
    """What the tasks of one batch told the driver."""

    committables: dict[str, list[Any]] = field(default_factory=dict)
    reports: list[tuple[int, dict[str, dict[str, Any]]]] = field(default_factory=list)
    wake_at: int | None = None
    error: HeadraceError | None = None


def read_messages(packets: Iterable[bytes]) -> BatchMessages:
    """Open the packets that reached the driver."""
    found = BatchMessages()
    for packet in packets:
        for frame in frames_of(packet):
            message = content_of(frame)
            if message is not None:
                _MESSAGES[message[0]](found, *message[1:])
    return found


def _on_commit(found: BatchMessages, uid: str, committables: list[Any]) -> None:
    found.committables.setdefault(uid, []).extend(committables)


def _on_report(
    found: BatchMessages, level: int, subtask: int, report: dict[str, Any], wake_at: int | None
) -> None:
    found.reports.append((subtask, report))
    if wake_at is not None:
        found.wake_at = wake_at if found.wake_at is None else min(found.wake_at, wake_at)


def _on_error(found: BatchMessages, content: bytes) -> None:
    if found.error is None:
        try:
            found.error, cause = pickle.loads(content)
            assert found.error is not None
            found.error.__cause__ = cause
        except Exception as error:
            found.error = JobError(f"a task failed, and its error could not be read: {error}")


_MESSAGES: dict[str, Callable[..., None]] = {
    "commit": _on_commit,
    "report": _on_report,
    "error": _on_error,
}


class Job:
    """A running or finished job. All public methods may be called from any thread."""

    def __init__(
        self,
        *,
        job_id: str,
        name: str,
        bounded: bool,
        exhausted: Callable[[Any], bool],
        committers: dict[str, tuple[str, Committer]],
        commands: CommandWriter | None,
        cleanup: Callable[[], None],
    ) -> None:
        self.job_id = job_id
        self.name = name
        self.metrics = JobMetrics()
        self.error: BaseException | None = None
        self._status = JobStatus.CREATED
        self._bounded = bounded
        # a source with a rate limit can be idle before its end
        self._exhausted = exhausted
        self._committers = committers
        self._commands = commands
        self._cleanup = cleanup
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._query: Query | None = None
        self._thread: threading.Thread | None = None

    # --- life --------------------------------------------------------------------------------

    @property
    def status(self) -> JobStatus:
        """Where the job is in its life."""
        return self._status

    def start(self, query: Query) -> None:
        """Start the query, and watch it from a thread of its own."""
        self._query = query
        self._become(JobStatus.RUNNING)
        try:
            query.start()
        except BaseException:
            self._become(JobStatus.FAILED)
            self._end()
            raise
        self._thread = threading.Thread(
            target=self._watch, name=f"headrace-{self.name}", daemon=True
        )
        self._thread.start()

    def cancel(self) -> None:
        """Stop now. The batch that is running is thrown away; what was committed stays."""
        with self._lock:
            if is_terminal(self._status) or self._status is JobStatus.CANCELLING:
                return
            self._become(JobStatus.CANCELLING)
        assert self._query is not None
        self._query.stop()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until the job has ended; False if it has not after the timeout."""
        return self._ended.wait(timeout_s)

    def _watch(self) -> None:
        try:
            self._run_to_end()
        except BaseException as error:
            if self._status is not JobStatus.CANCELLING:
                self.error = error
        finally:
            assert self._query is not None
            self._query.stop()
            self._finish()

    def _run_to_end(self) -> None:
        query = self._query
        assert query is not None
        if not self._bounded:
            query.wait()
            return
        query.wait_until_idle()
        while self._status is JobStatus.RUNNING and not self._exhausted(query):
            time.sleep(_POLL_S)
            query.wait_until_idle()
        if self._commands is not None and self._status is JobStatus.RUNNING:
            self._commands.send("end")
            query.wait_until_idle()
        if self._status is JobStatus.RUNNING:
            for name, committer in self._committers.values():
                self._call_sink(name, committer.end_of_input)

    def _finish(self) -> None:
        with self._lock:
            if self._status is JobStatus.CANCELLING:
                self._become(JobStatus.CANCELED)
            else:
                self._become(JobStatus.FINISHED if self.error is None else JobStatus.FAILED)
        self._end()

    def _end(self) -> None:
        if self._commands is not None:
            self._commands.close()
        for _, committer in self._committers.values():
            try:
                committer.close()
            except Exception:
                log.exception("closing a sink of job %s failed", self.name)
        try:
            self._cleanup()
        finally:
            self._ended.set()

    def _become(self, status: JobStatus) -> None:
        check_transition(self._status, status)
        self._status = status

    # --- batches -----------------------------------------------------------------------------

    def on_batch(self, packets: Iterable[bytes], batch_id: int) -> None:
        """Commit one batch: called by the query once all its tasks have run."""
        started = time.perf_counter()
        found = read_messages(packets)
        if found.error is not None:
            raise found.error
        self.commit(batch_id, found.committables)
        for subtask, report in found.reports:
            self.metrics.add_report(subtask, report)
        if self._commands is not None:
            self._commands.wake_at(found.wake_at)
        self.metrics.end_batch(batch_id, (time.perf_counter() - started) * 1000)

    def commit(self, batch_id: int, committables: dict[str, list[Any]]) -> None:
        """Let every sink make its part of a batch visible."""
        for uid, parts in committables.items():
            name, committer = self._committers[uid]
            self._call_sink(name, lambda c=committer, p=parts: c.commit(batch_id, p))  # type: ignore[misc]

    def _call_sink(self, name: str, action: Callable[[], None]) -> None:
        try:
            action()
        except HeadraceError:
            raise
        except Exception as error:
            raise ConnectorError(
                f"sink {name!r} failed to commit: {type(error).__name__}: {error}",
                where=name,
                fix="the batch was not committed; it is repeated when the job starts again",
            ) from error
