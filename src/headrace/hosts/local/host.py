"""The local host: a plan in this process, an epoch a transaction of one SQLite file.

In: a JobSpec, then plans whose sources Python can read.  Out: runs and checkpoints.
Next: stages.py (the work of an epoch), database.py (what survives)
"""

from __future__ import annotations

import shutil
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from headrace.common.clock import hold_processing_time, processing_time, wall_clock
from headrace.errors import ConnectorError, JobError, UnsupportedStepError
from headrace.hosts.alignment import Board
from headrace.hosts.local.database import FOLDER, Database, EpochPlan
from headrace.hosts.local.positions import restored_positions, save_positions
from headrace.hosts.local.process import InThisProcess
from headrace.hosts.local.sources import ADAPTERS
from headrace.hosts.local.stages import LocalStages
from headrace.io.storage import local_path
from headrace.plan.alignment import aligns
from headrace.runtime.collector import seldom_looking
from headrace.runtime.savepoint.entries import export
from headrace.runtime.savepoint.files import write_rows
from headrace.runtime.task import VERSION_KEY
from headrace.spi.host import Carriage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headrace.common.opaque import JsonValue
    from headrace.hosts.alignment import SplitGate
    from headrace.hosts.local.sources import LocalSourceAdapter, Part
    from headrace.plan.physical import PhysicalPlan
    from headrace.spi.host import (
        Beginning,
        EpochResults,
        OnDelivery,
        OnEpoch,
        Place,
        SourcePosition,
    )
    from headrace.spi.source import Source

_POLL_S = 0.01
_SOURCES = "sources"  # the folder of a savepoint
# a function that hangs must not keep a cancelled job alive forever
_PATIENCE_S = 30.0
T = TypeVar("T")


class LocalHost(InThisProcess):
    """Runs plans in this process; what a job keeps is in one file of its directory."""

    carriage: ClassVar[Carriage] = Carriage(
        whole="One job in this process, an epoch at a time",
        engine="python",
        source="a source is read by this process",
        first="in this process",
        later="in this process, one call per subtask",
        later_in_batch="in this process, one call per subtask",
    )

    @property
    def folder(self) -> str:
        """Where its checkpoints are."""
        return FOLDER

    @property
    def epochs_overlap(self) -> bool:
        """One after the other."""
        return False

    def prepare(self, plan: PhysicalPlan, place: Place) -> None:
        """Refuse what only Spark can read."""
        for each in plan.sources:
            adapter = ADAPTERS.of(each.source, where=each.step.call_site)
            try:
                adapter.check(each.source)
            except UnsupportedStepError as refusal:
                refusal.where = str(each.step.call_site)
                raise
        self.check_directory(place)

    def open(
        self, plan: PhysicalPlan, place: Place, on_epoch: OnEpoch, on_delivery: OnDelivery
    ) -> LocalRun:
        """A new run over what the job's file holds."""
        limit = self._spec.option("source.max-records-per-batch")
        return LocalRun(
            plan,
            Database(_folder(place)),
            on_epoch,
            records_per_epoch=None if plan.batch else limit,
            interval_s=self._spec.interval_ms / 1000,
        )

    def checkpoints(self, plan: PhysicalPlan, place: Place) -> LocalCheckpoints:
        """What the job's file holds."""
        return LocalCheckpoints(plan, _folder(place))


def _folder(place: Place) -> str:
    return f"{local_path(place.directory)}/{FOLDER}"


