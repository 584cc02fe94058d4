"""Takes programs, starts a driver for each, looks after the jobs until they have ended.

In: submissions and requests, from any thread.  Out: JobRecords in the registry, which everybody
reads (control/views/).  Next: dispatcher/caretaker.py (what happens to jobs), leadership.py (who)
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.common.configuration import Configuration, effective_configuration
from headrace.control.job_dir import new_job_id
from headrace.control.registry import JobRegistry
from headrace.control.requests import ask
from headrace.control.views.reader import JobViews
from headrace.dispatcher.caretaker import Caretaker, Charge
from headrace.dispatcher.drivers import Drivers
from headrace.dispatcher.file_election import FileElection
from headrace.dispatcher.job_store import (
    PROGRAM_FOLDER,
    SUBMITTED_FOLDER,
    JobStore,
    Submission,
)
from headrace.dispatcher.leadership import Alone
from headrace.dispatcher.operations import Operation, Operations
from headrace.dispatcher.program_store import ZIP_ENTRY, ProgramStore, unpack
from headrace.dispatcher.reactive import ReactiveMode
from headrace.dispatcher.zookeeper import ZooKeeperElection
from headrace.errors import (
    ConfigurationError,
    HeadraceError,
    InvalidArgumentError,
    JobError,
    JobNotFoundError,
    NotLeaderError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.common.opaque import JsonObject
    from headrace.control.registry import JobRecord
    from headrace.dispatcher.leadership import Election, Leader
    from headrace.dispatcher.operations import Kind
    from headrace.dispatcher.settings import ClusterSettings

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.25
# savepoints take as long as their state is large: whoever asks may stop waiting, the job does not
_PATIENCE_S = 24 * 3600.0
_STOP_S = 120.0
# what an operation does, in a sentence that says why it cannot
_ASKED: dict[Kind, str] = {
    "savepoint": "take a savepoint of",
    "checkpoint": "make a checkpoint of",
    "stop": "stop",
}


class Dispatcher:
    """One dispatcher: the leader of its cluster, or a standby.

    Args:
        settings: how it is configured.
        address: the URL under which clients reach this dispatcher, for redirects.

    Attributes:
        settings: how it was configured.
        registry: where the records of all its jobs are, waiting and ended ones included:
            ``JobViews(dispatcher.registry)`` shows them.
        programs: what was uploaded.
    """

    def __init__(
        self,
        settings: ClusterSettings,
        *,
        address: str = "",
        drivers: Drivers | None = None,
        election: Election | None = None,
    ) -> None:
        self.settings = settings
        self.address = address
        self.started_ms = wall_clock()
        self.registry = (
            JobRegistry.of(settings.configuration)
            if settings.availability == "none"
            else JobRegistry(settings.folder / "jobs")
        )
        self.programs = ProgramStore(settings.folder / "programs")
        self._store = JobStore(settings.folder / SUBMITTED_FOLDER)
        self._election = election or _election(settings, address)
        self._care = Caretaker(
            settings, self._store, self.registry, drivers or Drivers(), self._election
        )
        self._operations = Operations()
        self._reactive = ReactiveMode(JobViews(self.registry), self.rescale)
        self._lock = threading.RLock()
        self._gained: int | None = None  # an epoch that the watch has not begun yet
        self._leading = False
        self._wake = threading.Event()
        self._over = False
        self._watch: threading.Thread | None = None

    # --- life --------------------------------------------------------------------------------

    def start(self) -> None:
        """Take part in the election; as the leader, look after the jobs. Returns at once.

        Raises:
            JobError: another dispatcher has the cluster's folder, and there is no election.
            ConfigurationError: the folder cannot be used.
        """
        self._make_folder()
        self._watch = threading.Thread(target=self._run, name="headrace-dispatcher", daemon=True)
        self._election.start(self._gain, self._lose)
        self._watch.start()

    def _make_folder(self) -> None:
        folder = self.settings.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)  # settings of jobs may hold secrets
        except OSError as error:
            raise ConfigurationError(
                f"the cluster's directory cannot be used: {error.strerror}",
                where=str(folder),
                fix="headrace.cluster.dir, or high-availability.storageDir, must be a directory "
                "that this user owns or may create",
            ) from None

    def close(self, *, stop_jobs: bool = False) -> None:
        """End. Jobs go on running, unless they are to be stopped; their checkpoints stay."""
        if stop_jobs and self.is_leader:
            self._stop_all()
        self._over = True
        self._wake.set()
        if self._watch is not None:
            self._watch.join()
        with self._lock:
            self._leading = False
        self._election.close()

    @property
    def is_leader(self) -> bool:
        """Whether this dispatcher may act."""
        return self._leading and self._election.leads()

    @property
    def leader(self) -> Leader | None:
        """Who leads: its address and epoch; None while nobody does."""
        return self._election.leader()

    def _gain(self, epoch: int) -> None:
        self._gained = epoch
        self._wake.set()

    def _lose(self) -> None:
        self._gained = None
        self._leading = False

    def _run(self) -> None:
        while not self._over:
            try:
                self._look()
                if self.is_leader:
                    self._reactive.look()
            except Exception:  # a defect of ours must not end the care for jobs
                log.exception("the dispatcher stumbled, and goes on")
            self._wake.wait(_LOOK_EVERY_S)
            self._wake.clear()

    def _look(self) -> None:
        with self._lock:
            epoch = self._gained
            if epoch is not None and self._election.leads():
                self._gained = None
                self._care.take_over(epoch)
                self._leading = True
            if self.is_leader:
                self._care.look()

    def _stop_all(self) -> None:
        """Stop what runs after its batch, cancel what does not run."""
        deadline = time.monotonic() + _STOP_S
        with self._lock:
            jobs = [charge.job_id for charge in self._care.charges.values()]
        for job_id in jobs:
            try:
                own_id = self._running_job(job_id, "stop").job_id
                ask(self.registry, own_id, "stop", {"drain": False})
            except HeadraceError as refused:
                log.warning("job %s is cancelled: %s", job_id, refused.message)
                with contextlib.suppress(HeadraceError):
                    self.cancel(job_id)
        while time.monotonic() < deadline:
            with self._lock:
                if not self._care.charges:
                    return
            time.sleep(0.1)
        log.warning("%d jobs have not ended yet, and go on", len(self._care.charges))

    # --- jobs --------------------------------------------------------------------------------

    def submit(self, submission: Submission) -> str:
        """Take a program; the job's id.

        Raises:
            NotLeaderError: this dispatcher does not lead.
            InvalidArgumentError: there is no such upload, or no such entry in it.
            ConfigurationError: a setting is unknown, or its value is not allowed.
            JobNameInUseError: the name is to be unique, and is not.
            JobError: it needs more slots than the cluster has.
        """
        self._check_settings(submission)
        with self._leadership():
            submission = replace(
                submission,
                job_id=submission.job_id or new_job_id(),
                submitted_ms=wall_clock(),
            )
            if submission.settings.get("headrace.jobs.unique-names") == "true":
                self._check_name(submission)
            self._check_slots(submission)
            self._care.add(self._unpacked(submission))
        return submission.job_id

    def _check_settings(self, submission: Submission) -> None:
        try:
            effective_configuration(
                Configuration.from_dict(dict(submission.settings)), environment={}
            )
        except ConfigurationError as error:
            error.where = "the settings of the job"
            raise

    def _check_name(self, submission: Submission) -> None:
        name = submission.settings.get("pipeline.name") or submission.name
        self.registry.check_name_is_free(name, submission.replaces)

    def _check_slots(self, submission: Submission) -> None:
        wanted = self._care.slots_wanted(submission)
        if self.settings.slots and wanted > self.settings.slots:
            raise JobError(
                f"the job needs {wanted} slots, and the cluster has {self.settings.slots}",
                where="headrace.cluster.slots",
                fix="run it with a lower parallelism (-p), or give the cluster more slots",
            )

    def _check_room(self, charge: Charge | None, parallelism: int) -> None:
        """Whether a job can be rescaled now: else it would stop, and its successor would wait."""
        own = 0 if charge is None else charge.slots
        free = self.settings.slots - self._care.slots_taken()  # below 0 if programs ask for more
        if self.settings.slots and parallelism > free + own:
            raise JobError(
                f"with parallelism {parallelism} the job needs {parallelism} slots, and it can "
                f"have {max(0, free + own)}",
                where="headrace.cluster.slots",
                fix=f"free slots: {max(0, free)}, the job's own: {own}; rescale it to less, or "
                "wait until other jobs have ended",
            )

    def _unpacked(self, submission: Submission) -> Submission:
        """The submission with a copy of its program, and the entry that its driver runs."""
        if not submission.upload:
            if ":" not in submission.program:
                raise InvalidArgumentError(
                    f"{submission.program!r} is no module:function, and nothing was uploaded",
                    where="program",
                    fix="upload the script, or name a function that the dispatcher can import",
                )
            return submission
        program = self.programs.get(submission.upload)
        folder = self._store.job_folder(submission.job_id) / PROGRAM_FOLDER
        unpack(self.programs.path(program.id), program.name, folder)
        entry = submission.program
        if not program.name.endswith(".zip"):
            entry = program.name
        else:
            copy = folder.parent / program.name  # what workers on other machines get
            copy.write_bytes(self.programs.path(program.id).read_bytes())
            entry = entry if entry not in ("", program.name) else ZIP_ENTRY
        if ":" not in entry and not (folder / entry).is_file():
            self._store.forget(submission.job_id)
            raise InvalidArgumentError(
                f"{program.name} has no {entry}",
                where=program.name,
                fix="name a script of it or module:function, or put a __main__.py into it",
            )
        return replace(
            submission,
            program=entry,
            name=submission.name or program.name.rpartition(".")[0],
        )

    def jobs(self) -> list[JobRecord]:
        """All jobs, the newest first. Waiting ones are CREATED, starting ones INITIALIZING."""
        return [record for record in self.registry.all() if record.kind == "job"]

    def job(self, text: str) -> JobRecord:
        """One job by its id, the beginning of its id, or its name."""
        return self.find(text, newest=True)

    def find(self, text: str, *, newest: bool = False) -> JobRecord:
        """As `job`; several running jobs of a name are refused unless the newest will do."""
        try:
            return self.registry.find(self._own_id(text), newest=newest)
        except JobNotFoundError as error:
            error.where = None  # a folder of this machine, which whoever asks may not see
            raise

    def queue(self) -> list[str]:
        """The ids of the jobs that wait for slots, the first to start first."""
        with self._lock:
            return [charge.job_id for charge in self._care.queue()]

    def queue_position(self, job_id: str) -> int | None:
        """How many jobs come before a waiting one, plus one; None for a job that does not wait."""
        waiting = self.queue()
        return waiting.index(job_id) + 1 if job_id in waiting else None

    def slots(self) -> tuple[int, int]:
        """How many slots there are (0: no limit), and how many are taken."""
        with self._lock:
            return self.settings.slots, self._care.slots_taken()

    def cancel(self, job_id: str) -> None:
        """End a job now; returns when the job knows."""
        with self._leadership():
            charge = self._charge(job_id)
            if charge is not None and charge.launch.phase != "running":
                self._care.look()  # its driver may have begun its job since the last look
            if charge is not None and charge.launch.phase in ("waiting", "starting", "resting"):
                self._care.give_up(charge)
                return
        ask(self.registry, self.job(job_id).job_id, "cancel")

    def stop(
        self,
        job_id: str,
        *,
        drain: bool = False,
        savepoint: bool = True,
        folder: str | None = None,
        operation_id: str | None = None,
    ) -> Operation:
        """End a job after its running batch; the result is {"savepoint": location or None}."""
        return self._begin(
            job_id,
            "stop",
            lambda own_id: self._stop(own_id, drain=drain, savepoint=savepoint, folder=folder),
            operation_id,
        )

    def _begin(
        self,
        job_id: str,
        kind: Kind,
        work: Callable[[str], JsonObject],
        operation_id: str | None,
    ) -> Operation:
        """Begin something with a running job; for another job, as in Flink, it is what failed.

        Args:
            job_id: whose.
            kind: what.
            work: does it, with the id under which the job runs.
            operation_id: of the client's choice.

        Raises:
            NotLeaderError: this dispatcher does not lead.
        """
        try:
            own_id = self._running_job(job_id, _ASKED[kind]).job_id
        except NotLeaderError:
            raise
        except JobError as refused:
            return self._operations.refuse(job_id, kind, refused, operation_id)
        return self._operations.begin(own_id, kind, lambda: work(own_id), operation_id)

    def _stop(self, job_id: str, *, drain: bool, savepoint: bool, folder: str | None) -> JsonObject:
        arguments: JsonObject = {"drain": drain}
        if savepoint:
            arguments["savepoint"] = folder
        ask(self.registry, job_id, "stop", arguments, timeout_s=_PATIENCE_S)
        record = self.registry.get(job_id)
        while record is not None and record.is_running:
            time.sleep(0.1)
            record = self.registry.get(job_id)
        if record is None:
            raise JobError(f"job {job_id[:8]} is no longer known")
        if savepoint and record.savepoint is None:
            raise JobError(
                record.savepoint_error
                or f"job {record.name!r} is {record.state}; it ended before its savepoint was taken"
            )
        return {"savepoint": record.savepoint, "state": record.state}

    def savepoint(
        self,
        job_id: str,
        folder: str | None = None,
        *,
        cancel_job: bool = False,
        operation_id: str | None = None,
    ) -> Operation:
        """Take a savepoint; the result is {"savepoint": location}."""

        def work(own_id: str) -> JsonObject:
            found = ask(
                self.registry, own_id, "savepoint", {"folder": folder}, timeout_s=_PATIENCE_S
            )
            if cancel_job:
                ask(self.registry, own_id, "cancel")
            return found

        return self._begin(job_id, "savepoint", work, operation_id)

    def checkpoint(self, job_id: str, *, operation_id: str | None = None) -> Operation:
        """Have a checkpoint of now; the result is {"checkpoint": its number}."""
        return self._begin(
            job_id,
            "checkpoint",
            lambda own_id: ask(self.registry, own_id, "checkpoint", timeout_s=_PATIENCE_S),
            operation_id,
        )

    def rescale(
        self, job_id: str, parallelism: int, *, operation_id: str | None = None
    ) -> Operation:
        """Stop with a savepoint, and start the same program from it with another parallelism.

        The result is {"savepoint": location, "job_id": id}: the job that continues has an id of its
        own, as every job that starts from a savepoint.
        """
        if parallelism < 1:
            raise InvalidArgumentError(
                f"a parallelism of {parallelism} is not possible",
                where="parallelism",
                fix="1 or more",
            )
        record = self._running_job(job_id, "rescale")
        submission = self._submission(record.job_id)
        if submission is None:
            raise JobError(
                f"job {record.name!r} was not started by this dispatcher: it has no program of it",
                where=record.program,
                fix=f"`headrace rescale {record.job_id[:8]} -p {parallelism}` on its machine",
            )
        successor = replace(
            submission,
            settings=submission.settings | {"parallelism.default": str(parallelism)},
            job_id=new_job_id(),
            name=record.name,  # which its program may have given
            parallelism=parallelism,
            replaces=record.job_id,
        )
        with self._leadership():
            self._check_slots(successor)
            self._check_room(self._charge(record.job_id), parallelism)
        return self._operations.begin(
            record.job_id,
            "rescale",
            lambda: self._rescale(record.job_id, submission.job_id, successor),
            operation_id,
        )

    def _rescale(self, own_id: str, submitted_id: str, successor: Submission) -> JsonObject:
        """Stop a job; whoever leads when it has ended starts its successor."""
        with self._leadership():
            if self._store.successor(submitted_id) is not None:
                raise JobError(f"job {own_id[:8]} is being rescaled already", where=own_id)
            charge = self._charge(own_id)
            self._check_room(charge, successor.parallelism)  # others may have started meanwhile
            self._store.copy_program(submitted_id, successor.job_id)
            self._store.set_successor(submitted_id, successor)
            if charge is not None:
                charge.reserved = successor.parallelism
        try:
            stopped = self._stop(own_id, drain=False, savepoint=True, folder=None)
        except BaseException:
            with self._lock:
                self._store.set_successor(submitted_id, None)
                if charge is not None:
                    charge.reserved = 0
                if self.registry.get(successor.job_id) is None:
                    self._store.forget(successor.job_id)
            raise
        self._wake.set()
        while self.registry.get(successor.job_id) is None:
            if not self.is_leader:
                raise JobError("another dispatcher leads by now, and continues the job")
            time.sleep(0.05)
        return {"savepoint": stopped["savepoint"], "job_id": successor.job_id}

    def operation(self, operation_id: str, job_id: str | None = None) -> Operation:
        """What has become of a savepoint, checkpoint, stop or rescale."""
        return self._operations.get(operation_id, job_id)

    def log_file(self, job_id: str) -> str | None:
        """Where the log of a job's driver is."""
        return self.job(job_id).log

    # --- who may, and which ------------------------------------------------------------------

    @contextlib.contextmanager
    def _leadership(self) -> Iterator[None]:
        """Only a leader may change something.

        Raises:
            NotLeaderError: this one is a standby, or is not sure.
        """
        with self._lock:
            if not self.is_leader:
                leader = self.leader
                raise NotLeaderError(
                    "this dispatcher does not lead its cluster",
                    where=None if leader is None else leader.address,
                    fix="ask the leader" if leader else "try again: a leader is being elected",
                )
            yield

    def _running_job(self, text: str, what: str) -> JobRecord:
        """A job that can be asked for something.

        Raises:
            JobError: it has not begun, or has ended.
        """
        with self._leadership():
            record = self.job(text)
        if record.state in ("CREATED", "INITIALIZING", "RESTARTING") or not record.is_running:
            raise JobError(
                f"cannot {what} job {record.name!r} ({record.job_id[:8]}): it is {record.state}",
                fix="wait until it is RUNNING, or cancel it" if record.is_running else None,
            )
        return record

    def _charge(self, text: str) -> Charge | None:
        """The job in this dispatcher's care that an id, in whole or in part, or a name means."""
        own_id = self.job(text).job_id
        charges = self._care.charges
        found = (c for c in charges.values() if own_id in (c.job_id, c.record_id))
        return next(found, None)

    def _own_id(self, text: str) -> str:
        """The id under which a job runs: that of its checkpoint, if it continues an earlier one."""
        with self._lock:
            charge = self._care.charges.get(text)
        return text if charge is None else charge.record_id or text

    def _submission(self, job_id: str) -> Submission | None:
        charge = self._charge(job_id)
        return charge.submission if charge is not None else self._store.submission(job_id)


def _election(settings: ClusterSettings, address: str) -> Election:
    if settings.availability == "filesystem":
        return FileElection(settings.folder, address, lease_s=settings.lease_s)
    if settings.availability == "zookeeper":
        return ZooKeeperElection(
            settings.folder,
            address,
            servers=settings.zookeeper or "",
            root=settings.zookeeper_root,
            session_timeout_s=settings.lease_s,
        )
    return Alone(settings.folder, address)
