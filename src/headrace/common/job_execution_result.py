"""What is left of a job when it is over. Next: control/job.py makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.job_id import JobID
    from headrace.common.opaque import StateValue

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """The id, run time and accumulators of a finished job."""

    def __init__(
        self,
        job_id: JobID,
        net_runtime_ms: int,
        accumulators: Mapping[str, StateValue] | None = None,
    ) -> None:
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        """The job's id."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """How long the job ran, in milliseconds."""
        return self._net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> StateValue:
        """The merged value of an accumulator; None if no function registered it."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, StateValue]:
        """The merged values of all accumulators, by name."""
        return dict(self._accumulators)

    def __str__(self) -> str:
        lines = [
            "Program execution finished",
            f"Job with JobID {self._job_id} has finished.",
            f"Job Runtime: {self._net_runtime_ms} ms",
        ]
        if self._accumulators:
            lines.append("Accumulator Results: ")
            lines += [f"- {name}: {value}" for name, value in sorted(self._accumulators.items())]
        return "\n".join(lines)
