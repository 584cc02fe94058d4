"""Looks after the jobs of a cluster while this dispatcher leads it.

    take_over ─▶ look, look, look ...     for each job: what has become of its driver?
                   ├ slots are free: start the first that waits
                   ├ a driver has died: rest, then start another one from the last checkpoint
                   └ a job has ended: keep its record, forget the oldest

In: the job store, driver processes, the registry.  Out: the same, changed.  All calls come with the
dispatcher's lock held.  Everything that is written carries the epoch of this leader, so a later one
counts for more, whenever this one writes (dispatcher/job_store.py).  Next: supervision.py
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.common.configuration import Configuration
from headrace.common.options import OPTIONS
from headrace.common.restart_strategy import strategy_from_options
from headrace.control.orders import Orders
from headrace.control.registry import ENDED, JobRecord
from headrace.control.restart import Backoff, make_backoff
from headrace.dispatcher.job_store import LOG_FILE, PROGRAM_FOLDER, JobStore, Launch, Submission
from headrace.dispatcher.supervision import Seen, Verdict, judge
from headrace.errors import HeadraceError
from headrace.io.processes import this_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.control.registry import JobRegistry
    from headrace.dispatcher.drivers import Drivers
    from headrace.dispatcher.leadership import Election
    from headrace.dispatcher.settings import ClusterSettings

log = logging.getLogger(__name__)

# settings of the cluster that are no business of its jobs
_NOT_FOR_JOBS = (
    "rest.", "web.", "security.ssl.rest.", "high-availability.", "headrace.cluster.",
    "headrace.rest.", "jobstore.", "heartbeat.",
)  # fmt: skip
# it begins like them, but drivers keep this history, and the cluster's page only shows it
_YET_FOR_JOBS = ("web.checkpoints.history",)
# the record of a job without a driver is written again after this long, as drivers do
_SIGN_OF_LIFE_S = 10.0
# a dispatcher that has not looked for this long was suspended itself: its patience starts again
_GAP_S = 5.0


@dataclass(slots=True)
class Charge:
    """One job that is looked after."""

    submission: Submission
    launch: Launch
    # rebuilt by every leader
    backoff: Backoff | None = None
    seen_update: int = -1  # what the driver's record said last, and since when by our clock
    seen_at: float = 0.0
    told_at: float = 0.0
    record_id: str = ""  # the job's own id, where its checkpoint directory had one
    reserved: int = 0  # slots for what continues it; of a job that is being rescaled

    @property
    def job_id(self) -> str:
        """Of the submission."""
        return self.submission.job_id

    @property
    def slots(self) -> int:
        """What others cannot have."""
        return max(self.launch.slots, self.reserved)


class Caretaker:
    """The jobs of a cluster, while this dispatcher leads.

    Args:
        settings: of the cluster.
        store: the jobs on disk.
        registry: where everybody looks for them.
        drivers: the processes.
        election: says whether this dispatcher still leads.
    """

    def __init__(
        self,
        settings: ClusterSettings,
        store: JobStore,
        registry: JobRegistry,
        drivers: Drivers,
        election: Election,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._store = store
        self._registry = registry
        self._drivers = drivers
        self._election = election
        self._clock = clock
        self.epoch = 0
        self.charges: dict[str, Charge] = {}  # by the id of the submission
        self._ended: list[str] = []  # the oldest first
        self._looked_at = clock()

    # --- leading -----------------------------------------------------------------------------

    def take_over(self, epoch: int) -> None:
        """Begin to lead: adopt the drivers that live, start those again that do not."""
        self.epoch, self.charges, self._ended = epoch, {}, []
        self._looked_at = self._clock()
        for submission, launch in self._store.all():
            if launch is not None and launch.phase == "ended":
                self._ended.append(submission.job_id)
            else:
                self._take(submission, launch)
        for job_id, pointer in self._election.noted_jobs().items():
            if job_id not in self.charges and job_id not in self._ended:
                log.error("the election knows job %s, but %s is gone", job_id, pointer)
        log.warning("epoch %d: %d jobs taken over", epoch, len(self.charges))

    def _take(self, submission: Submission, launch: Launch | None) -> None:
        charge = Charge(submission, launch or Launch("waiting", self.epoch))
        self.charges[submission.job_id] = charge
        self._update(charge, slots=self._slots_of(charge))  # in this epoch: older leaders are out
        successor = self._store.successor(submission.job_id)
        charge.reserved = 0 if successor is None else self.slots_wanted(successor)
        if charge.launch.phase not in ("starting", "running"):
            return
        driver = charge.launch.driver or self._drivers.find(charge.launch.token)
        if driver is None or self._drivers.is_alive(driver) is False:
            # as in Flink, what a change of leaders costs is not counted as a failure of the job
            log.warning("job %s has lost its driver: it is started again", submission.job_id)
            verdict = judge(charge.launch, self._seen(charge), timeout_s=float("inf"))
            if verdict.change == "ended":
                self._end(charge, verdict)
            else:
                self._rest(charge, 0, "the driver ended with its dispatcher")
        elif charge.launch.driver is None:
            self._update(charge, host=driver.host, pid=driver.pid, born=driver.born)

    def add(self, submission: Submission) -> None:
        """Take a new job: it waits, at least until the next look."""
        self._store.add(submission)
        charge = Charge(submission, Launch("waiting", self.epoch, since_ms=wall_clock()))
        self._update(charge, slots=self._slots_of(charge))
        self.charges[submission.job_id] = charge
        self._tell(charge, "CREATED")
        self.start_waiting()

    def look(self) -> None:
        """See to all jobs once."""
        now = self._clock()
        suspended, self._looked_at = now - self._looked_at > _GAP_S, now
        for charge in list(self.charges.values()):
            if suspended:
                charge.seen_at = now
            if not self._election.leads():
                return
            try:
                self._see_to(charge)
            except (OSError, HeadraceError):  # told, and tried again at the next look
                log.exception("job %s cannot be looked after", charge.job_id)
        self.start_waiting()
        self._forget_old()

    def _see_to(self, charge: Charge) -> None:
        launch = charge.launch
        if launch.phase in ("starting", "running"):
            self._act_on(charge, judge(
                launch, self._seen(charge), timeout_s=self._settings.driver_timeout_s
            ))  # fmt: skip
        elif launch.phase == "resting" and wall_clock() >= launch.restart_at_ms:
            self._start(charge)
        if charge.launch.phase in ("waiting", "starting", "resting"):
            self._show_life(charge)

    def _act_on(self, charge: Charge, verdict: Verdict) -> None:
        if verdict.change == "running":
            record = self._record(charge)
            slots = charge.launch.slots if record is None else record.parallelism
            self._update(charge, phase="running", since_ms=wall_clock(), slots=slots)
        elif verdict.change == "ended":
            self._end(charge, verdict)
        elif verdict.change in ("died", "hung"):
            self._drivers.kill(
                charge.launch.token, charge.launch.driver
            )  # also what Spark has left of it
            self._restart(charge, verdict.reason)

    # --- queue -------------------------------------------------------------------------------

    def queue(self) -> list[Charge]:
        """The jobs that wait for slots, the first to start first.

        What continues a rescaled job comes before all others: its slots were reserved.
        """
        waiting = [c for c in self.charges.values() if c.launch.phase == "waiting"]
        return sorted(waiting, key=_place_in_queue)

    def slots_taken(self) -> int:
        """By jobs that run, start, or are about to start again, and by what continues them."""
        return sum(c.slots for c in self.charges.values() if c.launch.phase != "waiting")

    def start_waiting(self) -> None:
        """Start jobs while there are slots; none overtakes a larger one that waits."""
        for charge in self.queue():
            fits = self.slots_taken() + charge.launch.slots <= self._settings.slots
            if self._settings.slots and not fits:
                return
            self._start(charge)

    def _slots_of(self, charge: Charge) -> int:
        if charge.launch.phase == "running":
            return charge.launch.slots
        return self.slots_wanted(charge.submission)

    def slots_wanted(self, submission: Submission) -> int:
        """How many a job takes, as far as is known before its program runs."""
        settings = self._settings.configuration.to_dict() | submission.settings
        wanted = submission.parallelism or int(settings.get("parallelism.default") or 0)
        # the default of the environment: datastream/stream_execution_environment.py
        return wanted or min(os.cpu_count() or 1, 8)

    # --- drivers -----------------------------------------------------------------------------

    def settings_of(self, charge: Charge) -> dict[str, str]:
        """What a job's driver is configured with: the cluster's, and above them its own."""
        of_cluster = {
            key: value
            for key, value in self._settings.configuration.to_dict().items()
            if key in _YET_FOR_JOBS or not key.startswith(_NOT_FOR_JOBS)
        }
        folder = self._settings.folder
        parent = of_cluster.pop("execution.checkpointing.dir", None) or str(folder / "checkpoints")
        archives = map(str, self._store.job_folder(charge.job_id).glob("*.zip"))
        shipped = ",".join(archives)  # to workers on other machines
        return {
            **({"python.files": shipped} if shipped else {}),
            "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
            **of_cluster,
            "execution.checkpointing.dir": f"{parent.rstrip('/')}/{charge.job_id}",
            **charge.submission.settings,
            "headrace.jobs.dir": str(self._registry.folder),
            "execution.attached": "true",
        }

    def _start(self, charge: Charge) -> None:
        submission, folder = charge.submission, self._store.job_folder(charge.job_id)
        me, number = this_process(), charge.launch.number + 1
        # First the file, then the process: the driver looks there whether it may run.
        self._update(
            charge, phase="starting", token=uuid.uuid4().hex, number=number,
            host=me.host, pid=0, born="", since_ms=wall_clock(), state="", error=None,
        )  # fmt: skip
        self._tell(charge, "INITIALIZING" if number == 1 else "RESTARTING")
        program = submission.program
        if submission.upload and ":" not in program:
            program = str(folder / PROGRAM_FOLDER / program)
        orders = Orders(
            job_id=charge.job_id,
            folder=str(folder),
            token=charge.launch.token,
            parallelism=submission.parallelism,
            replaces=submission.replaces,
        )
        content = {
            "program": program,
            "arguments": list(submission.arguments),
            "settings": self.settings_of(charge),
            "token": charge.launch.token,
        }
        driver = self._drivers.start(folder, content, orders)
        charge.seen_update, charge.seen_at = -1, self._clock()
        self._update(charge, host=driver.host, pid=driver.pid, born=driver.born)
        log.info("job %s: driver %s started (number %d)", charge.job_id, driver.pid, number)

    def _seen(self, charge: Charge) -> Seen:
        launch = charge.launch
        record = self._record(charge)
        driver = launch.driver
        now = self._clock()
        if record is not None and record.updated != charge.seen_update:
            charge.seen_update, charge.seen_at = record.updated, now
        return Seen(
            record,
            False if driver is None else self._drivers.is_alive(driver),
            self._drivers.exit_code(self._store.job_folder(charge.job_id), launch.token),
            now - charge.seen_at if record is not None else 0.0,
        )

    def _record(self, charge: Charge) -> JobRecord | None:
        """What the driver of the present launch has written."""
        token = charge.launch.token
        found = self._registry.get(charge.record_id or charge.job_id)
        if found is not None and found.launch == token:
            return found
        # the checkpoint directory belongs to an earlier job, whose id goes on with it
        for record in self._registry.all() if charge.launch.phase == "starting" else ():
            if record.launch == token and record.kind == "job":
                charge.record_id = record.job_id
                self._registry.forget(charge.job_id)
                return record
        return None

    # --- ends and new beginnings -------------------------------------------------------------

    def _restart(self, charge: Charge, reason: str) -> None:
        """The driver has died: rest as long as the job's strategy says, or give up."""
        if charge.backoff is None:
            charge.backoff = make_backoff(
                strategy_from_options(self._restart_options(charge), checkpointing=True)
            )
        delay_ms = charge.backoff.after_failure(wall_clock())
        then = "it gives up" if delay_ms is None else f"it starts again in {delay_ms} ms"
        log.warning("job %s: %s; %s", charge.job_id, reason, then)
        if delay_ms is None:
            self._end(charge, Verdict("ended", "FAILED", reason), failure=reason)
        else:
            self._rest(charge, delay_ms, reason)

    def _restart_options(self, charge: Charge) -> Configuration:
        record = self._registry.get(charge.record_id or charge.job_id)
        own = {} if record is None else record.restart_options
        settings = own or self.settings_of(charge)
        return Configuration.from_dict({k: v for k, v in settings.items() if k in OPTIONS})

    def _rest(self, charge: Charge, delay_ms: int, reason: str) -> None:
        now_ms = wall_clock()
        # A token that no driver has: the last one may not be dead, but it may not commit either.
        self._update(charge, phase="resting", token=uuid.uuid4().hex, pid=0, born="",
                     since_ms=now_ms, restart_at_ms=now_ms + delay_ms)  # fmt: skip
        self._tell(charge, "RESTARTING", failure=reason, delay_ms=delay_ms)

    def _end(self, charge: Charge, verdict: Verdict, failure: str | None = None) -> None:
        folder = self._store.job_folder(charge.job_id)
        record = self._record(charge)
        error = verdict.reason or None
        if record is None and verdict.state == "FAILED":
            error = self._drivers.log_tail(folder) or error
        if record is None or record.state != verdict.state or failure is not None:
            self._tell(charge, verdict.state, failure=failure, error=error, ended=True,
                       exit_code=verdict.exit_code)  # fmt: skip
        self._update(charge, phase="ended", since_ms=wall_clock(), state=verdict.state, error=error)
        del self.charges[charge.job_id]
        self._ended.append(charge.job_id)
        log.info("job %s: %s", charge.job_id, verdict.state)
        self._continue(charge, record)

    def _continue(self, charge: Charge, record: JobRecord | None) -> None:
        """Start what continues a job that was stopped for it."""
        successor = self._store.successor(charge.job_id)
        if successor is None:
            return
        self._store.set_successor(charge.job_id, None)
        if record is None or record.state != "FINISHED" or record.savepoint is None:
            log.error("job %s ended without a savepoint, so it is not continued", charge.job_id)
            self._store.forget(successor.job_id)
            return
        settings = successor.settings | {"execution.state-recovery.path": record.savepoint}
        if record.checkpoint is not None:
            settings["execution.checkpointing.dir"] = record.checkpoint
        self.add(replace(successor, settings=settings, submitted_ms=wall_clock()))

    def give_up(self, charge: Charge, state: str = "CANCELED", error: str | None = None) -> None:
        """End a job that has no running driver, or whose driver has not begun its job."""
        self._drivers.kill(charge.launch.token, charge.launch.driver)
        self._update(charge, token=uuid.uuid4().hex, pid=0)
        self._end(charge, Verdict("ended", state, error or ""))

    def _forget_old(self) -> None:
        """Keep the newest ended jobs only, with their programs and logs."""
        while len(self._ended) > self._settings.kept_jobs:
            job_id = self._ended.pop(0)
            launch = self._store.launch(job_id)
            self._store.forget(job_id)
            self._registry.forget(job_id)
            if launch is not None and launch.state in ("FINISHED", "CANCELED"):
                # of a failed job the checkpoint stays: somebody may want to go on from it
                place = self._settings.folder / "checkpoints" / job_id
                shutil.rmtree(place, ignore_errors=True)

    # --- what others see ---------------------------------------------------------------------

    def _update(self, charge: Charge, **changes: object) -> None:
        charge.launch = replace(charge.launch, epoch=self.epoch, **changes)  # type: ignore[arg-type]
        self._store.write(charge.job_id, charge.launch)
        ended = charge.launch.phase == "ended"
        pointer = {
            "folder": str(self._store.job_folder(charge.job_id)),
            "checkpoint": self.settings_of(charge)["execution.checkpointing.dir"],
            "epoch": self.epoch,
        }
        if "phase" in changes:
            self._election.note_job(charge.job_id, None if ended else pointer)

    def _show_life(self, charge: Charge) -> None:
        """Write the record of a job without a driver again, so that nobody takes it for lost."""
        if self._clock() - charge.told_at < _SIGN_OF_LIFE_S or self._record(charge) is not None:
            return
        states = {"waiting": "CREATED", "starting": "INITIALIZING", "resting": "RESTARTING"}
        again = charge.launch.number > 1
        state = "RESTARTING" if again else states[charge.launch.phase]
        self._tell(charge, state)

    def _tell(
        self,
        charge: Charge,
        state: str,
        *,
        failure: str | None = None,
        delay_ms: int | None = None,
        error: str | None = None,
        ended: bool = False,
        exit_code: int | None = None,
    ) -> None:
        """Write the record of a job that has no driver to do it."""
        me, now_ms = this_process(), wall_clock()
        job_id = charge.record_id or charge.job_id
        record = self._registry.get(job_id) or _first_record(charge, self._store)
        record.state, record.updated, record.error = state, now_ms, error
        record.ended = now_ms if ended else None
        record.host, record.pid, record.born, record.launch = me.host, me.pid, me.born, None
        record.has_driver, record.stopping, record.exit_code = False, False, exit_code
        if failure is not None:
            record.failures.append(
                {"when": now_ms, "type": "DriverLost", "message": failure, "where": None,
                 "batches": record.batches, "delay_ms": delay_ms}
            )  # fmt: skip
            record.restarts += delay_ms is not None
        self._registry.write(record)
        charge.told_at = self._clock()


def _place_in_queue(charge: Charge) -> tuple[bool, int, str]:
    submission = charge.submission
    return not submission.replaces, submission.submitted_ms, submission.job_id


def _first_record(charge: Charge, store: JobStore) -> JobRecord:
    submission = charge.submission
    settings = submission.settings
    started = submission.submitted_ms or wall_clock()
    log_file = store.job_folder(charge.job_id) / LOG_FILE
    return JobRecord(
        job_id=charge.job_id,
        name=settings.get("pipeline.name") or submission.name or Path(submission.program).name,
        state="CREATED",
        host="", pid=0, born="",
        started=started, updated=started,
        program=submission.program,
        parallelism=charge.launch.slots,
        log=str(log_file),
    )  # fmt: skip


def is_over(record: JobRecord) -> bool:
    """Whether a job has ended for good; one that is LOST may be started again."""
    return record.state in ENDED and record.state != "LOST"