class LocalRun:
    """A thread that makes one epoch after the other.

    Args:
        plan: what is run.
        database: of the job.
        on_epoch: called for every epoch.
        records_per_epoch: of each source; None to take everything in one epoch.
        interval_s: from the start of one epoch to the next.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        database: Database,
        on_epoch: OnEpoch,
        *,
        records_per_epoch: int | None,
        interval_s: float = 0.0,
    ) -> None:
        self._plan = plan
        self._database = database
        self._on_epoch = on_epoch
        self._limit = records_per_epoch
        self._interval_s = interval_s
        self._stages = LocalStages(plan, database.store, processing_time, self._heed_stop)
        self._adapters = [ADAPTERS.of(each.source) for each in plan.sources]
        self._sources: list[Source] = []  # opened copies
        self._positions: list[JsonValue] = []
        self._board = Board() if aligns(plan) else None
        self._gates: list[SplitGate | None] = []
        self._not_idle: list[str] = []  # splits, in the next epoch
        self._commands: list[str] = []
        self._wake_at: int | None = None
        self._error: BaseException | None = None
        # guards the commands, and tells waiters that something has changed
        self._changed = threading.Condition()
        self._idle = False
        self._stopped = False
        self._busy = False
        self._thread = threading.Thread(target=self._run, name="headrace-local", daemon=True)

    # --- life ------------------------------------------------------------------------------------

    def recover(self) -> None:
        """Nothing: an epoch that is not committed does not count."""

    def start(self) -> None:
        """Begin."""
        for adapter, each in zip(self._adapters, self._plan.sources, strict=True):
            opened = adapter.open(each.source)
            self._sources.append(opened)
            uid, board = each.step.stable_id, self._board
            self._gates.append(None if board is None else adapter.gate(opened, uid, board))
        stored = self._database.positions() or [None] * len(self._sources)
        self._positions = [
            adapter.begin(source) if position is None else position
            for adapter, source, position in zip(self._adapters, self._sources, stored, strict=True)
        ]
        self._thread.start()

    def wait(self) -> None:
        """Until it ends."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def wait_until_idle(self) -> None:
        """Until everything that the sources have now is processed."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or (self._idle and not self._commands))
        if self._error is not None:
            raise self._error

    def exhausted(self) -> bool:
        """Whether every source that may hold records back has given them all."""
        return all(
            source.is_exhausted(position)
            for source, position in zip(self._sources, self._positions, strict=True)
        )

    def end_input(self) -> None:
        """Let event time reach its end in the next epoch."""
        self._command("end")

    def finish_epoch(self) -> None:
        """Epochs are short: one ends by itself."""

    def wake_at(self, when_ms: int | None) -> None:
        """Have an epoch at this time."""
        self._wake_at = when_ms

    def _command(self, command: str) -> None:
        with self._changed:
            self._commands.append(command)
            self._idle = False
            self._changed.notify_all()

    def stop(self) -> None:
        """End: the epoch that is running does not count."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def close(self) -> None:
        """Release everything."""
        self.stop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE_S)
        if not self._thread.is_alive():
            self._release()

    def _release(self) -> None:
        self._stages.close()
        self._database.close()
        for adapter, source in zip(self._adapters, self._sources, strict=False):
            adapter.close(source)

    @property
    def _over(self) -> bool:
        return self._stopped or self._error is not None or not self._thread.is_alive()

    @property
    def in_epoch(self) -> bool:
        """Whether an epoch is being made, run or committed."""
        return self._busy

    @property
    def is_waiting(self) -> bool:
        """Whether the sources have nothing for an epoch."""
        return self._idle

    @property
    def waits_for(self) -> None:
        """Nothing: batches run one task after the other, if need be."""
        return None

    @property
    def has_short_epochs(self) -> bool:
        """They end by themselves."""
        return True

    @property
    def can_run_again(self) -> bool:
        """Always: this process is the host."""
        return True

    # --- epochs ----------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with seldom_looking():
                self._run_epochs()
        except BaseException as error:
            self._error = None if self._stopped else error
        finally:
            self._busy = False
            with self._changed:
                self._stopped = True
                self._changed.notify_all()

    def _run_epochs(self) -> None:
        while not self._stopped:
            began = time.monotonic()
            self._busy = True
            plan = self._database.planned() or self._new_plan()
            if plan is not None:
                self._run_epoch(plan)
            self._busy = False
            if plan is None:
                self._rest(_POLL_S, idle=True)
            elif self._limit is None:
                return  # BATCH mode: the one epoch is over
            else:
                self._rest(began + self._interval_s - time.monotonic(), idle=False)

    def _rest(self, seconds: float, *, idle: bool) -> None:
        with self._changed:
            if idle and not self._commands:
                self._idle = True
                self._changed.notify_all()
            if seconds > 0:
                self._changed.wait_for(lambda: self._stopped or bool(self._commands), seconds)

    def _new_plan(self) -> EpochPlan | None:
        """Where the next epoch ends; None if there is nothing to do."""
        ends = [
            adapter.planned_end(source, position, self._limit, gate)
            for (adapter, source, position), gate in zip(self._each(), self._gates, strict=True)
        ]
        with self._changed:
            commands = list(self._commands)
        now_ms = wall_clock()
        if self._wake_at is not None and now_ms >= self._wake_at:
            self._wake_at = None
            commands.append("tick")
        last = self._database.last_epoch()
        first = last is None and self._limit is None  # an empty BATCH job has its epoch, too
        if not (ends != self._positions or commands or first):
            return None
        self._idle = False
        epoch = 0 if last is None else last + 1
        plan = EpochPlan(epoch, self._positions, ends, commands, now_ms)
        self._database.plan(plan)
        return plan

    def _each(self) -> Iterator[tuple[LocalSourceAdapter[Any], Source, JsonValue]]:
        return zip(self._adapters, self._sources, self._positions, strict=True)

    def _run_epoch(self, plan: EpochPlan) -> None:
        self._database.begin()
        try:
            self._on_epoch(plan.epoch, lambda: self._work(plan))
        except BaseException:
            self._stages.forget()  # what they hold is ahead of what counts
            self._database.roll_back()
            raise
        self._database.commit(plan.epoch, plan.ends)
        self._positions = plan.ends
        with self._changed:
            for command in plan.commands:
                if command in self._commands:
                    self._commands.remove(command)
        for adapter, source, position in self._each():
            adapter.commit(source, position)

    def _heed_stop(self) -> None:
        if self._stopped:
            raise JobError("the job was cancelled in the middle of an epoch")

    def _work(self, plan: EpochPlan) -> EpochResults:
        # a repeated epoch begins where and when it began before, whatever the source calls its
        # beginning now
        hold_processing_time(plan.planned_ms)
        inputs: list[list[Iterable[Part]]] = [
            [adapter.read(source, start, end)]  # read as it is processed: an epoch may be all
            for adapter, source, start, end in zip(
                self._adapters, self._sources, plan.starts, plan.ends, strict=True
            )
        ]
        found = self._stages.run(plan.epoch, inputs, commands=plan.commands, active=self._not_idle)
        if found.error is None:
            if self._board is not None:
                self._board.note(found.aligned)
                self._not_idle = self._board.not_idle()
            steps = [each.step.stable_id for each in self._plan.sources]
            for adapter, source, uid, end in zip(
                self._adapters, self._sources, steps, plan.ends, strict=True
            ):
                found.reports.extend(adapter.reports(uid, source, end))
        return found


