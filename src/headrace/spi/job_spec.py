"""What a program and its configuration say about a job, before anything is planned or started.

In: the environment (datastream/stream_execution_environment.py).  Out: a JobSpec for an Executor.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.common.configuration import Configuration
from headrace.common.options import OPTIONS

if TYPE_CHECKING:
    from headrace.common.opaque import HostSession, OptionValue


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What the environment and the configuration say about a job."""

    name: str
    parallelism: int
    max_parallelism: int | None = None
    master: str = "local[*]"
    spark_settings: dict[str, str] = field(default_factory=dict)
    options: dict[str, OptionValue] = field(default_factory=dict)
    checkpoint_dir: str | None = None
    interval_ms: int = 0
    job_parameters: dict[str, str] = field(default_factory=dict)
    # what the user has started to run on: a SparkSession
    session: HostSession = None
    kind: str = "job"  # preview and collect are left out of lists of jobs

    def for_preview(self) -> JobSpec:
        """The same program for a look at its first records.

        In small batches, so that the first one is soon over however much there is to read; and in
        a directory of its own: the checkpoint of the job itself stays as it is.
        """
        begins = ("execution.checkpointing.", "execution.state-recovery.", "headrace.jobs.unique")
        kept = {key: value for key, value in self.options.items() if not key.startswith(begins)}
        limits = {"source.max-records-per-batch": 1000, "source.max-files-per-batch": 1}
        return replace(
            self, kind="preview", checkpoint_dir=None, interval_ms=0, options={**kept, **limits}
        )

    def configuration(self) -> Configuration:
        """All options, as they were set."""
        return Configuration.from_dict(self.options)

    def option(self, key: str) -> OptionValue:
        """The value of an option in its type, or its default."""
        return self.configuration().get(OPTIONS[key])
