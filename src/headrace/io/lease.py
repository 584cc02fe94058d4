"""One driver at a time for a checkpoint directory: a lock file that its owner keeps fresh.

    acquire ─▶ renew, renew, renew ... ─▶ release
                    │ another driver's token in the file: this driver was taken for dead, and stops
                    ├ no renewal for a whole lease: the driver is dead, and the next one takes over
                    └ cannot reach the file for a whole lease: may be taken for dead, and stops

In: a job's directory.  Out: a Lease, or CheckpointLockedError.  Nobody has the lock only if there
is no file: one that cannot be read may be any driver's.  On one machine a dead owner is seen at
once by its pid.  Across machines the newcomer watches the file for a lease by its own clock, so
machines need not agree on the time.  Next: control/job_dir.py, control/agent.py (renews)
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import threading
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import CheckpointLockedError, ConnectorError, JobError
from headrace.io.processes import Process, this_process
from headrace.io.waiting import at_most, told_when_long

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.common.opaque import JsonObject
    from headrace.io.storage import Storage

LOCK_FILE = "lock.json"
GUARD_FILE = ".lock.guard"
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class _Held:
    """What the lock file says."""

    owner: Process
    job_name: str
    token: str
    beat: int
    lease_s: float


class Lease:
    """The right to run a job on a directory.

    Args:
        storage: the job's directory.
        job_name: shown to others who want the directory.
        lease_s: a driver that did not renew for this long is dead.
        local_path: the directory on this machine, where it is one; then two newcomers cannot take
            over at the same moment.
    """

    def __init__(
        self,
        storage: Storage,
        job_name: str,
        *,
        lease_s: float = 30.0,
        local_path: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.renew_every_s = lease_s / 3
        self._storage = storage
        self._job_name = job_name
        self._lease_s = lease_s
        self._local_path = local_path
        self._clock = clock
        self._sleep = sleep
        self._token = uuid.uuid4().hex
        self._beat = 0
        self._renewed_at = clock()
        # one thread renews, another one releases: a lock that was given up must not come back
        self._changing = threading.Lock()
        self._released = False

    # --- the owner's side --------------------------------------------------------------------

    def acquire(self) -> None:
        """Take the lock; waits up to one lease for a driver of another machine that may be dead.

        Raises:
            CheckpointLockedError: another driver is running on the directory.
            ConnectorError: it is not known, since the lock cannot be read or written.
        """
        held = self._read()
        if held is not None:
            self._check_gone(held)
        with self._guarded():
            now = self._read()
            if now is not None and (held is None or now.token != held.token):
                raise self._refusal(now)  # somebody was faster
            self._write()
        if self._local_path is None:
            # a store without locks: the last of two writers wins, so look who it was
            self._sleep(_POLL_S)
            try:
                self._check_own()
            except ConnectorError:
                self.release()
                raise

    def renew(self) -> None:
        """Show that this driver lives; cheap, and does nothing before it is time.

        Raises:
            JobError: another driver has taken over, or may do so by now because this one could not
                renew for a whole lease; so it must stop at once.
            ConnectorError: not this time; to be tried again.
        """
        with self._changing:
            if not self._released and self._clock() - self._renewed_at >= self.renew_every_s:
                self._renew()

    def _renew(self) -> None:
        try:
            self._check_own()
            self._beat += 1
            self._write()
        except ConnectorError as error:
            silent_s = self._clock() - self._renewed_at
            if silent_s < self._lease_s:
                raise
            raise JobError(
                f"the lock of the checkpoint directory could not be renewed for {silent_s:.0f} s, "
                f"so another driver may take over: {error.message}",
                where=str(self._storage),
                fix="run the program again when the storage can be reached; it continues from its "
                "checkpoint. To survive longer outages, raise headrace.checkpoint.lease",
            ) from error

    def confirm(self) -> None:
        """Make sure, before something is committed, that no other driver has the directory.

        Raises:
            JobError: another driver has taken over, or may have.
            ConnectorError: it cannot be found out.
        """
        # Others wait for a whole lease, so within half of one nobody can have come.  On a local
        # disk looking costs some 50 microseconds, and tells of a file that was removed, too.
        if self._local_path is not None or self._clock() - self._renewed_at >= self._lease_s / 2:
            self._check_own()

    def release(self) -> None:
        """Release the directory, unless another driver has it by now."""
        with self._changing, contextlib.suppress(ConnectorError):  # it may be gone with the job
            self._released = True
            held = self._read()
            if held is not None and held.token == self._token:
                self._storage.delete(LOCK_FILE)

    def _check_own(self) -> None:
        held = self._read()
        if held is None or held.token != self._token:
            who = "nobody" if held is None else str(held.owner)
            raise JobError(
                f"the checkpoint directory was taken over by {who}, because this driver had not "
                f"renewed its lock for {self._lease_s:g} s",
                where=str(self._storage),
                fix="the other driver continues the job; nothing is lost. If this machine sleeps "
                "or stalls, raise headrace.checkpoint.lease",
            )

    # --- the newcomer's side -----------------------------------------------------------------

    def _check_gone(self, held: _Held) -> None:
        alive = held.owner.is_alive()
        if alive:
            raise self._refusal(held)
        if alive is None:
            self._watch(held)

    def _watch(self, held: _Held) -> None:
        """The owner is on another machine: it has one lease to show a sign of life."""
        what = f"{held.owner}, who may run on {self._storage}, to show that it lives"
        with told_when_long(what, at_most(held.lease_s, "headrace.checkpoint.lease")):
            self._watch_until(held, self._clock() + held.lease_s)

    def _watch_until(self, held: _Held, deadline: float) -> None:
        while self._clock() < deadline:
            self._sleep(_POLL_S)
            now = self._read()
            if now is None:
                return
            if (now.token, now.beat) != (held.token, held.beat):
                raise self._refusal(now)

    def _refusal(self, held: _Held) -> CheckpointLockedError:
        return CheckpointLockedError(
            f"job {held.job_name!r} is running on this checkpoint directory, in {held.owner}",
            where=str(self._storage),
            fix="give this job an execution.checkpointing.dir of its own, or end the other one "
            "first: `headrace list` shows it, `headrace cancel` ends it",
        )

    # --- the file ----------------------------------------------------------------------------

    def _read(self) -> _Held | None:
        text = self._text()
        if text is None:
            return None
        try:
            content: JsonObject = json.loads(text)
            owner = Process(content["host"], content["pid"], content["born"])
            return _Held(
                owner, content["job"], content["token"], content["beat"], content["lease_s"]
            )
        except (ValueError, KeyError, TypeError):
            return None  # not ours, or cut off by a full disk: protects nobody

    def _text(self) -> bytes | None:
        """What is in the file; None if there is none."""
        try:
            return self._storage.read(LOCK_FILE) if self._storage.exists(LOCK_FILE) else None
        except ConnectorError as error:
            with contextlib.suppress(ConnectorError):
                if not self._storage.exists(LOCK_FILE):
                    return None  # released between the two calls
            raise ConnectorError(
                f"the lock of the checkpoint directory, {LOCK_FILE}, cannot be read, so it is not "
                f"known whether a job is running on it: {error.message}",
                where=str(self._storage),
                fix="check that the storage can be reached and the file can be read, and try again",
            ) from error

    def _write(self) -> None:
        me = this_process()
        content = {
            "host": me.host,
            "pid": me.pid,
            "born": me.born,
            "job": self._job_name,
            "token": self._token,
            "beat": self._beat,
            "lease_s": self._lease_s,
        }
        self._storage.write_atomic(LOCK_FILE, json.dumps(content).encode())
        self._renewed_at = self._clock()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Of all newcomers on this file system, one after the other."""
        if self._local_path is None:
            yield
            return
        self._local_path.mkdir(parents=True, exist_ok=True)
        # The file stays: whoever removed it would part those who wait from those who come later.
        with (self._local_path / GUARD_FILE).open("w") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield
