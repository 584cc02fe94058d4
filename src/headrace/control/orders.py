"""What the process that starts a driver tells it about its first job.

In: one variable of the environment, written by a dispatcher or by `headrace rescale`; it holds no
secrets.  Out: Orders.  Other drivers have none.  Next: control/executor.py follows them
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from headrace.control.fence import Fence

ORDERS_VARIABLE = "_HEADRACE_ORDERS"


@dataclass(frozen=True, slots=True)
class Orders:
    """What is different for a job that somebody else has started.

    Attributes:
        job_id: the id to take, unless the checkpoint directory has one already.
        folder: where the job's dispatcher says which driver may run it; see control/fence.py.
        token: of this driver there.
        parallelism: in place of what the program sets for all of its steps; 0 for none.
        replaces: the id of the job whose checkpoint may be replaced by the savepoint.
    """

    job_id: str = ""
    folder: str = ""
    token: str = ""
    parallelism: int = 0
    replaces: str = ""

    @property
    def fence(self) -> Fence | None:
        """Says whether this driver may still commit."""
        return Fence(Path(self.folder), self.token) if self.folder and self.token else None

    def to_variable(self) -> dict[str, str]:
        """For the environment of the driver."""
        return {ORDERS_VARIABLE: json.dumps(asdict(self))}


def take_orders() -> Orders:
    """The orders of this process, once: they are for the first job of its program."""
    text = os.environ.pop(ORDERS_VARIABLE, None)
    return Orders() if text is None else Orders(**json.loads(text))
