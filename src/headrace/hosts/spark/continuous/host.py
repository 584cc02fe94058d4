"""The continuous host: the same plans as micro-batches run, with the latency of a stream.

In: a JobSpec, then plans.  Out: runs (hosts/continuous/coordinator.py) on Spark's real-time mode
(carrier.py), and checkpoints (hosts/continuous/checkpoints.py).  Next: carrier.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.hosts.continuous.checkpoints import SegmentCheckpoints
from headrace.hosts.continuous.coordinator import ContinuousRun
from headrace.hosts.continuous.epochs import FOLDER
from headrace.hosts.continuous.feeding import task_count
from headrace.hosts.continuous.settings import (
    loop_settings,
    read_in_python,
    refuse_batch,
    run_settings,
)
from headrace.hosts.continuous.slots import SlotNeed
from headrace.hosts.continuous.tasks import TaskCode
from headrace.hosts.spark.continuous import jvm
from headrace.hosts.spark.continuous.carrier import SparkCarrier
from headrace.hosts.spark.executors import executors_of
from headrace.hosts.spark.inspection import Inspector
from headrace.hosts.spark.protection import check_protected, protection
from headrace.hosts.spark.session import base_session, driver_host, job_session
from headrace.hosts.spark.sources.dataframe_source import DataFrameSource
from headrace.hosts.spark.threads import spark_samples, spark_threads
from headrace.hosts.spark.user_files import ship
from headrace.spi.host import Carriage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.common.opaque import JsonObject
    from headrace.graph.nodes import Step
    from headrace.plan.physical import PhysicalPlan
    from headrace.runtime.task_samples import Sampling
    from headrace.spi.host import ExecutorFacts, OnDelivery, OnEpoch, Place
    from headrace.spi.job_spec import JobSpec

# stages for which a session has slots that is started before the program is known
_USUAL_STAGES = 8


class ContinuousHost:
    """Runs plans on the running Spark of this process, or on one that it starts."""

    carriage: ClassVar[Carriage] = Carriage(
        whole="One endless query (continuous mode)",
        engine="python",
        source="a source is read by its tasks",
        first="tasks of Spark that run until the job ends",
        later="tasks of Spark that run until the job ends, one per subtask",
        later_in_batch="",
    )

    def __init__(self, spec: JobSpec) -> None:
        self._spec = spec
        self._base: SparkSession | None = spec.session
        self._session: SparkSession | None = None
        self._inspector: Inspector | None = None  # of the newest run
        jvm.check_version()
        refuse_batch(spec)

    @property
    def folder(self) -> str:
        """Where its checkpoints are."""
        return FOLDER

    @property
    def epochs_overlap(self) -> bool:
        """Tasks go on while sinks commit."""
        return True

    @property
    def web(self) -> dict[str, str]:
        """Spark's own pages."""
        address = None if self._base is None else self._base.sparkContext.uiWebUrl
        return {"spark": address} if address else {}

    def executors(self) -> list[ExecutorFacts]:
        """Spark's own list."""
        return [] if self._base is None else executors_of(self._base)

    def thread_infos(self, executor: str | None) -> list[JsonObject]:
        """Of JVMs and Python."""
        assert self._base is not None, "prepare() starts it"
        return spark_threads(self._base, self._inspector, executor)

    def samples(self, job_id: str, asked: Sampling) -> list[JsonObject]:
        """Of the Python workers."""
        return spark_samples(self._inspector, job_id, asked)

    def types(self) -> None:
        """None to find: Python evaluates all expressions here."""

    def prepare(self, plan: PhysicalPlan, place: Place) -> None:
        """Make the session of the job; refuse what cannot run here, or not at the same time."""
        spec = self._spec
        self._sources = [read_in_python(each) for each in plan.sources]
        self._counts = [task_count(source, spec.parallelism) for source in self._sources]
        need = SlotNeed.of(plan, self._counts)
        base = self._start(need.count)
        self._check_can_fit(base, need)
        missing = jvm.missing_settings(base)
        if missing:
            given = " ".join(f"--conf {key}={value}" for key, value in missing.items())
            raise ConfigurationError(
                "the executors of this Spark were started without the settings of continuous mode",
                fix=f"start Spark with them: {given}",
            )
        settings = {**jvm.SESSION_SETTINGS, **ship(base.sparkContext, spec.option)}
        self._session = job_session(base, {**spec.spark_settings, **settings}, plan.slots)

    def _start(self, needed: int) -> SparkSession:
        if self._base is None:
            spec = self._spec
            # every task has a thread of its own, and most of them wait for records
            master = spec.master if "spark.master" in spec.options else f"local[{needed}]"
            own = {} if master.startswith("local") else jvm.PROCESS_SETTINGS
            own = {**own, **protection(spec, master)}
            self._base = base_session({**own, **spec.spark_settings}, master)
        check_protected(self._base, self._spec)
        return self._base

    def _check_can_fit(self, base: SparkSession, need: SlotNeed) -> None:
        """Refuse what can never run; slots that may come are waited for (coordinator.py)."""
        most = jvm.most_slots(base)
        if most is not None and most < need.count:
            raise ConfigurationError(
                f"continuous mode runs all tasks at the same time, so this job needs {need}, and "
                f"Spark never has more than {most}",
                fix=f"start Spark with more (spark.master: local[{need.count}], more executor "
                "cores, or spark.dynamicAllocation.minExecutors), or lower the parallelism",
            )

    def open(
        self, plan: PhysicalPlan, place: Place, on_epoch: OnEpoch, on_delivery: OnDelivery
    ) -> ContinuousRun:
        """A new run from the newest epoch."""
        assert self._session is not None, "prepare() makes it"
        spec = self._spec
        code = TaskCode.maker(plan, self._sources, self._counts, place, loop_settings(spec))
        host, reached_as = driver_host(self._session)
        self._inspector = Inspector(host, reached_as)
        carrier = SparkCarrier(code, self._session, name=spec.name, inspector=self._inspector)
        return ContinuousRun(
            plan,
            self._sources,
            directory=place.directory,
            carrier=carrier,
            settings=run_settings(spec, host, reached_as),
            counts=self._counts,
            on_epoch=on_epoch,
            on_delivery=on_delivery,
        )

    def checkpoints(self, plan: PhysicalPlan, place: Place) -> SegmentCheckpoints:
        """What is stored of the job."""
        return SegmentCheckpoints(plan, place.directory)

    # --- what only Spark has ---------------------------------------------------------------------

    @property
    def base(self) -> SparkSession:
        """The session that jobs have in common; before a plan is known, with room for most."""
        return self._start(_USUAL_STAGES * self._spec.parallelism)

    def frame_of(self, plan: PhysicalPlan, end: Step) -> DataFrame:
        """None: Spark's own streams are micro-batches."""
        raise UnsupportedStepError(
            "to_dataframe() gives a stream to Spark, which runs it in micro-batches",
            where=end.call_site,
            fix="remove headrace.execution.mode, or write the stream to files or to Kafka",
        )

    @staticmethod
    def source_of(frame: DataFrame, *, lines: bool = False) -> DataFrameSource:
        """The source that reads a DataFrame, which a plan will refuse with its line."""
        return DataFrameSource(frame, lines=lines)
