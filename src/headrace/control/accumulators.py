"""The users' accumulators of a job: merged for the job, and apart by step and subtask.

In: what every committed epoch added (control/metrics.py).  Out: values, or kind and text by vertex.
Next: control/history.py writes them
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from headrace.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from headrace.common.accumulators import Accumulator
    from headrace.common.opaque import JsonObject, StateValue

__all__ = ["AccumulatorTotals"]

_Named = dict[str, "Accumulator[StateValue, StateValue]"]


class AccumulatorTotals:
    """What was added over the life of a job; its owner locks."""

    def __init__(self) -> None:
        self._of_job: _Named = {}
        # by uid and subtask: what a vertex is made of, the tasks do not know
        self._parts: dict[tuple[str, int], _Named] = {}

    def add(
        self, uid: str, subtask: int, added: Mapping[str, Accumulator[StateValue, StateValue]]
    ) -> None:
        """Take in what an epoch contributed in one subtask of a step."""
        for name, accumulator in added.items():
            # copied, as merging may keep parts of what is merged
            _merge(self._parts.setdefault((uid, subtask), {}), name, copy.deepcopy(accumulator))
            _merge(self._of_job, name, accumulator)

    def values(self) -> dict[str, StateValue]:
        """The value of every accumulator of the job; copies, as the next epoch adds to them."""
        return {name: copy.deepcopy(each.get_local_value()) for name, each in self._of_job.items()}

    def of_job(self) -> JsonObject:
        """Kind and text of every accumulator of the job."""
        return _texts(self._of_job)

    def of_vertex(self, uids: Collection[str], parallelism: int) -> JsonObject | None:
        """Kind and text of the accumulators of some steps: of all subtasks, and of each.

        Args:
            uids: the steps that run in one task; accumulators of the same name become one.
            parallelism: tasks that Spark numbers beyond it belong to the subtask that runs them.

        Returns:
            None if the steps have no accumulators.
        """
        whole: _Named = {}
        subtasks: dict[int, _Named] = {}
        for (uid, number), part in sorted(self._parts.items()):
            if uid in uids:
                subtask = subtasks.setdefault(number % parallelism, {})
                for name, accumulator in part.items():
                    _merge(subtask, name, copy.deepcopy(accumulator))
                    _merge(whole, name, copy.deepcopy(accumulator))
        if not whole:
            return None
        return {
            "all": _texts(whole),
            "subtasks": {str(number): _texts(found) for number, found in subtasks.items()},
        }


def _merge(into: _Named, name: str, accumulator: Accumulator[StateValue, StateValue]) -> None:
    known = into.setdefault(name, accumulator)
    if known is accumulator:
        return
    if type(known) is not type(accumulator):
        kinds = sorted(type(each).__name__ for each in (known, accumulator))
        raise ProgramError(
            f"accumulator {name!r} is registered as {kinds[0]} and as {kinds[1]}: "
            "two kinds cannot be added up",
            fix="give one of them another name in add_accumulator()",
        )
    known.merge(accumulator)


def _texts(found: _Named) -> JsonObject:
    return {
        name: {"type": type(each).__name__, "value": str(each.get_local_value())}
        for name, each in found.items()
    }
