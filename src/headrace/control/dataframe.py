"""stream.to_dataframe(): a program's stream as a streaming DataFrame, to go on with Spark's API."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from typing import TYPE_CHECKING, Any

from headrace.data.codec import codec_for
from headrace.datastream.stream_builder import add_step
from headrace.errors import InvalidArgumentError
from headrace.hosts.spark.microbatch.build import build_packets
from headrace.hosts.spark.microbatch.results import records_frame
from headrace.hosts.spark.native.job import native_frame, native_settings
from headrace.hosts.spark.native.types import SparkTypes
from headrace.hosts.spark.session import job_session
from headrace.hosts.spark.sources.dataframe_source import DataFrameSource
from headrace.hosts.spark.sources.opening import SourceOptions
from headrace.plan.planner import plan
from headrace.plan.rules.resolve_execution_mode import runs_in_batch

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.spi.source import Source


def dataframe_source(dataframe: Any) -> Source:
    """The source that reads a DataFrame."""
    return DataFrameSource(dataframe)


def to_dataframe(env: StreamExecutionEnvironment, stream: DataStream) -> Any:
    """The streaming DataFrame of one stream; its query is the user's to start and stop."""
    if codec_for(stream.get_type()).schema is None:
        raise InvalidArgumentError(
            "to_dataframe needs a stream with a type, and this one is pickled",
            fix="give the last step an output_type, such as Types.ROW_NAMED([...], [...])",
        )
    end = add_step(
        env,
        "dataframe",
        "DataFrame",
        None,
        stream.get_type(),
        [(stream._origins, stream._partitioning)],
    )
    graph = env._graph.reachable_from([end])
    env._graph.steps.remove(end)
    base = env.get_spark_session()
    spec = env._spec("dataframe")
    if runs_in_batch(graph, spec.option("execution.runtime-mode")):
        raise InvalidArgumentError(
            "to_dataframe gives a streaming DataFrame, and the program is in BATCH mode",
            fix="use RuntimeExecutionMode.STREAMING, or write the stream to files and read those",
        )
    physical = plan(graph, spec.plan_options(uuid.uuid4().hex), SparkTypes(base))
    graph.learn_types(physical.graph)
    native = physical.native_job
    settings = {**native_settings(native, own_query=False), **spec.spark_settings}
    spark = job_session(base, settings, physical.slots)
    options = SourceOptions.from_configuration(spec.options, parallelism=spec.parallelism)
    job_dir = spec.checkpoint_dir or _scratch_dir()
    if native is not None:
        return native_frame(native, spark, job_dir, options)
    packets = build_packets(physical, spark, job_dir, uuid.uuid4().hex, options)
    edge = next(edge for edge in physical.edges if edge.target == end.stable_id)
    return records_frame(packets, edge.id, edge.type_info)


def _scratch_dir() -> str:
    """A directory for as long as this process lives: nobody tells us when the query ends."""
    folder = tempfile.mkdtemp(prefix="headrace-dataframe-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
