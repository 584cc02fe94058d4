"""stream.to_dataframe(): a program's stream as a streaming DataFrame, to continue with Spark's API.

In: a plan whose only end is the DataFrame.  Out: it; its query is the user's to start and stop.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from typing import TYPE_CHECKING

from headrace.hosts.spark.microbatch.build import build_packets
from headrace.hosts.spark.microbatch.results import records_frame
from headrace.hosts.spark.native.job import native_frame
from headrace.hosts.spark.session import job_session
from headrace.hosts.spark.sources.opening import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.graph.nodes import Step
    from headrace.plan.physical import PhysicalPlan
    from headrace.spi.job_spec import JobSpec


def dataframe_of(plan: PhysicalPlan, end: Step, spec: JobSpec, base: SparkSession) -> DataFrame:
    """The records that reach a step."""
    native = plan.native_job
    spark = job_session(base, spec.spark_settings, plan.slots)
    options = SourceOptions.of(spec)
    job_dir = spec.checkpoint_dir or _scratch_dir()
    if native is not None:
        return native_frame(native, spark, job_dir, options)
    packets = build_packets(plan, spark, job_dir, uuid.uuid4().hex, options)
    edge = next(edge for edge in plan.edges if edge.target == end.stable_id)
    return records_frame(packets, edge.id, edge.type_info)


def _scratch_dir() -> str:
    """A directory for as long as this process lives: nobody tells us when the query ends."""
    folder = tempfile.mkdtemp(prefix="headrace-dataframe-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
