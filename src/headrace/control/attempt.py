"""One attempt at a job: a streaming query and the committers of its sinks, from start to end.

    start ─▶ batches: messages of all tasks ─▶ errors? ─▶ sinks commit by batch id ─▶ counts
         └─▶ bounded: until idle, end of input, until idle, over

In: a query that spark/ built.  Out: it returns at the end, or raises why it failed; then
control/job.py makes another one, with a query and committers of its own.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from headrace.errors import ConnectorError, HeadraceError, JobError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.control.commands import CommandWriter
    from headrace.control.messages import BatchMessages
    from headrace.control.metrics import JobMetrics
    from headrace.control.state_names import States
    from headrace.spi.sink import Committer

log = logging.getLogger(__name__)

_POLL_S = 0.02
# a sink that hangs must not keep a cancelled job alive for ever
_PATIENCE_S = 30.0


class Query(Protocol):
    """What an attempt needs of a running query; hosts/spark/microbatch/query.py has it."""

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

    @property
    def in_batch(self) -> bool:
        """Whether a batch is being made, run or written to the checkpoint."""
        ...

    @property
    def is_waiting(self) -> bool:
        """Whether it has started, and the sources have nothing for a batch."""
        ...

    @property
    def can_run_again(self) -> bool:
        """Whether Spark itself is still there."""
        ...


class Attempt:
    """One run of a job's query. Methods may be called from any thread."""

    def __init__(
        self,
        *,
        bounded: bool,
        exhausted: Callable[[Any], bool],
        committers: dict[str, tuple[str, Committer]],
        commands: CommandWriter | None,
        metrics: JobMetrics,
        note_states: Callable[[States], None] = lambda states: None,
    ) -> None:
        self.query: Query | None = None
        self._bounded = bounded
        # a source with a rate limit can be idle before its end
        self._exhausted = exhausted
        self._committers = committers
        self._commands = commands
        self._metrics = metrics
        # told before a batch is committed: what is stored has a name that is known
        self._note_states = note_states
        # held while a batch runs: its thread outlives the query that was stopped
        self._in_batch = threading.Lock()
        self._over = False  # no batch may commit any more
        self._gate_closed = False  # no further batch may begin
        self._draining = False

    # --- life --------------------------------------------------------------------------------

    def start(self, query: Query) -> None:
        """Start the query."""
        self.query = query
        query.start()

    def run(self) -> None:
        """Until the job's end; raises if the query fails."""
        try:
            self._run_to_end()
        except BaseException:
            if not (self._gate_closed or self._over):
                raise
        if not self._over and (self._draining or not self._gate_closed):
            for name, committer in self._committers.values():
                _call_sink(name, committer.end_of_input)

    def _run_to_end(self) -> None:
        query = self.query
        assert query is not None
        if not self._bounded:
            query.wait()
            return
        query.wait_until_idle()
        while self._goes_on and not self._exhausted(query):
            time.sleep(_POLL_S)
            query.wait_until_idle()
        if self._commands is not None and self._goes_on:
            self._commands.send("end")
            query.wait_until_idle()

    @property
    def _goes_on(self) -> bool:
        return not (self._over or self._gate_closed)

    def cancel(self) -> None:
        """End now: the batch that is running is thrown away."""
        self._over = True
        if self.query is not None:
            self.query.stop()

    def stop(self, *, drain: bool) -> None:
        """End behind the batch that is running.

        Args:
            drain: let event time reach its end first, so that all windows and timers fire.
        """
        self._draining = drain
        if drain and self._commands is not None:
            self._commands.send("end")  # the batch that reads it closes the gate
        else:
            self._gate_closed = True
        threading.Thread(target=self._stop_at_gate, name="headrace-stop", daemon=True).start()

    def _stop_at_gate(self) -> None:
        """The query ends by itself when it tries a new batch; an idle one has to be told."""
        assert self.query is not None
        while not self._over:
            if self._gate_closed and not self.query.in_batch and not self._in_batch.locked():
                self.query.stop()
                return
            time.sleep(_POLL_S / 4)

    def close(self) -> None:
        """Release everything. The thread of a stopped query's last batch is waited for."""
        self._over = True
        if self.query is not None:
            self.query.stop()
        if self._commands is not None:
            self._commands.close()
        ended = self._in_batch.acquire(timeout=_PATIENCE_S)
        try:
            for name, committer in self._committers.values():
                try:
                    committer.close()
                except Exception:
                    log.exception("closing sink %s failed", name)
        finally:
            if ended:
                self._in_batch.release()

    # --- batches -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """While this is open no further batch does its work: what is committed stays readable.

        The batch that is running ends first. Spark may still write that it is committed.
        """
        with self._in_batch:
            yield

    def run_batch(self, batch_id: int, work: Callable[[], BatchMessages]) -> None:
        """Run and commit one batch: called by the query, which keeps the batch if this returns."""
        with self._in_batch:
            self._check_may_go_on(batch_id)
            if self._gate_closed:
                raise JobError(f"the job was stopped before batch {batch_id}")
            started = time.perf_counter()
            found = work()
            if found.error is not None:
                raise found.error
            self._check_may_go_on(batch_id)
            self._note_states(found.states)
            self._commit(batch_id, found.committables)
            if self._commands is not None:
                self._commands.wake_at(found.wake_at)
            self._metrics.end_batch(batch_id, found.reports, (time.perf_counter() - started) * 1000)
            if self._draining and found.at_end_of_time:
                self._gate_closed = True

    def _check_may_go_on(self, batch_id: int) -> None:
        if self._over:
            raise JobError(f"the job ended before batch {batch_id} was committed")

    def _commit(self, batch_id: int, committables: dict[str, list[Any]]) -> None:
        """Let every sink make its part of a batch visible."""
        for uid, parts in committables.items():
            name, committer = self._committers[uid]
            _call_sink(name, lambda c=committer, p=parts: c.commit(batch_id, p))  # type: ignore[misc]


def _call_sink(name: str, action: Callable[[], None]) -> None:
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
