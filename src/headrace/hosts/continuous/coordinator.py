"""The driver of a continuous run: starts tasks, ends epochs, keeps what survives, says what failed.

    every interval, or asked:  barrier to the source tasks ─▶ all tasks have ended the epoch
        ─▶ the epoch is written (epochs.py): it counts ─▶ sinks commit ─▶ it is done

An epoch counts before its sinks commit, and they commit by its number: a driver that dies in
between hands the same committables to them again when it is back.  The tasks are in the next epoch
by then.

In: a plan, a carrier that runs the tasks.  Out: the calls and answers of a Run (spi/host.py).
Next: hosts/continuous/loops.py (the other end of the lines)
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import cloudpickle

from headrace.errors import JobError
from headrace.hosts.alignment import Board, SplitGate
from headrace.hosts.continuous.epochs import Epoch, Epochs, ordered
from headrace.hosts.continuous.feeding import SHARE, SourceFeed, SourceFeeds
from headrace.hosts.continuous.slots import SlotNeed, SlotWait
from headrace.hosts.continuous.wire import Line, LineGone, Switchboard
from headrace.plan.alignment import aligns
from headrace.runtime.messages import results_of

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject, JsonValue, TaskMessage
    from headrace.hosts.continuous.epochs import TaskPlace
    from headrace.hosts.continuous.wire import Address
    from headrace.plan.physical import PhysicalPlan
    from headrace.spi.host import (
        AlignedSplit,
        EpochResults,
        OnDelivery,
        OnEpoch,
        OnProgress,
        TaskReport,
    )
    from headrace.spi.python_source import PythonSource

_POLL_S = 0.02
# how often somebody who waits for slots looks
_SLOT_POLL_S = 0.25
# how long all tasks may take to report after they were started, user functions opened included
_START_S = 300.0
# how long the carrier has to tell why a task is gone, before the loss itself is the error
_EXPLAIN_S = 3.0
_PATIENCE_S = 30.0


class Carrier(Protocol):
    """What runs the tasks and moves their packets: Spark's query, or threads in tests."""

    def slots(self) -> int | None:
        """How many tasks it could run at the same time now; None if any number."""
        ...

    def start(self, address: Address) -> None:
        """Start all tasks; they connect to the address."""
        ...

    def failure(self) -> BaseException | None:
        """Why it has ended by itself; None while it runs."""
        ...

    def expect_end(self) -> None:
        """Tasks are about to end by themselves: that is no failure."""
        ...

    def stop(self) -> None:
        """End all tasks."""
        ...

    @property
    def can_run_again(self) -> bool:
        """Whether another run can be started."""
        ...


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a program's options say about a run.

    Attributes:
        interval_s: from one epoch to the next; None to end epochs only when somebody asks.
        tick_s: how often sources are asked for more.
        host: the address to listen on.
        reached_as: how tasks call it.
        retained: how many epochs stay beside the newest.
        at_once: how many records a source task is asked for at a time.
        slots_s: how long slots for all tasks may take to come.
    """

    interval_s: float | None
    tick_s: float
    host: str
    reached_as: str
    retained: int
    at_once: int
    slots_s: float


# (0, number of the source, its task) or (level, 0, subtask)
_Seat = tuple[int, int, int]


@dataclass(slots=True)
class _Ending:
    """An epoch that is being ended."""

    number: int
    missing: set[_Seat]
    messages: list[TaskMessage] = field(default_factory=list)
    state: dict[TaskPlace, list[str]] = field(default_factory=dict)


class ContinuousRun:
    """One run of a plan; all methods may be called from any thread.

    Args:
        plan: what is run.
        sources: of the plan, in its order.
        directory: of the job.
        carrier: runs the tasks.
        settings: from the options.
        counts: how many tasks read each source.
        on_epoch: called for every epoch.
        on_delivery: called with records for sinks that do not wait for their epoch.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        sources: list[PythonSource],
        *,
        directory: str,
        carrier: Carrier,
        settings: RunSettings,
        counts: list[int],
        on_epoch: OnEpoch,
        on_delivery: OnDelivery,
    ) -> None:
        self._plan = plan
        self._carrier = carrier
        self._settings = settings
        self._on_epoch = on_epoch
        self._on_delivery = on_delivery
        self._epochs = Epochs(directory, settings.retained)
        self._sources = sources
        self._counts = counts
        self._board = Board() if aligns(plan) else None
        self._attempt = uuid.uuid4().hex[:12]
        # guards what follows, and tells waiters that it has changed
        self._changed = threading.Condition()
        self._lines: dict[_Seat, Line] = {}
        self._ending: _Ending | None = None
        self._asked = False  # for an end of the running epoch
        self._ended = -1  # the newest epoch that is done in this run
        self._end_input = False
        self._ends: int | None = None  # the epoch that is being ended or committed
        self._error: BaseException | None = None
        self._stopped = False
        self._over = False
        self._waits_for: str | None = None  # written by the thread of epochs
        self._began = time.monotonic()
        self._switchboard: Switchboard | None = None
        self._feeds: SourceFeeds | None = None
        self._next = 0
        self._restored: Epoch | None = None
        self._thread = threading.Thread(target=self._run, name="headrace-epochs", daemon=True)

        self._tell_progress: OnProgress = lambda epoch, task, report: None

    # --- life ------------------------------------------------------------------------------------

    def tell_progress(self, on_progress: OnProgress) -> None:
        """Tell how far tasks are, from now on."""
        self._tell_progress = on_progress

    def recover(self) -> None:
        """Commit what a driver has left: an epoch that counts, and whose sinks may not know it."""
        last = self._epochs.last()
        if last is None:
            return
        self._restored = self._epochs.read(last)
        self._next = last + 1
        if not self._epochs.is_done(last):
            found = self._epochs.results(last)
            self._on_epoch(last, lambda: found)
            self._epochs.finish(last)

    def start(self) -> None:
        """Open the sources and begin."""
        self._epochs.forget_unfinished()
        self._feeds = SourceFeeds(
            [self._feed(number) for number in range(len(self._sources))],
            tick_s=self._settings.tick_s,
            board=self._board,
            on_error=self._fail,
        )
        self._switchboard = Switchboard(self._settings.host, self._serve)
        self._thread.start()

    def _feed(self, number: int) -> SourceFeed:
        source: PythonSource = cloudpickle.loads(cloudpickle.dumps(self._sources[number]))
        source.open()
        uid = self._plan.sources[number].step.stable_id
        position = None if self._restored is None else self._restored.positions[number]
        gate = None if self._board is None else SplitGate(self._board, source, uid)
        return SourceFeed(
            uid,
            source,
            position,
            tasks=self._counts[number],
            gate=gate,
            at_once=self._settings.at_once,
        )

    @property
    def seats(self) -> list[_Seat]:
        """All tasks of the plan."""
        first = [(0, number, task) for number, n in enumerate(self._counts) for task in range(n)]
        later = [(s.level, 0, slot) for s in self._plan.stages for slot in range(self._plan.slots)]
        return [*first, *later]

    def wait(self) -> None:
        """Until it ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._over)
        if self._error is not None:
            raise self._error

    def wait_until_idle(self) -> None:
        """Until everything that the sources have now is processed, and at their end committed."""
        while True:
            with self._changed:
                if self._over or self._error is not None:
                    break
                feeds = self._feeds
            if feeds is not None and feeds.is_quiet and not self._end_input:
                if not feeds.exhausted():
                    return
                self.finish_epoch()
                if feeds.is_quiet:
                    break
            time.sleep(_POLL_S / 4)
        if self._error is not None:
            raise self._error

    def exhausted(self) -> bool:
        """Whether every source has given all its records."""
        return self._feeds is not None and self._feeds.exhausted()

    def end_input(self) -> None:
        """Let event time reach its end: behind a barrier, so that nothing is on its way."""
        with self._changed:
            self._end_input = True
            self._changed.notify_all()

    def wake_at(self, when_ms: int | None) -> None:
        """Tasks look at the clock themselves."""

    def finish_epoch(self) -> None:
        """End the running epoch now; returns when it is committed, or the run was stopped.

        While there are no slots for its tasks, there is no epoch to end.
        """
        with self._changed:
            # one that is being ended may have left records out: the one behind it has them all
            target = self._next if self._ends is None else self._ends + 1
            self._asked = True
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._is_over or self._ended >= target or self._waits_for is not None
            )
            if self._error is not None and self._ended < target:
                raise self._error

    @property
    def _is_over(self) -> bool:
        return self._over or self._stopped or self._error is not None

    def stop(self) -> None:
        """End now; what the running epoch did is thrown away."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def close(self) -> None:
        """Release everything."""
        self.stop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE_S)
        self._release()

    def _release(self) -> None:
        if self._feeds is not None:
            self._feeds.stop()
        self._carrier.expect_end()
        for seat, line in list(self._lines.items()):
            if seat[0] == 0:
                with contextlib.suppress(OSError):
                    line.send("stop")
        self._carrier.stop()
        for line in list(self._lines.values()):
            line.hang_up()
        if self._switchboard is not None:
            self._switchboard.close()
        if self._feeds is not None:
            self._feeds.close()

    @property
    def waits_for(self) -> str | None:
        """What has to be there before its tasks can start; None if nothing is missing."""
        return self._waits_for

    @property
    def in_epoch(self) -> bool:
        """Whether an epoch is being ended or committed."""
        return self._ends is not None

    @property
    def is_waiting(self) -> bool:
        """Whether the tasks run, and the sources have nothing to read."""
        return len(self._lines) == len(self.seats) and bool(self._feeds and self._feeds.is_quiet)

    @property
    def has_short_epochs(self) -> bool:
        """Epochs end when somebody says so."""
        return False

    @property
    def can_run_again(self) -> bool:
        """Whether the carrier is still there."""
        return self._carrier.can_run_again

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            if self._error is None and not self._stopped:
                self._error = error
            self._changed.notify_all()

    # --- lines -----------------------------------------------------------------------------------

    def _serve(self, line: Line) -> None:
        """One task, from its first word to its last; in a thread of its own."""
        seat: _Seat | None = None
        try:
            _, seat = line.receive()
            place = (seat[0], seat[2])
            restored = self._restored
            names = [] if restored is None else restored.state.get(place, [])
            line.send("start", self._next, self._attempt, names)
            while True:
                kind, *content = line.receive()
                if kind == "ready":  # its functions are open, its state is there
                    with self._changed:
                        self._lines[seat] = line
                        self._changed.notify_all()
                else:
                    getattr(self, f"_on_{kind}")(seat, *content)
        except (EOFError, OSError):
            if not self._is_over:
                self._fail(self._why_gone(seat))
        except BaseException as error:
            self._fail(error)

    def _why_gone(self, seat: _Seat | None) -> BaseException:
        """Spark may know more than that a line is dead."""
        deadline = time.monotonic() + _EXPLAIN_S
        while time.monotonic() < deadline and not self._is_over:
            failure = self._carrier.failure()
            if failure is not None:
                return failure
            time.sleep(_POLL_S)
        who = "a task" if seat is None else f"subtask {seat[2]} of stage {seat[0]}"
        return JobError(
            f"{who} ended without a word: its Python process was killed, or its machine is gone",
            fix="the job continues from its last checkpoint if it has a restart strategy; if it "
            "happens again, look for a lack of memory",
        )

    def _on_read(self, seat: _Seat) -> None:
        assert self._feeds is not None
        self._feeds.was_read(seat[1], seat[2])

    def _on_news(self, seat: _Seat, news: list[TaskMessage]) -> None:
        for message in news:
            if message[0] == "deliver":
                self._on_delivery(message[1], self._next, message[2])
            elif self._board is not None:
                self._board.note(_unshared(results_of([message]).aligned))

    def _on_progress(
        self, seat: _Seat, epoch: int, task: TaskReport, report: dict[str, JsonObject]
    ) -> None:
        self._tell_progress(epoch, task, report)

    def _on_error(self, seat: _Seat, content: bytes) -> None:
        error = results_of([("error", content)]).error
        assert error is not None
        self._fail(error)

    def _on_ended(
        self, seat: _Seat, number: int, messages: list[TaskMessage], names: list[str] | None
    ) -> None:
        with self._changed:
            ending = self._ending
            if ending is None or ending.number != number:
                return
            ending.missing.discard(seat)
            ending.messages += messages
            if names is not None:
                ending.state[seat[0], seat[2]] = names
            self._changed.notify_all()

    # --- epochs ----------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._start_tasks()
            while self._wait_for_next():
                self._one_epoch()
        except LineGone:
            self._fail(self._why_gone(None))
        except BaseException as error:
            self._fail(error)
        finally:
            with self._changed:
                self._over = True
                self._ends = self._waits_for = None
                self._changed.notify_all()

    def _start_tasks(self) -> None:
        assert self._switchboard is not None
        assert self._feeds is not None
        if not self._wait_for_slots():
            return
        self._carrier.start(self._switchboard.address(self._settings.reached_as))
        deadline = time.monotonic() + _START_S
        while not self._is_over and len(self._lines) < len(self.seats):
            with self._changed:
                self._changed.wait(_POLL_S)
            failure = self._carrier.failure()
            if failure is not None:
                raise failure
            if time.monotonic() > deadline:
                raise self._too_few()
        if self._is_over:
            return
        for number, feed in enumerate(self._feeds.feeds):
            feed.begin([self._lines[0, number, task] for task in range(self._counts[number])])
        self._began = time.monotonic()
        self._feeds.start()

    def _wait_for_slots(self) -> bool:
        """Executors may still be coming; False if the run was stopped meanwhile."""
        wait = SlotWait(SlotNeed.of(self._plan, self._counts), self._settings.slots_s)
        while not self._is_over:
            there = self._carrier.slots()
            missing = None if there is None else wait.look(there)
            with self._changed:
                self._waits_for = missing
                self._changed.notify_all()
                if missing is None:
                    return True
                self._changed.wait_for(lambda: self._is_over, _SLOT_POLL_S)
        return False

    def _too_few(self) -> JobError:
        return JobError(
            f"only {len(self._lines)} of {len(self.seats)} tasks have started within "
            f"{_START_S:.0f} s, and in continuous mode all of them run at the same time",
            fix="give Spark more slots, or lower the parallelism; is another job using them?",
        )

    def _wait_for_next(self) -> bool:
        """Until it is time to end the running epoch; False if the run is over."""
        interval_s = self._settings.interval_s
        while True:
            with self._changed:
                if self._is_over:
                    return False
                due = interval_s is not None and time.monotonic() - self._began >= interval_s
                if due or self._asked or self._end_input:
                    self._asked = False
                    return True
                rest = _PATIENCE_S
                if interval_s is not None:
                    rest = max(0.0, interval_s - (time.monotonic() - self._began))
                self._changed.wait(min(rest, 0.5))
            failure = self._carrier.failure()
            if failure is not None:
                raise failure

    def _one_epoch(self) -> None:
        self._began = time.monotonic()
        at_end, number = self._end_input, self._next
        with self._changed:
            self._ends = number
        self._end_and_commit(number)  # what it raises ends the run
        if at_end:
            self._end_and_commit(self._next, at_end=True)
        with self._changed:
            self._ends = None
            self._ended = self._next - 1
            self._end_input = self._end_input and not at_end
            self._changed.notify_all()

    def _end_and_commit(self, number: int, *, at_end: bool = False) -> None:
        positions: list[JsonValue] = []

        def work() -> EpochResults:
            found, positions[:] = self._end(number, at_end=at_end)
            return found

        self._on_epoch(number, work)
        self._epochs.finish(number)
        assert self._feeds is not None
        self._feeds.commit(positions)
        self._epochs.clear()

    def _end(self, number: int, *, at_end: bool) -> tuple[EpochResults, list[JsonValue]]:
        """Have all tasks end the epoch; when this returns without an error, it counts."""
        assert self._feeds is not None
        if self._end_input:
            self._feeds.end()  # a drained job reads nothing more
        positions = ordered(self._feeds.barrier(lambda: self._send_barrier(number, at_end=at_end)))
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_over or not (self._ending and self._ending.missing)
            )
            ending, self._ending = self._ending, None
            if self._is_over or ending is None:
                raise self._error or JobError(f"the run ended before epoch {number} did")
        found = results_of(ending.messages)
        found.reports.extend(self._feeds.reports())
        if found.error is None:
            self._epochs.write(Epoch(number, positions, ending.state), found)
            self._next = number + 1
        return found, positions

    def _send_barrier(self, number: int, *, at_end: bool) -> None:
        self._ending = _Ending(number, set(self.seats))
        for seat, line in self._lines.items():
            if seat[0] == 0:
                if at_end:
                    line.send("end")
                line.send("barrier")


def _unshared(aligned: dict[str, dict[str, AlignedSplit]]) -> dict[str, dict[str, AlignedSplit]]:
    """Alignment knows a source that several tasks read by one name."""
    return {
        group: {name.partition(SHARE)[0]: split for name, split in splits.items()}
        for group, splits in aligned.items()
    }
