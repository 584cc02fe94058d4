"""Where a program starts: makes streams, holds the graph, runs the job.

In: the user's program.  Out: a job.  Next: graph/stream_graph.py, then spi/executor.py
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.common.call_site import call_site
from headrace.common.configuration import Configuration, effective_configuration
from headrace.common.execution_config import ExecutionConfig
from headrace.common.job_client import JobClient
from headrace.common.options import OPTIONS
from headrace.common.restart_strategy import strategy_as_options, strategy_from_options
from headrace.common.time import to_millis
from headrace.datastream.arguments import check_instance
from headrace.datastream.checkpoint_config import CheckpointConfig
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_builder import Origin, as_type
from headrace.datastream.unexecuted import watch
from headrace.errors import InvalidArgumentError
from headrace.graph.nodes import Step
from headrace.graph.stream_graph import StreamGraph
from headrace.spi.executor import executor
from headrace.spi.job_spec import JobSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.common.job_execution_result import JobExecutionResult
    from headrace.common.opaque import DeclaredType, HostFrame, HostSession, UserFunction
    from headrace.common.restart_strategy import RestartStrategyConfiguration
    from headrace.common.typeinfo import TypeInformation
    from headrace.common.watermark_strategy import WatermarkStrategy
    from headrace.datastream.checkpointing_mode import CheckpointingMode
    from headrace.datastream.execution_mode import RuntimeExecutionMode
    from headrace.spi.decoding import Decoding
    from headrace.spi.executor import JobHandle
    from headrace.spi.source import Source

__all__ = ["StreamExecutionEnvironment"]

log = logging.getLogger(__name__)


class StreamExecutionEnvironment:
    """The context of a program.

    Example:
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([1, 2, 3]).map(lambda x: x * 2).print()  # doctest: +SKIP
        >>> env.execute("double")  # doctest: +SKIP
    """

    def __init__(
        self, configuration: Configuration | None = None, session: HostSession = None
    ) -> None:
        self._configuration = Configuration() if configuration is None else configuration
        self._session = session
        self._graph = StreamGraph()
        self._config = ExecutionConfig(self._configuration)
        self._checkpoint_config = CheckpointConfig(self._configuration)
        self._local_parallelism = min(os.cpu_count() or 1, 8)
        watch(self)

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, spark: HostSession = None
    ) -> StreamExecutionEnvironment:
        """A new environment.

        Args:
            configuration: settings in code; they win over HEADRACE_* variables and headrace.toml.
            spark: a SparkSession to run on; by default the active one, or one that headrace starts.
        """
        return StreamExecutionEnvironment(configuration, spark)

    # --- settings --------------------------------------------------------------------------------

    def _set(self, key: str, value: Any) -> StreamExecutionEnvironment:
        self._configuration.set_string(key, str(value))
        return self

    def _settings(self) -> Configuration:
        return effective_configuration(self._configuration)

    def configure(self, configuration: Configuration) -> None:
        """Take over all settings of a configuration."""
        self._configuration.add_all(configuration)

    def get_config(self) -> ExecutionConfig:
        """The execution config."""
        return self._config

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Settings of checkpoints."""
        return self._checkpoint_config

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """How many subtasks every step has, unless it sets its own."""
        if not isinstance(parallelism, int) or parallelism < 1:
            raise InvalidArgumentError(
                f"parallelism must be a positive number, not {parallelism!r}"
            )
        return self._set("parallelism.default", parallelism)

    def get_parallelism(self) -> int:
        """The default parallelism."""
        return int(self._settings().get_integer("parallelism.default", self._local_parallelism))

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """The number of key groups; fixed for the life of a job's state."""
        if not 0 < max_parallelism <= 32768:
            raise InvalidArgumentError(
                f"max parallelism must be in 1..32768, not {max_parallelism}"
            )
        return self._set("pipeline.max-parallelism", max_parallelism)

    def get_max_parallelism(self) -> int:
        """The number of key groups, or -1 when it is not set."""
        return int(self._settings().get_integer("pipeline.max-parallelism", -1))

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """STREAMING, BATCH or AUTOMATIC: running results, or one final result per key.

        BATCH takes bounded sources only; AUTOMATIC is BATCH if all sources are bounded. A bounded
        job ends by itself in every mode. See docs/execution-mode.md.
        """
        return self._set("execution.runtime-mode", execution_mode.name)

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """How long records wait at most for a buffer to fill, in continuous mode.

        Args:
            timeout_millis: 0 sends records at once, -1 only full buffers. A micro-batch is flushed
                as a whole, so there it has no effect.
        """
        return self._set("execution.buffer-timeout.interval", f"{timeout_millis} ms")

    def get_buffer_timeout(self) -> int:
        """What set_buffer_timeout was given, in milliseconds."""
        return int(self._settings().get_duration("execution.buffer-timeout.interval", 100))

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Accepted: the steps of a stage always run in one task."""
        return self._set("pipeline.operator-chaining.enabled", "false")

    def is_chaining_enabled(self) -> bool:
        """Whether disable_operator_chaining was not called; it has no effect."""
        return bool(
            self._settings().get_boolean("pipeline.operator-chaining.enabled", default_value=True)
        )

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Always: chains only need the same parallelism."""
        return True

    def enable_checkpointing(self, interval: Any, mode: Any = None) -> StreamExecutionEnvironment:
        """Start a batch every `interval`: a batch is a checkpoint of the whole job.

        Args:
            interval: milliseconds, a Duration, a timedelta, or text such as ``"5 seconds"``.
            mode: a CheckpointingMode; exactly-once by default.
        """
        self._set("execution.checkpointing.interval", f"{to_millis(interval)} ms")
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def set_restart_strategy(self, restart_strategy: RestartStrategyConfiguration) -> None:
        """What happens after a failure, in code instead of ``restart-strategy.*`` options.

        Args:
            restart_strategy: made by ``RestartStrategies``: ``fixed_delay_restart(3, 1000)``.
        """
        for key, value in strategy_as_options(restart_strategy).items():
            self._set(key, value)

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """What happens after a failure: as set in code or options, or Flink's default."""
        checkpointing = self._checkpoint_config.is_checkpointing_enabled()
        return strategy_from_options(self._settings(), checkpointing=checkpointing)

    def get_checkpoint_interval(self) -> int:
        """Milliseconds between batches, or -1 when batches follow each other at once."""
        return int(self._settings().get_duration("execution.checkpointing.interval", -1))

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The checkpointing mode."""
        return self._checkpoint_config.get_checkpointing_mode()

    get_checkpointing_consistency_mode = get_checkpointing_mode

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Never: batches need no alignment."""
        return False

    def is_force_unaligned_checkpoints(self) -> bool:
        """Never: batches need no alignment."""
        return False

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:
        """Accepted: the state store always writes changelogs."""
        return self._set("state.changelog.enabled", str(enabled).lower())

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """What enable_changelog_state_backend was given."""
        value = self._settings().get_string("state.changelog.enabled", "")
        return None if value == "" else value == "true"

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Where savepoints go."""
        return self._set("execution.checkpointing.savepoint-dir", directory)

    def get_default_savepoint_directory(self) -> str | None:
        """Where savepoints go."""
        return self._settings().get_string("execution.checkpointing.savepoint-dir", "") or None

    def get_default_local_parallelism(self) -> int:
        """The parallelism when nothing is set: the cores of this machine, at most 8."""
        return self._local_parallelism

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism that this environment has when nothing else is set."""
        self._local_parallelism = parallelism

    def register_slot_sharing_group(self, slot_sharing_group: Any) -> StreamExecutionEnvironment:
        """Accepted and ignored: Spark places tasks."""
        log.info("register_slot_sharing_group has no effect: Spark places tasks")
        return self

    def add_jars(self, *jars_path: str) -> None:
        """Jars for Spark, such as connectors; before the first job of this process."""
        self._append("spark.jars", jars_path)

    def add_classpaths(self, *classpaths: str) -> None:
        """Like add_jars."""
        self._append("spark.jars", classpaths)

    def _append(self, key: str, values: tuple[str, ...]) -> None:
        known = [part for part in self._configuration.get_string(key, "").split(",") if part]
        self._set(key, ",".join([*known, *map(_without_scheme, values)]))

    def add_python_file(self, file_path: str) -> None:
        """A module, package folder or zip that the workers of a cluster need."""
        self._append("python.files", (file_path,))

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Packages for the workers: pip installs them here, Spark sends them to the workers.

        They come before other packages on the workers' path; what a worker has imported already
        for headrace itself, such as pyarrow, stays as it is. Machines must be of one kind.

        Args:
            requirements_file_path: a requirements.txt.
            requirements_cache_dir: a directory with the packages; then the network is not used.
        """
        cache = f"#{requirements_cache_dir}" if requirements_cache_dir else ""
        self._set("python.requirements", f"{requirements_file_path}{cache}")

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """A zip or tar.gz file that workers unpack into their working directory.

        Args:
            archive_path: the file.
            target_dir: the folder it becomes; the file's name if None.
        """
        name = archive_path if target_dir is None else f"{archive_path}#{target_dir}"
        self._append("python.archives", (name,))

    def set_python_executable(self, python_exec: str) -> None:
        """The interpreter that the workers run; before the first job of this process."""
        os.environ["PYSPARK_PYTHON"] = python_exec
        self._set("python.executable", python_exec)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """A file for the workers (Spark's spark.files)."""
        self._append("spark.files", (file_path,))

    # --- sources ----------------------------------------------------------------------------

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy | None,
        source_name: str,
        type_info: DeclaredType = None,
    ) -> DataStream:
        """The stream of a Source.

        Args:
            source: what to read.
            watermark_strategy: how records get timestamps and watermarks.
            source_name: for plans, metrics and errors.
            type_info: the type of the records, if the source does not know it.
        """
        from headrace.runtime.operators.timestamps import picked_timestamp
        from headrace.spi.source import Source as SourceBase

        use = "use a source of headrace.datastream.connectors, or derive from PythonSource"
        check_instance("from_source", source, SourceBase, use)
        if watermark_strategy is not None and (
            picked_timestamp(watermark_strategy.timestamp_assigner) is not None
        ):
            source = source.without_timestamps()
        decoding = source.decoding()
        told = None if type_info is None else as_type(type_info)
        # what is told of a source that hands over raw messages is the type of the decoded ones
        produced = told if told is not None and decoding is None else source.produced_type()
        step = Step(
            id=self._graph.next_id(),
            kind="source",
            name=source_name,
            output_type=produced,
            call_site=call_site(),
            source=source,
        )
        self._graph.add(step)
        stream = DataStream(self, [Origin(step, None, produced)])
        if decoding is not None:
            stream = _decoded(stream, decoding, told or decoding.decoder.produced_type())
        if watermark_strategy is None or _says_nothing(watermark_strategy):
            return stream
        before = stream._step
        before.inner = True  # uid() of what comes back names the step behind it
        stream = stream.assign_timestamps_and_watermarks(watermark_strategy)
        if decoding is not None:
            stream._step.parts = [*before.parts, before]
        return stream

    def from_collection(self, collection: Any, type_info: DeclaredType = None) -> DataStream:
        """A bounded stream of the items of a list."""
        from headrace.connectors.collection.source import CollectionSource

        declared = None if type_info is None else as_type(type_info)
        check_instance("from_collection", collection, Iterable, "from_collection([1, 2, 3])")
        source = CollectionSource(list(collection), declared, where=call_site())
        return self.from_source(source, None, "Collection Source")

    def from_dataframe(self, dataframe: HostFrame) -> DataStream:
        """The stream of a Spark DataFrame: a streaming one as it goes, a batch one to its end."""
        return self._stream_of_frame(dataframe)

    def _stream_of_frame(self, dataframe: HostFrame, *, lines: bool = False) -> DataStream:
        """The stream of a DataFrame: of rows, or of lines of a table."""
        if self._session is None:
            self._session = dataframe.sparkSession
        source = executor().source_of(dataframe, lines=lines)
        return self.from_source(source, None, "DataFrame Source")

    def add_source(
        self,
        source_func: UserFunction,
        source_name: str = "Custom Source",
        type_info: DeclaredType = None,
    ) -> DataStream:
        """The stream of a source; PyFlink's Java SourceFunctions do not exist here."""
        return self.from_source(source_func, None, source_name, type_info)

    def create_input(self, input_format: Any, type_info: DeclaredType = None) -> DataStream:
        """The stream of an input format that is also a Source."""
        return self.from_source(input_format, None, "Input Format", type_info)

    def socket_text_stream(self, hostname: str, port: int) -> DataStream:
        """Lines of text from a socket; what was in flight is lost after a failure."""
        from headrace.connectors.socket.source import SocketTextSource

        return self.from_source(SocketTextSource(hostname, port), None, "Socket Source")

    def from_sequence(self, start: int, end: int) -> DataStream:
        """All whole numbers from `start` to `end`, both included."""
        from headrace.connectors.generator.number_seq import NumberSequenceSource

        return self.from_source(NumberSequenceSource(start, end), None, "Sequence Source")

    # --- running ----------------------------------------------------------------------------

    def get_spark_session(self) -> SparkSession:
        """The SparkSession that jobs of this environment run on; starts Spark if needed."""
        if self._session is None:
            self._session = executor().session(self.job_spec("session"))
        session: SparkSession = self._session
        return session

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program and wait for its end; Ctrl-C stops the job cleanly."""
        client = self.execute_async(job_name or "headrace job")
        return client._wait()

    def execute_async(self, job_name: str = "headrace job") -> JobClient:
        """Start the program and return; the client can watch and cancel it."""
        return JobClient(self._start(self._take_graph(), job_name))

    def _take_graph(self) -> StreamGraph:
        """The program so far; the next execute starts a new one from the same streams."""
        return self._graph.cut_off(self._graph.sinks())

    def _start(self, program: StreamGraph, name: str, *, kind: str = "job") -> JobHandle:
        spec = self.job_spec(name, kind)
        return executor().execute(program, spec.for_preview() if kind == "preview" else spec)

    def job_spec(self, name: str, kind: str = "job") -> JobSpec:
        """What the settings say about a job of this environment, as an executor takes it. Ours.

        Args:
            name: of the job, unless ``pipeline.name`` is set.
            kind: job, preview or collect.
        """
        settings = self._settings()
        values = settings.to_dict()
        maximum = self.get_max_parallelism()
        parallelism = self.get_parallelism()
        return JobSpec(
            name=settings.get_string("pipeline.name", "") or name,
            parallelism=parallelism,
            max_parallelism=None if maximum < 0 else maximum,
            master=settings.get_string("spark.master", f"local[{max(parallelism, 2)}]"),
            spark_settings=_spark_settings(settings),
            options=values,
            checkpoint_dir=settings.get_string("execution.checkpointing.dir", "") or None,
            interval_ms=max(0, self.get_checkpoint_interval()),
            job_parameters=settings.get(OPTIONS["pipeline.global-job-parameters"]) or {},
            session=self._session,
            kind=kind,
        )

    def get_execution_plan(self) -> str:
        """The program as JSON, in the shape that Flink's plan visualisers read."""
        return self._explain(as_json=True)

    def explain(self) -> str:
        """The program as text: levels, chains, exchanges, and what runs natively or why not."""
        return self._explain(as_json=False)

    def _explain(self, *, as_json: bool) -> str:
        program = self._graph.reachable_from(self._graph.sinks())
        self._graph.note_looked_at()
        return executor().explain(program, self.job_spec("explain"), as_json=as_json)

    def close(self) -> None:
        """Nothing to release: Spark lives on for other environments of this process."""


