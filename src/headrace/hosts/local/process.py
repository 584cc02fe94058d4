"""What the hosts have in common that run plans in this process.

In: a JobSpec.  Out: what they tell of themselves, and refuse.
Next: hosts/local/host.py (batches), hosts/local/continuous.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import UnsupportedStepError
from headrace.hosts.local.executors import this_executor
from headrace.io.storage import local_path
from headrace.runtime.task_samples import sampled
from headrace.runtime.thread_infos import thread_infos

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject
    from headrace.runtime.task_samples import Sampling
    from headrace.spi.host import ExecutorFacts, Place
    from headrace.spi.job_spec import JobSpec


class InThisProcess:
    """A host without Spark."""

    def __init__(self, spec: JobSpec) -> None:
        self._spec = spec

    @property
    def web(self) -> dict[str, str]:
        """There are no pages."""
        return {}

    def executors(self) -> list[ExecutorFacts]:
        """This process."""
        return [this_executor(self._spec.parallelism)]

    def thread_infos(self, executor: str | None) -> list[JsonObject]:
        """Of this process, which is the driver and the only executor."""
        return thread_infos()

    def samples(self, job_id: str, asked: Sampling) -> list[JsonObject]:
        """Of the threads of this process."""
        return sampled(job_id, asked)

    def types(self) -> None:
        """None to find: Python evaluates all expressions here."""

    @staticmethod
    def check_directory(place: Place) -> None:
        """Refuse to keep state elsewhere.

        Raises:
            UnsupportedStepError: the directory is not on this machine.
        """
        if local_path(place.directory) is None:
            raise UnsupportedStepError(
                f"a job without Spark keeps its state on this machine, not in {place.directory}",
                fix="set execution.checkpointing.dir to a path on this machine",
            )
