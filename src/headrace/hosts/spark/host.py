"""The Spark host: a plan as one streaming query, an epoch as one micro-batch.

    plan ─▶ PacketProgram or NativeProgram: a streaming DataFrame, and what a batch of it reported
         ─▶ MicroBatchRun (microbatch/run.py): the query, its commands, its sources

In: a JobSpec, then plans.  Out: runs, and checkpoints (state/checkpoints.py).
Next: microbatch/build.py
"""

from __future__ import annotations

import threading
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from headrace.errors import InternalError
from headrace.hosts.spark.dataframe import dataframe_of
from headrace.hosts.spark.executors import executors_of
from headrace.hosts.spark.inspection import Inspector
from headrace.hosts.spark.microbatch.build import build_packets
from headrace.hosts.spark.microbatch.results import packets_of
from headrace.hosts.spark.microbatch.run import MicroBatchRun
from headrace.hosts.spark.microbatch.worker import PLANNED_MS
from headrace.hosts.spark.native.job import open_native, run_native_batch
from headrace.hosts.spark.native.types import SparkTypes
from headrace.hosts.spark.protection import check_protected, protection
from headrace.hosts.spark.session import base_session, driver_host, job_session
from headrace.hosts.spark.sources.alignment_files import DriverBoard
from headrace.hosts.spark.sources.dataframe_source import DataFrameSource
from headrace.hosts.spark.sources.opening import SourceOptions, streams_of
from headrace.hosts.spark.state.checkpoint_files import forget_uncommitted_state
from headrace.hosts.spark.state.checkpoints import QUERY_FOLDER, SparkCheckpoints
from headrace.hosts.spark.state.clearing import Clearing
from headrace.hosts.spark.threads import spark_samples, spark_threads
from headrace.hosts.spark.user_files import ship
from headrace.io.storage import local_path
from headrace.plan.alignment import aligns
from headrace.runtime.messages import read_messages
from headrace.runtime.metrics import OperatorMetrics
from headrace.spi.host import Carriage, EpochResults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.common.opaque import JsonObject
    from headrace.graph.nodes import Step
    from headrace.hosts.spark.microbatch.query import SparkQuery
    from headrace.plan.physical import NativeJob, PhysicalPlan
    from headrace.runtime.task_samples import Sampling
    from headrace.spi.host import ExecutorFacts, OnDelivery, OnEpoch, Place
    from headrace.spi.job_spec import JobSpec


_RETAINED = "execution.checkpointing.num-retained"
_SPARK_RETAINED = "spark.sql.streaming.minBatchesToRetain"
# Spark keeps two snapshots for any number up to the batches between them, and files of state that
# are older than the number it stores again in every snapshot (docs/decisions/0017).
_RETAINED_BY_SPARK = 10


