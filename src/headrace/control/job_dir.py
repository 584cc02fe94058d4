"""A job's directory: its checkpoint, and beside it job.json, which says whose checkpoint it is.

    query/     Spark's offsets, commits and state        sources/   what sources keep
    control/   ticks and the end of input                sinks/     what sinks committed
    job.json   id, name, fingerprint of the program      lock.json  who runs on it (io/lease.py)
    states.json  the states that its operators stored (control/state_names.py)

In: `execution.checkpointing.dir`, or nothing for a directory that goes away with the job.
Out: a JobDir; CheckpointMismatchError if the checkpoint is not this job's.
Next: control/fingerprint.py
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace import __version__
from headrace.common.clock import wall_clock
from headrace.control.fingerprint import Difference, Fingerprint, differences
from headrace.control.state_names import FILE as STATES_FILE
from headrace.control.state_names import StateNames
from headrace.errors import CheckpointMismatchError
from headrace.io.lease import GUARD_FILE, LOCK_FILE
from headrace.io.storage import Storage, local_path

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject

_FORMAT = 1
_IDENTITY = "job.json"
_FOLDERS = ("query", "control", "local", "continuous", "sources", "sinks")


@dataclass(frozen=True, slots=True)
class Identity:
    """What job.json says. The first version of headrace wrote an id only."""

    job_id: str
    name: str | None = None
    fingerprint: Fingerprint | None = None
    created_ms: int | None = None
    # the savepoint that the job began with
    restored_from: str | None = None


class JobDir:
    """The directory of one job.

    Attributes:
        location: its path or URI.
        temporary: whether it goes away with the job.
        states: the names of what is stored here.
    """

    def __init__(self, location: str, *, temporary: bool) -> None:
        self.location = location
        self.temporary = temporary
        self.storage = Storage.open(location)
        self.states = StateNames(self.storage)

    @staticmethod
    def open(checkpoint_dir: str | None) -> JobDir:
        """The directory that is configured, which may not exist yet; or a temporary one."""
        if checkpoint_dir is None:
            return JobDir(tempfile.mkdtemp(prefix="headrace-job-"), temporary=True)
        if "://" not in checkpoint_dir:
            checkpoint_dir = str(Path(checkpoint_dir).absolute())
        return JobDir(checkpoint_dir.rstrip("/"), temporary=False)

    @property
    def local_path(self) -> Path | None:
        """The directory as a path of this machine, or None."""
        return local_path(self.location)

    # --- whose checkpoint it is --------------------------------------------------------------

    def read_identity(self) -> Identity | None:
        """Whose checkpoint is here; None if there is none."""
        if self.temporary or not self.storage.exists(_IDENTITY):
            return None
        try:
            content = json.loads(self.storage.read(_IDENTITY))
            job_id, version = str(content["job_id"]), int(content.get("format", 0))
        except (ValueError, KeyError, TypeError) as error:
            raise self._mismatch(
                f"{_IDENTITY} cannot be read ({error}), so it is not known which job this "
                "checkpoint belongs to",
                "restore the file from a backup, or choose another execution.checkpointing.dir",
            ) from None
        if version > _FORMAT:
            raise self._mismatch(
                f"the checkpoint was written by headrace {content.get('headrace')}, in format "
                f"{version}; this is headrace {__version__}, which reads up to format {_FORMAT}",
                "run the job with that version of headrace or a later one",
            )
        stored = content.get("fingerprint")
        return Identity(
            job_id,
            content.get("name"),
            None if stored is None else Fingerprint.from_json(stored),
            content.get("created"),
            content.get("restored_from"),
        )

    def check_fits(
        self, stored: Identity | None, name: str, now: Fingerprint, *, drop_unclaimed: bool
    ) -> None:
        """Refuse a checkpoint that is not this job's; nothing was touched yet.

        Args:
            stored: whose checkpoint it is.
            name: of the job that wants to start.
            now: its program.
            drop_unclaimed: whether state without a step may be lost.
        """
        if stored is None:
            return
        if stored.name is not None and stored.name != name:
            raise self._mismatch(
                f"the checkpoint belongs to job {stored.name!r}, but this is job {name!r}",
                "give this job an execution.checkpointing.dir of its own; if it is the same job "
                f"with a new name, write that name into {_IDENTITY} of the checkpoint first",
            )
        if stored.fingerprint is None:
            return
        found = differences(stored.fingerprint, now)
        wrong = [d for d in found if not (d.dropped and drop_unclaimed)]
        if wrong:
            listed = "; ".join(difference.what for difference in wrong)
            raise self._mismatch(
                f"the program does not match its checkpoint: {listed}", _fix(wrong)
            )

    def _mismatch(self, message: str, fix: str) -> CheckpointMismatchError:
        return CheckpointMismatchError(message, where=self.location, fix=fix)

    def write_identity(
        self,
        stored: Identity | None,
        job_id: str,
        name: str,
        now: Fingerprint,
        restored_from: str | None = None,
    ) -> None:
        """Note whose checkpoint this is from now on."""
        if self.temporary:
            return
        created = None if stored is None else stored.created_ms
        origin = restored_from if stored is None else stored.restored_from
        content: JsonObject = {
            "format": _FORMAT,
            "job_id": job_id,
            "name": name,
            "headrace": __version__,
            "created": created or wall_clock(),
            "fingerprint": now.to_json(),
            "restored_from": origin,
        }
        text = json.dumps(content, indent=1)
        self.storage.write_atomic(_IDENTITY, text.encode())

    # --- its end -----------------------------------------------------------------------------

    def delete(self) -> None:
        """Remove what headrace put here; whatever else is in the directory stays."""
        if self.temporary:
            shutil.rmtree(self.location, ignore_errors=True)
            return
        self.clear()
        for file in (LOCK_FILE, GUARD_FILE):
            self.storage.delete(file)
        here = self.local_path
        if here is not None and not any(here.iterdir()):
            here.rmdir()

    def clear(self) -> None:
        """Remove the checkpoint; whoever has the lock keeps it."""
        # the name first: a half deleted checkpoint must not look like a whole one
        for file in (_IDENTITY, STATES_FILE):
            self.storage.delete(file)
        for folder in _FOLDERS:
            self.storage.delete_folder(folder)


def new_job_id() -> str:
    """An id for a job that has no checkpoint yet."""
    return uuid.uuid4().hex


def _fix(wrong: list[Difference]) -> str:
    if all(difference.dropped for difference in wrong):
        return (
            "give the steps their old uid() again; or set execution.state-recovery."
            "ignore-unclaimed-state to drop their state"
        )
    return (
        "undo the change, or take a savepoint with the old program and restore the new one from "
        "it; with another execution.checkpointing.dir the job starts with empty state. Steps "
        "with a uid() keep their state when other steps are added or removed"
    )