class LocalCheckpoints:
    """What a job's file holds: into a savepoint, and out of one.

    Args:
        plan: the program.
        folder: of the job.
    """

    def __init__(self, plan: PhysicalPlan, folder: str) -> None:
        self._plan = plan
        self._folder = folder

    def last_epoch(self) -> int | None:
        """The newest epoch that is committed."""
        return self._with_database(Database.last_epoch)

    def _with_database(self, action: Callable[[Database], T]) -> T:
        database = Database(self._folder)
        try:
            return action(database)
        finally:
            database.close()

    def save(
        self, epoch: int, location: str, max_parallelism: Mapping[str, int]
    ) -> list[SourcePosition]:
        """Write entries as Parquet; where the sources were."""
        return self._with_database(partial(self._save, epoch, location, max_parallelism))

    def _save(
        self, epoch: int, location: str, widths: Mapping[str, int], database: Database
    ) -> list[SourcePosition]:
        database.begin()  # a look at one moment: the job may go on meanwhile
        if database.last_epoch() != epoch:
            raise ConnectorError(
                f"epoch {epoch} is no longer the newest, and only the newest is kept"
            )
        for stage, subtask in database.tasks():
            entries = export(database.store(stage, subtask), widths)
            write_rows(location, f"stage-{stage}-{subtask}", entries)
        return save_positions(self._plan, database.positions(), location)

    def begin_with(self, beginning: Beginning) -> None:
        """Fill the file with a savepoint's state and places."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._with_database(partial(self._begin_with, beginning))

    def _begin_with(self, beginning: Beginning, database: Database) -> None:
        database.begin()
        for number, stage in enumerate(self._plan.stages):
            for subtask in range(self._plan.slots):
                store = database.store(stage.level, subtask)
                beginning.load(number, subtask, store)
                # without a version a task would believe that there is nothing to read
                store.put(VERSION_KEY, b"restored")
        database.commit(0, restored_positions(self._plan, beginning))
