"""The dispatchers of this user on this machine: who runs, where it listens, where its log is.

    $HEADRACE_HOME/dispatchers/<id>.json    locked by the dispatcher as long as it lives
    $HEADRACE_HOME/dispatchers/<id>.log     of one that was started with --detach

In: an address.  Out: Instances.  A file that nobody has locked is of a dispatcher that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.home import headrace_home
from headrace.control.registry import ENDED, LOST, JobRegistry
from headrace.dispatcher.job_store import SUBMITTED_FOLDER, JobStore
from headrace.io.private_files import write_private

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.dispatcher.job_store import Phase


@dataclass(frozen=True, slots=True)
class Instance:
    """One dispatcher.

    Attributes:
        id: of its file.
        pid: of its process.
        address: the URL of its REST API.
        folder: of its cluster.
        started_ms: when.
        registry: where the records of its jobs are.
    """

    id: str
    pid: int
    address: str
    folder: str
    started_ms: int
    registry: str = ""

    def end(self, *, stop_jobs: bool) -> None:
        """Ask it to end; jobs go on unless they are to be stopped."""
        if stop_jobs:
            _stop_jobs_file(self.id).touch()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    @property
    def runs(self) -> bool:
        """Whether its process lives."""
        return _is_locked(_file(self.id))


@dataclass(frozen=True, slots=True)
class UnfinishedJob:
    """A job of a dispatcher that is to end.

    Attributes:
        job_id: whose.
        name: whose.
        phase: how far its dispatcher had brought it.
    """

    job_id: str
    name: str
    phase: Phase

    def fate(self, instance: Instance) -> str:
        """What has become of it, after its dispatcher has ended."""
        record = JobRegistry(Path(instance.registry)).get(self.job_id)
        if record is not None and record.state in ENDED - {LOST}:
            return record.state
        return "waits for a dispatcher" if self.phase in ("waiting", "resting") else "goes on"


def unfinished_jobs(instance: Instance) -> list[UnfinishedJob]:
    """The jobs that a dispatcher looks after, the oldest first."""
    records = JobRegistry(Path(instance.registry)).all() if instance.registry else []
    known = {record.job_id: record for record in records}
    by_launch = {record.launch: record for record in records if record.launch}
    found = []
    for submission, launch in JobStore(Path(instance.folder) / SUBMITTED_FOLDER).all():
        if launch is None or launch.phase == "ended":
            continue
        # a job that goes on with an earlier one's checkpoint has the id of that
        record = known.get(submission.job_id) or by_launch.get(launch.token)
        if record is not None:
            found.append(UnfinishedJob(record.job_id, record.name, launch.phase))
    return found


@contextlib.contextmanager
def registered(instance: Instance) -> Iterator[None]:
    """Be known to other terminals while this is open."""
    file = _file(instance.id)
    file.parent.mkdir(parents=True, exist_ok=True)
    # the lock is on a file of its own name: the other one is replaced as a whole
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_private(file, asdict(instance))
        try:
            yield
        finally:
            for path in (file, _stop_jobs_file(instance.id), file.with_suffix(".lock")):
                path.unlink(missing_ok=True)


def instances() -> list[Instance]:
    """All that run, the oldest first; what others have left is removed."""
    found = []
    for file in _folder().glob("*.json"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            if _is_locked(file):
                found.append(Instance(**json.loads(file.read_text())))
            else:
                file.unlink(missing_ok=True)
                file.with_suffix(".lock").unlink(missing_ok=True)
    return sorted(found, key=lambda instance: instance.started_ms)


def jobs_are_to_stop(instance_id: str) -> bool:
    """Whether whoever ended this dispatcher wants its jobs to end as well."""
    return _stop_jobs_file(instance_id).exists()


def log_path(instance_id: str) -> Path:
    """Where a dispatcher without a terminal writes its log."""
    return _folder() / f"{instance_id}.log"


def _folder() -> Path:
    return headrace_home() / "dispatchers"


def _file(instance_id: str) -> Path:
    return _folder() / f"{instance_id}.json"


def _stop_jobs_file(instance_id: str) -> Path:
    return _folder() / f"{instance_id}.stop-jobs"


def _is_locked(file: Path) -> bool:
    try:
        with file.with_suffix(".lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