def _decoded(raw: DataStream, decoding: Decoding, decoded: TypeInformation) -> DataStream:
    """The stream of a source that hands over raw messages."""
    from headrace.runtime.operators.decode import DecodeOperator

    source = raw._step
    source.inner = True
    operator = DecodeOperator(decoding, raw.get_type(), decoded)
    stream = raw._transform("decode", source.name, operator, decoded)
    stream._step.parts = [source]
    return stream


def _spark_settings(settings: Configuration) -> dict[str, str]:
    """What goes to Spark as it is, with Flink's options for jars among its own."""
    values = settings.to_dict()
    found = {k: v for k, v in values.items() if k.startswith("spark.") and k != "spark.master"}
    jars = [jar for jar in found.get("spark.jars", "").split(",") if jar]
    for key in ("pipeline.jars", "pipeline.classpaths"):
        listed = Configuration.parse_list_value(values.get(key))
        jars += [_without_scheme(jar) for jar in listed]
    return {**found, "spark.jars": ",".join(dict.fromkeys(jars))} if jars else found


def _without_scheme(path: str) -> str:
    """The path of a file URL, as Spark's own settings have it; other URLs as they are."""
    return path.removeprefix("file://")


def _says_nothing(strategy: WatermarkStrategy) -> bool:
    return (
        strategy.delay_ms is None
        and strategy.generator_supplier is None
        and strategy.timestamp_assigner is None
    )
