"""The jobs of this user on disk, so that another terminal can list and steer them.

    $HEADRACE_HOME/jobs/            (~/.headrace/jobs; option headrace.jobs.dir)
        <job id>.json               one job, replaced as a whole whenever something changes
        <job id>.requests/          what others ask of it (control/requests.py)
        <job id>.history/           its plan, counts, checkpoints, failures (control/history.py)

In: what a driver writes about its job.  Out: JobRecords, with the state as it is now: a job whose
driver has died is LOST, whatever its file says.  Needs no Spark.  Next: control/agent.py writes
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import uuid
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.home import headrace_home
from headrace.common.options import OPTIONS
from headrace.errors import JobNameInUseError, JobNotFoundError
from headrace.io.processes import Process

if TYPE_CHECKING:
    from headrace.common.configuration import Configuration
    from headrace.common.opaque import JsonObject

LOST = "LOST"
ENDED = frozenset({"FINISHED", "FAILED", "CANCELED", LOST})
ALL_JOBS = "`headrace list --all` shows this machine's jobs, with -m those of a dispatcher"
# a driver of another machine that has not written for this long is taken for dead
_SILENT_S = 60.0
_KEPT_ENDED = 200


@dataclass(slots=True)
class JobRecord:
    """One job as its file describes it. Times are epoch milliseconds."""

    job_id: str
    name: str
    state: str
    host: str
    pid: int
    born: str
    started: int
    updated: int
    ended: int | None = None
    program: str = ""
    checkpoint: str | None = None  # None: temporary, gone with the job
    parallelism: int = 1
    tasks: int = 0  # of all vertices
    restart_strategy: str = ""
    restarts: int = 0
    batches: int = 0
    last_batch: int = -1
    operators: dict[str, JsonObject] = field(default_factory=dict)
    failures: list[JsonObject] = field(default_factory=list)
    error: str | None = None
    savepoint: str | None = None  # that the job ended with
    savepoint_error: str | None = None
    web: dict[str, str] = field(default_factory=dict)
    log: str | None = None
    launch: str | None = None
    mode: str = "micro-batch"  # or continuous: headrace.execution.mode
    restart_options: dict[str, str] = field(default_factory=dict)  # what the strategy was set by
    driver_is_lost: bool = False  # it failed since Spark itself has ended: another driver may go on
    kind: str = "job"  # or preview, or collect: of a program that looks at its own results
    stopping: bool = False  # it was asked to stop, and ends with its running batch
    waits_for: str | None = None  # what has to be there before its tasks can start
    waits_since: int | None = None
    has_driver: bool = True  # else a dispatcher has written this, and the process is its own
    exit_code: int | None = None  # of a program that ended before its job had begun
    queue_position: int | None = None  # of a waiting job, told by its dispatcher; in no file

    @property
    def driver(self) -> Process:
        """The process that runs the job."""
        return Process(self.host, self.pid, self.born)

    @property
    def is_running(self) -> bool:
        """Whether the job has not ended."""
        return self.state not in ENDED

    def to_json(self) -> JsonObject:
        """As plain data."""
        return asdict(self)

    @staticmethod
    def from_json(content: JsonObject) -> JobRecord:
        """From plain data; keys of later versions are left aside."""
        known = {f.name for f in fields(JobRecord)}
        return JobRecord(**{key: value for key, value in content.items() if key in known})


class JobRegistry:
    """The directory with the files of all jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def of(configuration: Configuration) -> JobRegistry:
        """The registry that the settings, or the variables of the process, name."""
        named = configuration.get(OPTIONS["headrace.jobs.dir"])
        if named:
            return JobRegistry(Path(str(named)).expanduser().absolute())
        return JobRegistry(headrace_home() / "jobs")

    def requests_of(self, job_id: str) -> Path:
        """Where requests to a job are put."""
        return self.folder / f"{job_id}.requests"

    def history_of(self, job_id: str) -> Path:
        """Where a job's driver tells the rest of what there is to say of it."""
        return self.folder / f"{job_id}.history"

    # --- the driver's side -------------------------------------------------------------------

    def write(self, record: JobRecord) -> None:
        """Replace the file of a job; readers see the old content or the new, never a part."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / f"{record.job_id}.json", record.to_json())

    def forget(self, job_id: str) -> None:
        """Remove a job and its requests."""
        (self.folder / f"{job_id}.json").unlink(missing_ok=True)
        shutil.rmtree(self.requests_of(job_id), ignore_errors=True)
        shutil.rmtree(self.history_of(job_id), ignore_errors=True)

    def forget_old(self) -> None:
        """Keep the newest ended jobs only; looks into the files when there are many."""
        if sum(1 for _ in self.folder.glob("*.json")) < _KEPT_ENDED * 5 // 4:
            return
        ended = [record for record in self.all() if not record.is_running]
        for record in ended[_KEPT_ENDED:]:
            self.forget(record.job_id)
            if record.log:
                Path(record.log).unlink(missing_ok=True)
                Path(record.log).with_suffix(".start").unlink(missing_ok=True)

    def check_name_is_free(self, name: str, *own_ids: str) -> None:
        """Refuse a name that a running job has.

        Raises:
            JobNameInUseError: there is such a job, with another id than those.
        """
        for record in self.all():
            if record.is_running and record.name == name and record.job_id not in own_ids:
                raise JobNameInUseError(
                    f"job name {name!r} is in use by running job {record.job_id[:8]}",
                    where=str(record.driver),
                    fix=f"choose another name, or `headrace cancel {record.job_id[:8]}` first",
                )

    # --- everybody's side --------------------------------------------------------------------

    def all(self) -> list[JobRecord]:
        """All known jobs, the newest first."""
        found = [self._read(path) for path in self.folder.glob("*.json")]
        return sorted(
            (record for record in found if record is not None),
            key=lambda record: record.started,
            reverse=True,
        )

    def get(self, job_id: str) -> JobRecord | None:
        """One job by its whole id."""
        return self._read(self.folder / f"{job_id}.json")

    def find(self, text: str, *, newest: bool = False) -> JobRecord:
        """One job by its id, the beginning of its id, or its name; running jobs come first.

        Args:
            text: id, beginning of an id, or name.
            newest: of several running jobs of the name, take the newest; only for looking at it.

        Raises:
            JobNotFoundError: none fits, or several do.
        """
        records = self.all()
        by_id = [record for record in records if record.job_id.startswith(text.lower())]
        by_name = [record for record in records if record.name == text]
        running = [record for record in by_name if record.is_running]
        named = (running or by_name)[:1] if newest or not running else running
        found = by_id if text and by_id else named
        if len(found) == 1:
            return found[0]
        if not found:
            raise JobNotFoundError(
                f"there is no job {text!r}",
                where=str(self.folder),
                fix=ALL_JOBS,
            )
        several = ", ".join(f"{record.job_id[:12]} ({record.name})" for record in found[:5])
        raise JobNotFoundError(
            f"{text!r} matches {len(found)} jobs: {several}", fix="give more digits of the id"
        )

    def _read(self, path: Path) -> JobRecord | None:
        try:
            record = JobRecord.from_json(json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None  # just removed, or not ours
        return as_it_is(record)


def as_it_is(record: JobRecord) -> JobRecord:
    """A record with the state of now: that of a job whose driver has died is LOST."""
    if record.is_running and not _is_looked_after(record):
        return replace(record, state=LOST)
    return record


def _is_looked_after(record: JobRecord) -> bool:
    alive = record.driver.is_alive()
    if alive is None:
        return time.time() - record.updated / 1000 < _SILENT_S
    return alive


def write_json(path: Path, content: JsonObject, *, indent: int | None = 1) -> None:
    """Write a small file that is either wholly there or not at all."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        draft.write_text(json.dumps(content, indent=indent, default=str))
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