class SparkHost:
    """Runs plans on the running Spark of this process, or on one that it starts."""

    carriage: ClassVar[Carriage] = Carriage(
        whole="One streaming query",
        engine="native",
        source="a source is read by Spark",
        first="mapInArrow",
        later="transformWithState, one call per subtask",
        later_in_batch="mapInArrow",
    )

    def __init__(self, spec: JobSpec) -> None:
        self._spec = spec
        self._base: SparkSession | None = spec.session
        self._session: SparkSession | None = None
        self._inspector: Inspector | None = None  # of the newest run
        self._reading = threading.Lock()  # held while a savepoint reads files of state

    @property
    def base(self) -> SparkSession:
        """The session that jobs have in common."""
        if self._base is None:
            spec = self._spec
            own = protection(spec, spec.master)
            self._base = base_session({**own, **spec.spark_settings}, spec.master)
        check_protected(self._base, self._spec)
        return self._base

    @property
    def folder(self) -> str:
        """Where its checkpoints are."""
        return QUERY_FOLDER

    @property
    def epochs_overlap(self) -> bool:
        """One after the other."""
        return False

    @property
    def web(self) -> dict[str, str]:
        """Spark's own pages."""
        address = self.base.sparkContext.uiWebUrl
        return {"spark": address} if address else {}

    def executors(self) -> list[ExecutorFacts]:
        """Spark's own list."""
        return executors_of(self.base)

    def thread_infos(self, executor: str | None) -> list[JsonObject]:
        """Of JVMs and Python."""
        return spark_threads(self.base, self._inspector, executor)

    def samples(self, job_id: str, asked: Sampling) -> list[JsonObject]:
        """Of the Python workers."""
        return spark_samples(self._inspector, job_id, asked)

    def types(self) -> SparkTypes:
        """Spark's analyser, for the types of native steps."""
        return SparkTypes(self.base)

    def prepare(self, plan: PhysicalPlan, place: Place) -> None:
        """Make the session of the job."""
        spec = self._spec
        # One more than is asked for: state is a batch ahead until the batch is committed, and with
        # one Spark would clear away what the committed batch needs as soon as that is stored.
        retained = max(spec.option(_RETAINED), _RETAINED_BY_SPARK) + 1
        self._session = job_session(
            self.base,
            {
                **ship(self.base.sparkContext, spec.option),
                _SPARK_RETAINED: str(retained),
                **spec.spark_settings,
            },
            plan.slots,
            local_checkpoint=self._is_local(place),
        )

    def _is_local(self, place: Place) -> bool:
        """Whether all of a job, its tasks and its checkpoint, is on this machine.

        On a cluster Spark runs tasks again, and then the newest file of state has to win.
        """
        master = self.base.sparkContext.master or ""
        return master.startswith("local") and local_path(place.directory) is not None

    @property
    def session(self) -> SparkSession:
        """The session of the job."""
        assert self._session is not None, "prepare() makes it"
        return self._session

    def open(
        self, plan: PhysicalPlan, place: Place, on_epoch: OnEpoch, on_delivery: OnDelivery
    ) -> MicroBatchRun:
        """A new query over the plan."""
        options = SourceOptions.of(
            self._spec, unlimited=plan.batch, in_pieces=self._spec.kind == "preview"
        )
        native = plan.native_job
        board = DriverBoard() if native is None and aligns(plan) else None
        if board is not None:
            options = replace(options, board=board.folder)
        self._inspector = None if native is not None else Inspector(*driver_host(self.session))
        program: _Program = (
            _PacketProgram(plan, self._inspector)
            if native is None
            else _NativeProgram(native, place.job_id)
        )
        if self._is_local(place):
            forget_uncommitted_state(f"{place.directory}/{QUERY_FOLDER}")
        try:
            frame = program.open(self.session, place.directory, options)
        except BaseException:
            if self._inspector is not None:
                self._inspector.close()
            raise
        return MicroBatchRun(
            plan,
            frame,
            directory=place.directory,
            name=self._spec.name,
            interval_ms=self._spec.interval_ms,
            results=program.results,
            on_epoch=on_epoch,
            feeds=options.piece_writers or (),
            local=self._is_local(place),
            clearing=self._clearing(place),
            board=board,
            inspector=self._inspector,
        )

    def _clearing(self, place: Place) -> Clearing | None:
        """Clears away state; where others may write it too, or the user told Spark, Spark does."""
        if not self._is_local(place) or _SPARK_RETAINED in self._spec.spark_settings:
            return None
        retained = self._spec.option(_RETAINED)
        return Clearing(f"{place.directory}/{QUERY_FOLDER}", retained, self._reading)

    def checkpoints(self, plan: PhysicalPlan, place: Place) -> SparkCheckpoints:
        """What Spark has stored of the job."""
        streams = tuple(streams_of(each.source, where=each.step.call_site) for each in plan.sources)
        return SparkCheckpoints(
            self.session,
            place.directory,
            streams=streams,
            stages=len(plan.stages),
            slots=plan.slots if plan.stages else 1,
            commands=plan.uses_time,
            reading=self._reading,
        )

    # --- what only Spark has ---------------------------------------------------------------------

    def frame_of(self, plan: PhysicalPlan, end: Step) -> DataFrame:
        """The records that reach a step as a streaming DataFrame."""
        return dataframe_of(plan, end, self._spec, self.base)

    @staticmethod
    def source_of(frame: DataFrame, *, lines: bool = False) -> DataFrameSource:
        """The source that reads a DataFrame."""
        return DataFrameSource(frame, lines=lines)


class _Program(Protocol):
    """What a query reads, and what a batch of it comes to."""

    def open(self, spark: SparkSession, directory: str, options: SourceOptions) -> DataFrame: ...

    def results(self, batch: DataFrame, number: int, query: SparkQuery) -> EpochResults: ...


class _PacketProgram:
    """Stages in Python: a batch is packets for the driver."""

    def __init__(self, plan: PhysicalPlan, inspector: Inspector | None) -> None:
        self._plan = plan
        self._inspector = b"" if inspector is None else inspector.address

    def open(self, spark: SparkSession, directory: str, options: SourceOptions) -> DataFrame:
        # an id for every attempt: workers must not go on with what they cached in the last one
        return build_packets(
            self._plan, spark, directory, uuid.uuid4().hex, options, self._inspector
        )

    def results(self, batch: DataFrame, number: int, query: SparkQuery) -> EpochResults:
        if self._plan.batch and number > 0:
            raise InternalError(f"a job in BATCH mode was given a second batch, number {number}")
        # Spark hands it to every task of the batch, however often it is run
        batch.sparkSession.sparkContext.setLocalProperty(PLANNED_MS, str(query.planned_ms()))
        return read_messages(packets_of(batch))


class _NativeProgram:
    """All on Catalyst: a batch is rows, which Spark writes to the files of sinks."""

    def __init__(self, job: NativeJob, job_id: str) -> None:
        self._job = job
        self._job_id = job_id

    def open(self, spark: SparkSession, directory: str, options: SourceOptions) -> DataFrame:
        return open_native(self._job, spark, directory, options)

    def results(self, batch: DataFrame, number: int, query: SparkQuery) -> EpochResults:
        staged = run_native_batch(batch, self._job, number, self._job_id)
        written = {uid: sum(file.rows for file in files) for uid, files in staged.items()}
        return EpochResults(
            staged,
            # nothing else is counted: Catalyst has no operators of ours
            [
                (0, {uid: OperatorMetrics(records_in=rows).report()})
                for uid, rows in written.items()
                if rows
            ],
        )
