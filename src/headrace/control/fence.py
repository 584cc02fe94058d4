"""May this driver still commit?  A job of a dispatcher belongs to the driver that was started last.

    <job's folder>/launch-0000000003.json   {"token": "ab…", ...}   of the leader with epoch 3
    <job's folder>/launch-0000000004.json   {"token": "cd…", ...}   of the next one: it counts

In: the folder and the token that a dispatcher gave this process.  Out: nothing, or JobError when
another driver has the job.  A driver that was suspended for a while asks before it commits, and
ends.  Next: control/attempt.py asks; dispatcher/job_store.py writes
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import JobError

if TYPE_CHECKING:
    from pathlib import Path

LAUNCH_FILES = "launch-*.json"


def launch_file(epoch: int) -> str:
    """The name of a leader's file; names sort as their epochs do."""
    return f"launch-{epoch:010d}.json"


@dataclass(frozen=True, slots=True)
class Fence:
    """The right of one driver to a job."""

    folder: Path
    token: str

    def check(self) -> None:
        """Fail if the job was given to another driver, or taken away.

        Raises:
            JobError: this driver must end, and leave everything as it is.
        """
        current = self._current()
        if current != self.token:
            raise JobError(
                "the dispatcher has given this job to another driver"
                if current
                else "the dispatcher has taken this job away",
                where=str(self.folder),
                fix="nothing is to be done: the other driver continues from the last checkpoint",
            )

    def holds(self) -> bool:
        """Whether the job is this driver's."""
        return self._current() == self.token

    def _current(self) -> str:
        # a file that goes away while it is read belongs to a leader before the last one
        for path in sorted(self.folder.glob(LAUNCH_FILES), reverse=True):
            try:
                return str(json.loads(path.read_text())["token"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return ""
