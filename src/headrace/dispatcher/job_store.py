"""The jobs of a cluster on disk, as every dispatcher that may lead it can read them.

    submitted/<job id>/
        submission.json     what was asked for; never changes.  Readable for the owner only
        program/            the script, or the unpacked zip
        launch-<epoch>.json what a leader has made of it: the driver that may run, or how it ended
        driver.log          what its drivers said
        successor.json      of a job that is being rescaled: what continues it, once it has ended

In: Submissions, Launches.  Out: the same.  Of several launch files the highest epoch counts, so
what a leader writes after it was replaced changes nothing: it writes a file with a lower number.
Drivers look at the same files before they commit (control/fence.py).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal

from headrace.control.fence import LAUNCH_FILES, launch_file
from headrace.io.private_files import write_private
from headrace.io.processes import Process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.common.opaque import JsonObject

SUBMITTED_FOLDER = "submitted"  # of a cluster's
SUBMISSION_FILE = "submission.json"
LOG_FILE = "driver.log"
_SUCCESSOR_FILE = "successor.json"
PROGRAM_FOLDER = "program"

# waiting for slots ─▶ starting ─▶ running ─▶ ended
#                         ▲          │ the driver died
#                         └─ resting ┘ until the restart strategy's pause is over
Phase = Literal["waiting", "starting", "running", "resting", "ended"]


@dataclass(frozen=True, slots=True)
class Submission:
    """A program that is to become a job.

    Attributes:
        program: a path below the job's program folder, or ``module:function``.
        arguments: what the program finds in ``sys.argv``.
        settings: options, above the cluster's own.
        job_id: of the job; given by the dispatcher if empty.
        name: for lists, until the job says its own.
        upload: id of the uploaded program, or "" for a module that is installed.
        submitted_ms: when.
        parallelism: in place of the program's own; 0 for none.
        replaces: the job whose checkpoint gives way, since this one starts from its savepoint.
    """

    program: str
    arguments: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    job_id: str = ""
    name: str = ""
    upload: str = ""
    submitted_ms: int = 0
    parallelism: int = 0
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """How far a job is, and which driver may run it.

    Attributes:
        phase: see above.
        epoch: of the leader that wrote it.
        token: what the driver was started with; another one must not commit.
        number: how many drivers were started for the job so far.
        slots: how many the job takes.
        driver: the process.
        since_ms: when the phase began.
        restart_at_ms: when a resting job is started again.
        state: that an ended job ended in.
        error: why it failed.
    """

    phase: Phase
    epoch: int
    token: str = ""
    number: int = 0
    slots: int = 1
    host: str = ""
    pid: int = 0
    born: str = ""
    since_ms: int = 0
    restart_at_ms: int = 0
    state: str = ""
    error: str | None = None

    @property
    def driver(self) -> Process | None:
        """The driver's process, if there ever was one."""
        return Process(self.host, self.pid, self.born) if self.pid else None


class JobStore:
    """The folder of all submitted jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def job_folder(self, job_id: str) -> Path:
        """Where everything of one job is."""
        return self.folder / job_id

    def add(self, submission: Submission) -> None:
        """Keep a submission; its folder is this user's only, since settings may hold secrets."""
        folder = self.job_folder(submission.job_id)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        write_private(folder / SUBMISSION_FILE, asdict(submission))

    def write(self, job_id: str, launch: Launch) -> None:
        """Note how far a job is."""
        write_private(self.job_folder(job_id) / launch_file(launch.epoch), asdict(launch))

    def ids(self) -> list[str]:
        """All jobs."""
        return sorted(path.parent.name for path in self.folder.glob(f"*/{SUBMISSION_FILE}"))

    def submission(self, job_id: str) -> Submission | None:
        """What was asked for."""
        return _submission(self.job_folder(job_id) / SUBMISSION_FILE)

    def successor(self, job_id: str) -> Submission | None:
        """What is to continue a job from the savepoint that it ends with."""
        return _submission(self.job_folder(job_id) / _SUCCESSOR_FILE)

    def set_successor(self, job_id: str, successor: Submission | None) -> None:
        """Note what is to continue a job, for a later leader as well; None for nothing."""
        file = self.job_folder(job_id) / _SUCCESSOR_FILE
        if successor is None:
            file.unlink(missing_ok=True)
        else:
            write_private(file, asdict(successor))

    def launch(self, job_id: str) -> Launch | None:
        """How far a job is, by the newest leader that said something."""
        for path in sorted(self.job_folder(job_id).glob(LAUNCH_FILES), reverse=True):
            content = _read(path)
            if content is not None:
                return Launch(**_known(Launch, content))
        return None

    def copy_program(self, job_id: str, other_id: str) -> None:
        """Let another job have the program of a job."""
        here, there = self.job_folder(job_id), self.job_folder(other_id)
        there.mkdir(parents=True, mode=0o700)
        if (here / PROGRAM_FOLDER).is_dir():
            shutil.copytree(here / PROGRAM_FOLDER, there / PROGRAM_FOLDER)
        for archive in here.glob("*.zip"):
            shutil.copyfile(archive, there / archive.name)

    def forget(self, job_id: str) -> None:
        """Remove a job with its program and log."""
        shutil.rmtree(self.job_folder(job_id), ignore_errors=True)

    def all(self) -> Iterator[tuple[Submission, Launch | None]]:
        """All jobs, the oldest submission first."""
        found = [s for s in map(self.submission, self.ids()) if s is not None]
        for submission in sorted(found, key=lambda s: (s.submitted_ms, s.job_id)):
            yield submission, self.launch(submission.job_id)


def _read(path: Path) -> JsonObject | None:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _submission(path: Path) -> Submission | None:
    content = _read(path)
    if content is None:
        return None
    known = _known(Submission, content)
    return replace(Submission(**known), arguments=tuple(known.get("arguments", ())))


def _known(cls: type[Submission] | type[Launch], content: JsonObject) -> JsonObject:
    """Without the keys of later versions."""
    names = {f.name for f in fields(cls)}
    return {key: value for key, value in content.items() if key in names}
