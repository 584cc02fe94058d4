"""One attempt at a job: a run of a host and the committers of its sinks, from start to end.

    start ─▶ epochs: what all tasks reported ─▶ errors? ─▶ sinks commit by epoch ─▶ counts
         └─▶ bounded: until idle, end of input, until idle, over

In: a Run (spi/host.py).  Out: it returns at the end, or raises why it failed; then control/job.py
makes another one, with a run and committers of its own.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING

from headrace.errors import ConnectorError, HeadraceError, JobError
from headrace.spi.host import TellsProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.common.opaque import Committable
    from headrace.control.metrics import JobMetrics
    from headrace.control.state_names import States
    from headrace.spi.host import EpochResults, Run
    from headrace.spi.sink import Committer

log = logging.getLogger(__name__)

_POLL_S = 0.02
# a sink that hangs must not keep a cancelled job alive forever
_PATIENCE_S = 30.0


class Attempt:
    """One run of a job, watched and steered. Methods may be called from any thread.

    Args:
        bounded: whether the job ends when its sources have.
        uses_time: whether anything waits for the end of input.
        committers: of every sink, by uid, with the name for messages.
        metrics: of the job.
        note_states: called with what operators have stored for the first time.
        check_right: raises if another driver has the job; asked before anything is committed.
    """

    def __init__(
        self,
        *,
        bounded: bool,
        uses_time: bool,
        committers: dict[str, tuple[str, Committer]],
        metrics: JobMetrics,
        note_states: Callable[[States], None] = lambda states: None,
        check_right: Callable[[], None] = lambda: None,
    ) -> None:
        self.run: Run | None = None
        self._bounded = bounded
        self._uses_time = uses_time
        self._committers = committers
        self._metrics = metrics
        # told before a batch is committed: what is stored has a name that is known
        self._note_states = note_states
        self._check_right = check_right
        # held while a batch runs: its thread outlives the run that was stopped
        self._in_epoch = threading.Lock()
        # a committer is called by one thread at a time: that of epochs, one that brings records, or
        # the job's own at the end
        self._calling = {uid: threading.Lock() for uid in committers}
        self._over = False  # no batch may commit any more
        self._has_published = False  # nothing is held back, and nothing will be
        self._gate_closed = False  # no further batch may begin
        self._draining = False

    # --- life --------------------------------------------------------------------------------

    def start(self, run: Run) -> None:
        """Start the run."""
        self.run = run
        self._metrics.forget_running()
        if isinstance(run, TellsProgress):
            run.tell_progress(self._metrics.note_progress)
        run.recover()
        for name, committer in self._committers.values():
            _call_sink(name, committer.begin)
        run.start()

    def watch(self) -> None:
        """Until the job's end; raises if the run fails."""
        try:
            self._run_to_end()
        except BaseException:
            if not (self._gate_closed or self._over):
                raise
        if not self._over:
            self._publish(at_end=self._draining or not self._gate_closed)
            self._has_published = True

    def publish_held_back(self) -> None:
        """Have sinks make visible what they hold back, before a savepoint counts.

        Who starts from it begins anew with its sinks, and would not look for what waits there.

        Raises:
            JobError: the job has ended meanwhile, or another driver has it.
        """
        assert self.run is not None
        # a long epoch counts before its sinks have it
        committed = contextlib.nullcontext() if self.run.has_short_epochs else self._in_epoch
        with committed:
            if self._has_published:
                return
            if self._over:
                raise JobError("the job ended before its sinks had published what they hold back")
            self._publish(at_end=False)

    def _publish(self, *, at_end: bool) -> None:
        self._check_right()
        for uid, (name, committer) in self._committers.items():
            with self._calling[uid]:
                _call_sink(name, committer.end_of_input if at_end else committer.publish_held_back)

    def _run_to_end(self) -> None:
        run = self.run
        assert run is not None
        if not self._bounded:
            run.wait()
            return
        run.wait_until_idle()
        while self._goes_on and not run.exhausted():
            time.sleep(_POLL_S)  # a source with a rate limit can be idle before its end
            run.wait_until_idle()
        if self._uses_time and self._goes_on:
            run.end_input()
            run.wait_until_idle()

    @property
    def _goes_on(self) -> bool:
        return not (self._over or self._gate_closed)

    def cancel(self) -> None:
        """End now: the batch that is running is thrown away."""
        self._over = True
        if self.run is not None:
            self.run.stop()

    def stop(self, *, drain: bool) -> None:
        """End after the running epoch.

        Args:
            drain: let event time reach its end first, so that all windows and timers fire.
        """
        self._draining = drain
        if drain and self._uses_time and self.run is not None:
            self.run.end_input()  # the epoch that reads it closes the gate
        elif self.run is None or self.run.has_short_epochs:
            self._gate_closed = True
        threading.Thread(target=self._stop_at_gate, name="headrace-stop", daemon=True).start()

    def _stop_at_gate(self) -> None:
        """The run ends by itself when it tries a new epoch; an idle one has to be told."""
        assert self.run is not None
        if not (self._draining and self._uses_time) and not self._gate_closed:
            try:
                self.run.finish_epoch()
            except BaseException:  # who watches the run is told the same
                return
            self._gate_closed = True
        while not self._over:
            if self._gate_closed and not self.run.in_epoch and not self._in_epoch.locked():
                self.run.stop()
                return
            time.sleep(_POLL_S / 4)

    def close(self) -> None:
        """Release everything. The thread of a stopped run's last epoch is waited for.

        A run that failed or was cancelled leaves nothing hidden either, if the job is still ours.
        """
        self._over = True
        if self.run is not None:
            self.run.close()
        ended = self._in_epoch.acquire(timeout=_PATIENCE_S)
        try:
            publishes = ended and not self._has_published and self._has_right()
            for uid in self._committers:
                self._close_sink(uid, publishes=publishes)
        finally:
            if ended:
                self._in_epoch.release()

    def _has_right(self) -> bool:
        try:
            self._check_right()
        except Exception:
            return False
        return self.run is not None

    def _close_sink(self, uid: str, *, publishes: bool) -> None:
        name, committer = self._committers[uid]
        calling = self._calling[uid]
        free = calling.acquire(timeout=_PATIENCE_S)  # a task's records may be on their way into it
        try:
            if publishes and free:
                committer.publish_held_back()
        except Exception:  # nothing is lost: the next run on the checkpoint finds what waits
            log.warning("sink %s could not publish what it holds back", name, exc_info=True)
        try:
            committer.close()
        except Exception:
            log.exception("closing sink %s failed", name)
        finally:
            if free:
                calling.release()

    # --- epochs ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """While this is open no further epoch does its work: what is committed stays readable.

        The epoch that is running ends first. The host may still write that it is committed.
        """
        with self._in_epoch:
            yield

    def run_epoch(self, epoch: int, work: Callable[[], EpochResults]) -> None:
        """Run and commit one epoch: called by the host, which keeps the epoch if this returns."""
        with self._in_epoch:
            self._check_may_go_on(epoch)
            if self._gate_closed:
                raise JobError(f"the job was stopped before batch {epoch}")
            started = time.perf_counter()
            self._metrics.begin_batch(epoch)
            try:
                found = self._finished(epoch, work)
            except BaseException as error:
                self._note_failure(epoch, error)
                raise
            milliseconds = (time.perf_counter() - started) * 1000
            self._metrics.end_batch(epoch, found.reports, milliseconds, found.tasks)
            if self._draining and found.at_end_of_time:
                self._gate_closed = True

    def _finished(self, epoch: int, work: Callable[[], EpochResults]) -> EpochResults:
        """What the epoch came to, after its sinks have committed it."""
        found = work()
        if found.error is not None:
            raise found.error
        self._check_may_go_on(epoch)
        self._check_right()
        self._note_states(found.states)
        self._commit(epoch, found.committables)
        if self.run is not None:  # the first epoch can be faster than start()
            self.run.wake_at(found.wake_at)
        return found

    def _note_failure(self, epoch: int, error: BaseException) -> None:
        self._metrics.fail_batch(epoch, error if self._goes_on else None)

    def deliver(self, uid: str, epoch: int, records: list[Committable]) -> None:
        """Let a sink that acts at once have records of the running epoch."""
        name, committer = self._committers[uid]
        with self._calling[uid]:
            if not self._over:
                _call_sink(name, lambda: committer.deliver(epoch, records))

    def _check_may_go_on(self, epoch: int) -> None:
        if self._over:
            raise JobError(f"the job ended before batch {epoch} was committed")

    def _commit(self, epoch: int, committables: dict[str, list[Committable]]) -> None:
        """Let every sink make its part of an epoch visible."""
        for uid, (name, committer) in self._committers.items():
            with self._calling[uid]:
                parts = committables.get(uid, [])
                if uid in committables or committer.holds_back:
                    _call_sink(name, lambda c=committer, p=parts: c.commit(epoch, p))  # type: ignore[misc]


def _call_sink(name: str, action: Callable[[], None]) -> None:
    try:
        action()
    except HeadraceError:
        raise
    except Exception as error:
        raise ConnectorError(
            f"sink {name!r} failed to commit: {type(error).__name__}: {error}",
            where=name,
            fix="the batch was not committed; it is repeated when the job restarts",
        ) from error
