"""How many slots a run needs, and waiting for them: executors may still be coming, or coming back.

    enough slots ─▶ go on
    too few      ─▶ after a moment told, and again now and then ─▶ `slot.request.timeout`: an error
                    that the restart strategy may try again

In: how many slots there are, whenever somebody looks.  Out: what to tell.  No threads and no
sleeping here, so tests bring their own clock.  Next: hosts/continuous/coordinator.py looks
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import JobError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.plan.physical import PhysicalPlan

__all__ = ["SlotNeed", "SlotWait"]

log = logging.getLogger(__name__)

# who waits says so after this, and again every so often
_TELL_AFTER_S = 3.0
_TELL_EVERY_S = 30.0


@dataclass(frozen=True, slots=True)
class SlotNeed:
    """The slots of a run: all of its tasks run at the same time.

    Attributes:
        sources: tasks that read.
        stages: behind an exchange.
        width: subtasks of each of these.
    """

    sources: int
    stages: int
    width: int

    @staticmethod
    def of(plan: PhysicalPlan, counts: Sequence[int]) -> SlotNeed:
        """What a plan needs.

        Args:
            plan: its stages.
            counts: how many tasks read each source.
        """
        return SlotNeed(sum(counts), len(plan.stages), plan.slots)

    @property
    def count(self) -> int:
        """Of all of them."""
        return self.sources + self.stages * self.width

    def __str__(self) -> str:
        stages = "1 stage" if self.stages == 1 else f"{self.stages} stages"
        behind = f", {stages} of {self.width} subtasks" if self.stages else ""
        return f"{self.count} slots ({self.sources} for sources{behind})"


class SlotWait:
    """One wait for slots.

    Args:
        need: of the run.
        patience_s: how long they may take to come.
        clock: seconds; never goes back.
    """

    def __init__(
        self, need: SlotNeed, patience_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._need = need
        self._patience_s = patience_s
        self._clock = clock
        self._began = clock()
        self._tell_at = self._began + _TELL_AFTER_S
        self._told = False

    def look(self, there: int) -> str | None:
        """Compare with what is there: what the run waits for, or None if that is enough.

        Raises:
            JobError: the patience is over.
        """
        now = self._clock()
        if there >= self._need.count:
            if self._told:
                log.warning("there are %d slots now: the job goes on", there)
            return None
        if now - self._began >= self._patience_s:
            raise self._too_few(there)
        if now >= self._tell_at:
            self._tell(there, now)
        return f"slots: {self._need.count} needed, {there} there"

    def _tell(self, there: int, now: float) -> None:
        self._tell_at = now + _TELL_EVERY_S
        self._told = True
        log.warning(
            "waiting for slots: the job needs %s at the same time, and there are %d; waited for "
            "%.0f s of %.0f s (slot.request.timeout)",
            self._need, there, now - self._began, self._patience_s,
        )  # fmt: skip

    def _too_few(self, there: int) -> JobError:
        return JobError(
            f"continuous mode runs all tasks at the same time, so this job needs {self._need}, and "
            f"after {self._patience_s:g} s there are {there}",
            fix="start more workers or executors, lower the parallelism, or raise "
            "slot.request.timeout",
        )
