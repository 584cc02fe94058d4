"""Who of several dispatchers leads.

    epochs/0000000007.json      {"address": ..., "pid": ...}   of the leader with epoch 7
    epochs/0000000007.beat      a number that this leader counts up (files only)

In: the address of this dispatcher.  Out: an epoch when it begins to lead, larger than any before;
a call when it no longer does.  An epoch is claimed by making its file, which only one can.
Implementations: Alone, dispatcher/file_election.py, dispatcher/zookeeper.py
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import uuid
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

from headrace.errors import JobError
from headrace.io.processes import Process, this_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import IO

    from headrace.common.opaque import JsonObject

_KEPT_EPOCHS = 20


@dataclass(frozen=True, slots=True)
class Leader:
    """A dispatcher that leads, or led.

    Attributes:
        address: the URL under which clients reach it.
        epoch: larger than that of all leaders before.
    """

    address: str
    epoch: int
    host: str = ""
    pid: int = 0
    born: str = ""

    @property
    def process(self) -> Process:
        """Where it runs."""
        return Process(self.host, self.pid, self.born)


class Election(Protocol):
    """Agrees with other dispatchers on one leader."""

    def start(self, on_gain: Callable[[int], None], on_loss: Callable[[], None]) -> None:
        """Begin to take part.

        Args:
            on_gain: called with the epoch when this dispatcher leads, in a thread of the election.
            on_loss: called when it does no longer, or cannot be sure.
        """
        ...

    def leads(self) -> bool:
        """Whether this dispatcher is sure to lead at this moment."""
        ...

    def leader(self) -> Leader | None:
        """Who leads, as far as this dispatcher knows."""
        ...

    def note_job(self, job_id: str, pointer: JsonObject | None) -> None:
        """Say where a job and its checkpoint are, or None at its end, if this one keeps that."""
        ...

    def noted_jobs(self) -> dict[str, JsonObject]:
        """What was said by `note_job`, by any leader; nothing where the storage says it all."""
        ...

    def close(self) -> None:
        """Take part no longer; a leader makes room at once."""
        ...


class InStorage:
    """The shared storage itself says which jobs there are."""

    def note_job(self, job_id: str, pointer: JsonObject | None) -> None:
        """Nothing is to be kept."""

    def noted_jobs(self) -> dict[str, JsonObject]:
        """Nothing was kept."""
        return {}


class LeaderEpochs:
    """The folder in which leaders claim their epochs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def highest(self) -> int:
        """The newest epoch that was claimed; 0 for none."""
        return max((int(path.stem) for path in self.folder.glob("*.json")), default=0)

    def claim(self, epoch: int, address: str) -> bool:
        """Make this dispatcher the leader of an epoch; False if another one was faster."""
        self.folder.mkdir(parents=True, exist_ok=True)
        me = this_process()
        content = asdict(Leader(address, epoch, me.host, me.pid, me.born))
        draft = self.folder / f".{uuid.uuid4().hex}"
        draft.write_text(json.dumps(content))
        try:
            os.link(draft, self._file(epoch))  # with its content, and only if there is none
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        self._forget_before(epoch - _KEPT_EPOCHS)
        return True

    def claim_next(self, address: str) -> int:
        """Claim the next epoch, whatever it is."""
        while True:
            epoch = self.highest() + 1
            if self.claim(epoch, address):
                return epoch

    def read(self, epoch: int) -> Leader | None:
        """Who claimed an epoch."""
        try:
            return Leader(**json.loads(self._file(epoch).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def beat_file(self, epoch: int) -> Path:
        """Where the leader of an epoch shows that it lives."""
        return self.folder / f"{epoch:010d}.beat"

    def _file(self, epoch: int) -> Path:
        return self.folder / f"{epoch:010d}.json"

    def _forget_before(self, epoch: int) -> None:
        for path in self.folder.glob("[0-9]*.*"):
            if int(path.stem) < epoch:
                path.unlink(missing_ok=True)


class Alone(InStorage):
    """No other dispatcher: this one leads from its start to its end.

    Args:
        folder: of the cluster; a second dispatcher on it is refused.
        address: of this one.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self._epochs = LeaderEpochs(folder / "epochs")
        self._guard_file = folder / "dispatcher.lock"
        self._address = address
        self._guard: IO[str] | None = None
        self._epoch = 0

    def start(self, on_gain: Callable[[int], None], on_loss: Callable[[], None]) -> None:
        """Lead.

        Raises:
            JobError: another dispatcher has the folder.
        """
        self._guard_file.parent.mkdir(parents=True, exist_ok=True)
        guard = self._guard_file.open("a")
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            guard.close()
            other = self._epochs.read(self._epochs.highest())
            raise JobError(
                "a dispatcher is already running"
                + ("" if other is None else f" at {other.address}, {other.process}"),
                where=str(self._guard_file.parent),
                fix="`headrace cluster stop` ends it; for several at once set "
                "high-availability.type, or another headrace.cluster.dir",
            ) from None
        self._guard = guard
        self._epoch = self._epochs.claim_next(self._address)
        on_gain(self._epoch)

    def leads(self) -> bool:
        """From start to end."""
        return self._guard is not None

    def leader(self) -> Leader | None:
        """This one."""
        return Leader(self._address, self._epoch) if self.leads() else None

    def close(self) -> None:
        """Make room for the next one."""
        guard, self._guard = self._guard, None
        if guard is not None:
            with contextlib.closing(guard):
                fcntl.flock(guard, fcntl.LOCK_UN)
