"""The streams a user works with: DataStream and KeyedStream.

A stream runs nothing: each call adds a step to the graph and returns the stream of its results.
In: calls of the user's program.  Out: graph/nodes.py steps.  Next: stream_execution_environment.py
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, overload

from headrace.api.output_tag import OutputTag
from headrace.api.state import MapStateDescriptor
from headrace.common.call_site import call_site
from headrace.common.typeinfo import (
    BasicTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.common.types import Row
from headrace.common.watermark_strategy import ColumnAssigner, WatermarkStrategy
from headrace.datastream.arguments import (
    check_field,
    check_function,
    check_instance,
    check_key_of_first,
    check_positive,
    check_text,
)
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.datastream.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from headrace.datastream.data_stream_sink import DataStreamSink
from headrace.datastream.interval_join import IntervalJoin, IntervalJoined, needs_keys
from headrace.datastream.join_keys import check_other
from headrace.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from headrace.datastream.rolling import RollingAggregates
from headrace.datastream.stream_builder import Origin, add_step, as_type
from headrace.datastream.windowed_stream import AllWindowedStream, WindowedStream
from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.expr.expressions import VALUE, Expression, is_expression
from headrace.expr.rows import RowEvaluator
from headrace.graph.nodes import NativeKind, NativeStep
from headrace.runtime.exchange.partition import (
    Broadcast,
    Custom,
    Forward,
    Global,
    KeyGroups,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)
from headrace.runtime.key_selectors import Keying, key_selector
from headrace.runtime.operators.expressions import ExpressionFilter, ExpressionProjection
from headrace.runtime.operators.keyed import (
    KeyedMapOperator,
    KeyedProcessOperator,
    ReduceOperator,
)
from headrace.runtime.operators.rolling import RollingOperator
from headrace.runtime.operators.sink import SinkOperator
from headrace.runtime.operators.stateless import (
    FilterOperator,
    FlatMapOperator,
    MapOperator,
    ProcessOperator,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from headrace.api.window import WindowAssigner
    from headrace.common.execution_config import ExecutionConfig
    from headrace.common.opaque import ColumnLike, DeclaredType, FieldOrSelector, UserFunction
    from headrace.datastream.preview import Preview
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.graph.nodes import Step
    from headrace.runtime.operators.base import Operator

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "CoGroupedStreams",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "IntervalJoin",
    "IntervalJoined",
    "JoinedStreams",
    "KeyedStream",
    "WindowedStream",
]

log = logging.getLogger(__name__)


class DataStream:
    """A stream of records of one type."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        origins: list[Origin],
        partitioning: Partitioning | None = None,
    ) -> None:
        self._env = env
        self._origins = origins
        self._partitioning = partitioning or Forward()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._described()}>"

    def _described(self) -> str:
        """The steps that make the stream, the type of its records, and the lines of the program."""
        names = " and ".join(
            repr(origin.step.name) + ("" if origin.tag is None else f" side output {origin.tag!r}")
            for origin in self._origins
        )
        places = ", ".join(dict.fromkeys(str(origin.step.call_site) for origin in self._origins))
        record = self.get_type()
        kind = "any records" if isinstance(record, PickledBytesTypeInfo) else str(record)
        return f"{names} of {kind}, from {places}"

    # --- what the user says about the last step ------------------------------------------------

    @property
    def _step(self) -> Step:
        return self._origins[-1].step

    def get_name(self) -> str:
        """The name of the step that makes this stream."""
        return self._step.name

    def name(self, name: str) -> DataStream:
        """Name the step, for plans, metrics and errors."""
        self._step.name = check_text("name", name)
        return self

    def uid(self, uid: str) -> DataStream:
        """Give the step an id under which its state is found again when the program has changed."""
        return self._with_uid(check_text("uid", uid))

    def set_uid_hash(self, uid_hash: str) -> DataStream:
        """Use a given id for the step's state. headrace keeps state under the uid itself."""
        return self._with_uid(check_text("set_uid_hash", uid_hash))

    def _with_uid(self, uid: str) -> DataStream:
        self._step.uid = uid
        for part in self._step.parts:
            part.uid = f"{uid}/{part.kind}"
        return self

    def set_parallelism(self, parallelism: int) -> DataStream:
        """How many subtasks the step has."""
        self._step.parallelism = check_positive("set_parallelism", parallelism)
        return self

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """The number of key groups of the step: the highest parallelism it can ever have."""
        self._step.max_parallelism = check_positive("set_max_parallelism", max_parallelism)
        return self

    def force_non_parallel(self) -> DataStream:
        """One subtask, now and always."""
        return self.set_parallelism(1).set_max_parallelism(1)

    def get_type(self) -> TypeInformation:
        """The type of the records."""
        return self._origins[0].type_info

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment this stream belongs to."""
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        """The execution config of the environment."""
        return self._env.get_config()

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        """Accepted and ignored: buffers have one timeout for the whole job.

        It is `StreamExecutionEnvironment.set_buffer_timeout`, for continuous mode.
        """
        log.info("set_buffer_timeout of a stream has no effect: use that of the environment")
        return self

    def start_new_chain(self) -> DataStream:
        """Accepted and ignored: a stage calls its steps one after the other in any case."""
        log.info("start_new_chain has no effect: chains change nothing here but speed")
        return self

    def disable_chaining(self) -> DataStream:
        """Accepted and ignored: a stage calls its steps one after the other in any case."""
        log.info("disable_chaining has no effect: chains change nothing here but speed")
        return self

    def slot_sharing_group(self, slot_sharing_group: Any) -> DataStream:
        """Accepted and ignored: Spark places tasks."""
        log.info("slot_sharing_group has no effect: Spark places tasks")
        return self

    def set_description(self, description: str) -> DataStream:
        """A longer text about the step, for plans."""
        self._step.description = description
        return self

    # --- transformations -----------------------------------------------------------------------

    def _transform(
        self,
        kind: str,
        name: str,
        operator: Operator | None,
        output_type: TypeInformation,
        *,
        native: NativeStep | None = None,
        inferred: bool = False,
    ) -> DataStream:
        step = add_step(
            self._env,
            kind,
            name,
            operator,
            output_type,
            [(self._origins, self._partitioning)],
            native=native,
            keyings=(self._keying(),),
            inferred=inferred or self._keeps_guess(output_type),
        )
        return DataStream(self._env, [Origin(step, None, output_type)])

    def _keeps_guess(self, output_type: TypeInformation) -> bool:
        """A step that passes its input's type on passes on that it was a guess."""
        return any(o.step.inferred and o.type_info is output_type for o in self._origins)

    def _keying(self) -> Keying | None:
        return None

    def map(self, func: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """One result for each record.

        Args:
            func: a function, a MapFunction, or a list of column expressions (a projection).
            output_type: the type of the results; taken from type hints if not given.

        Example:
            >>> ds.map(lambda x: x * 2, output_type=Types.INT())  # doctest: +SKIP
        """
        if is_expression(func) or (
            isinstance(func, list | tuple) and func and all(map(is_expression, func))
        ):
            return self.select(*([func] if is_expression(func) else func))
        check_function("map", func, "MapFunction", "map")
        result = as_type(output_type, func, "map")
        return self._transform(
            "map", "Map", self._map_operator(func), result, inferred=output_type is None
        )

    def _map_operator(self, func: UserFunction) -> Operator:
        return MapOperator(func)

    def flat_map(self, func: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """Any number of results for each record."""
        check_function("flat_map", func, "FlatMapFunction", "flat_map")
        result = as_type(output_type, func, "flat_map", elements=True)
        return self._transform(
            "flat_map",
            "FlatMap",
            self._flat_map_operator(func),
            result,
            inferred=output_type is None,
        )

    def _flat_map_operator(self, func: UserFunction) -> Operator:
        return FlatMapOperator(func)

    def filter(self, func: UserFunction) -> DataStream:
        """The records for which `func` is true.

        Args:
            func: a function, a FilterFunction, or a column expression such as
                ``col("status") >= 500``, which Catalyst runs where it can.
        """
        if is_expression(func):
            _check_expressions("filter", (func,), self)
            native = NativeStep(NativeKind.FILTER, (func,))
            fallback = (
                ExpressionFilter(func.node, self.get_type())
                if isinstance(func, Expression)
                else None
            )
            return self._transform(
                "filter", f"Filter({func!r})", fallback, self.get_type(), native=native
            )
        check_function("filter", func, "FilterFunction", "filter")
        return self._transform("filter", "Filter", self._filter_operator(func), self.get_type())

    def _filter_operator(self, func: UserFunction) -> Operator:
        return FilterOperator(func)

    def select(self, *expressions: Any) -> DataStream:
        """A projection by column expressions; the result is a row with their names.

        Runs natively right after a source; headrace's own expressions run anywhere.
        """
        if not expressions:
            raise InvalidArgumentError("select needs at least one expression")
        _check_expressions("select", expressions, self)
        native = NativeStep(NativeKind.SELECT, tuple(expressions))
        fallback = None
        if all(isinstance(expression, Expression) for expression in expressions):
            nodes = [(e.output_name, e.node) for e in expressions]
            fallback = ExpressionProjection(nodes, self.get_type())
        # A Column makes a new Column of any attribute that it is asked for.
        names = [e.output_name if isinstance(e, Expression) else str(e) for e in expressions]
        unknown: TypeInformation = Types.ROW_NAMED(names, [Types.PICKLED_BYTE_ARRAY()] * len(names))
        return self._transform("select", "Select", fallback, unknown, native=native)

    def project(self, *field_indexes: int) -> DataStream:
        """Some fields of a tuple, in the given order."""
        types = self.get_type()
        if not isinstance(types, TupleTypeInfo | RowTypeInfo):
            raise InvalidArgumentError(
                f"project works on streams of tuples, not of {types}",
                fix="give the stream a TUPLE type, or use map",
            )
        field_types = types.get_field_types()
        for index in field_indexes:
            if not 0 <= index < len(field_types):
                raise InvalidArgumentError(
                    f"project asks for field {index} of a record with {len(field_types)} fields"
                )
        result = Types.TUPLE([field_types[index] for index in field_indexes])
        return self._transform(
            "project", "Projection", MapOperator(_Pick(tuple(field_indexes))), result
        )

    def key_by(self, key_selector: FieldOrSelector, key_type: DeclaredType = None) -> KeyedStream:
        """Partition the stream by a key; what follows has state per key.

        Args:
            key_selector: a function, a KeySelector, a field name, a field index, or a column
                expression such as ``col("user")``.
            key_type: the type of the key, for documentation; keys are hashed by value.
        """
        return KeyedStream(self, key_selector, key_type)

    def union(self, *streams: DataStream) -> DataStream:
        """All records of several streams of one type; no order between them."""
        origins = list(self._branch())
        for stream in streams:
            check_other("union", self, stream)
            if stream.get_type() != self.get_type():
                raise InvalidArgumentError(
                    f"union needs streams of one type, not {self.get_type()} and "
                    f"{stream.get_type()}",
                    fix="map one of them to the type of the other first",
                )
            origins.extend(stream._branch())
        return DataStream(self._env, origins)

    def _branch(self) -> list[Origin]:
        """Origins without a partitioning of their own: a pass-through step carries it out."""
        if isinstance(self._partitioning, Forward):
            return self._origins
        passed = self._transform("pass", "Partition", MapOperator(_same), self.get_type())
        passed._step.inner = True
        return passed._origins

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    def connect(
        self, ds: DataStream | BroadcastStream
    ) -> ConnectedStreams | BroadcastConnectedStream:
        """Connect two streams of any types to one function with two inputs."""
        if isinstance(ds, BroadcastStream):
            check_other("connect", self, ds.stream)
            return BroadcastConnectedStream(self, ds)
        check_other("connect", self, ds)
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Pairs of records with equal keys in one window; call ``where`` next."""
        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """Records of both streams with equal keys in one window; call ``where`` next."""
        return CoGroupedStreams(self, other_stream)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Not without keys: call key_by on both streams first."""
        raise needs_keys("first")

    def process(self, func: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """A ProcessFunction: any results, side outputs (``yield tag, value``), the clock."""
        check_function("process", func, "ProcessFunction", "process_element")
        result = as_type(output_type, func, "process_element", elements=True)
        return self._transform(
            "process", "Process", ProcessOperator(func), result, inferred=output_type is None
        )

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The records that a process function yielded with this tag."""
        example = "get_side_output(OutputTag('late', type_info))"
        check_instance("get_side_output", output_tag, OutputTag, example)
        type_info = output_tag.type_info
        # A source decodes in front of its watermarks; both are one step to the program.
        decoding = [part for part in self._step.parts if part.kind == "decode"]
        step = decoding[0] if decoding else self._step
        return DataStream(self._env, [Origin(step, output_tag.tag_id, type_info)])

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Stamp records with event time, and say how far event time has come."""
        from headrace.datastream.event_time import timestamps_operator

        check_instance(
            "assign_timestamps_and_watermarks",
            watermark_strategy,
            WatermarkStrategy,
            "for instance WatermarkStrategy.for_monotonous_timestamps()",
        )
        stream, assigner = self, watermark_strategy.timestamp_assigner
        if isinstance(assigner, ColumnAssigner) and assigner.spark_only:
            native = NativeStep(NativeKind.STAMP, (assigner.column,))
            stream = self._transform("stamp", "Timestamps", None, self.get_type(), native=native)
            stream._step.inner = True
        operator = timestamps_operator(watermark_strategy)
        return stream._transform("timestamps", "Timestamps/Watermarks", operator, self.get_type())

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Windows over the whole stream, in one subtask."""
        return AllWindowedStream(self, window_assigner)

    # --- partitioning --------------------------------------------------------------------------

    def _repartition(self, partitioning: Partitioning) -> DataStream:
        return DataStream(self._env, self._branch(), partitioning)

    def forward(self) -> DataStream:
        """Stay in the subtask."""
        return self._repartition(Forward(explicit=True))

    def rebalance(self) -> DataStream:
        """Deal records out in turn over all subtasks."""
        return self._repartition(Rebalance())

    def rescale(self) -> DataStream:
        """Deal records out in turn over a group of subtasks."""
        return self._repartition(Rescale())

    def shuffle(self) -> DataStream:
        """Send each record to a random subtask."""
        return self._repartition(Shuffle())

    def global_(self) -> DataStream:
        """Send everything to the first subtask."""
        return self._repartition(Global())

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Send every record to every subtask; with descriptors, as broadcast state."""
        spread = self._repartition(Broadcast())
        if broadcast_state_descriptor is None:
            return spread
        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        for descriptor in descriptors:
            example = "broadcast(MapStateDescriptor('rules', key_type, value_type))"
            check_instance("broadcast", descriptor, MapStateDescriptor, example)
        return BroadcastStream(spread, descriptors)

    def partition_custom(
        self, partitioner: UserFunction, key_selector: FieldOrSelector
    ) -> DataStream:
        """Let a function choose the subtask: ``partitioner(key, number_of_subtasks) -> int``.

        A partitioner that counts what it has seen starts again with every batch, so that a
        repeated task sends the same records to the same subtasks.
        """
        check_function("partition_custom", partitioner, "Partitioner", "partition")
        choose: Callable[[Any, int], int] = getattr(partitioner, "partition", None) or partitioner
        return self._repartition(Custom(choose, _selector(key_selector)))

    # --- ends ----------------------------------------------------------------------------------

    def _sink(self, sink: Any, name: str) -> DataStreamSink:
        operator = SinkOperator(sink, self.get_type())
        step = add_step(
            self._env,
            "sink",
            name,
            operator,
            self.get_type(),
            [(self._origins, self._partitioning)],
        )
        return DataStreamSink(step)

    def add_sink(self, sink_func: UserFunction) -> DataStreamSink:
        """Write the stream with a SinkFunction; it sees a record once its whole batch succeeded."""
        from headrace.runtime.sink_function import FunctionSink
        from headrace.spi.sink import Sink

        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        check_function("add_sink", sink_func, "SinkFunction", "invoke")
        return self._sink(FunctionSink(sink_func), type(sink_func).__name__)

    def sink_to(self, sink: Any) -> DataStreamSink:
        """Write the stream with a Sink."""
        from headrace.spi.sink import Sink

        use = "use a sink of headrace.datastream.connectors, or add_sink for a SinkFunction"
        check_instance("sink_to", sink, Sink, use)
        return self._sink(sink, type(sink).__name__)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print every record, on the driver."""
        from headrace.connectors.driver.printing import PrintSink

        return self._sink(PrintSink(sink_identifier), "Print")

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator: ...

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, *, limit: int
    ) -> list[Any]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job and return its records: an iterator, or a list when `limit` is given.

        Of a keyed stream they are rows of two, the key and the record, as in PyFlink.
        """
        from headrace.datastream.collecting import collect

        records = collect(self._collected(), job_execution_name or "Collect")
        if limit is None:
            return records
        found = []
        with records:
            for record in records:
                found.append(record)
                if len(found) >= limit:
                    break
        records.wait()
        return found

    def _collected(self) -> DataStream:
        """The stream whose records execute_and_collect gives."""
        return self

    def preview(self, n: int = 20, timeout: Any = "10s") -> Preview:
        """The first records of this stream; always stops the job it starts.

        It reads in small batches and leaves the checkpoint of the program alone; large files are
        read in pieces. In BATCH mode results that depend on keys, time or two inputs need the whole
        input first, as they do in the job itself.

        Args:
            n: how many records to show.
            timeout: return what has arrived after this time, such as ``"10s"``; it begins with the
                end of the first batch, so the start of Spark does not count. A preview whose time
                ran out says so: in its ``repr``, in ``stopped_because``, and as a warning in the
                log.
        """
        from headrace.datastream.preview import preview

        return preview(self, n, timeout)

    def to_dataframe(self) -> DataFrame:
        """The stream as a streaming Spark DataFrame, to continue with Spark's own API.

        The stream needs a row or tuple type. Other sinks of the program are not part of it.
        The query is yours: it does not learn that its input has ended, so windows that are open
        then do not fire.
        """
        from headrace.datastream.collecting import to_dataframe

        return to_dataframe(self)

    def cache(self) -> CachedDataStream:
        """Not supported: Spark keeps no results between jobs."""
        raise UnsupportedStepError(
            "cache() is not supported", fix="write the stream to files and read them in later jobs"
        )


class CachedDataStream(DataStream):
    """For PyFlink's name only: cache() is not supported."""

    def invalidate(self) -> None:
        """Nothing to forget."""


class KeyedStream(RollingAggregates, DataStream):
    """A stream partitioned by key."""

    def __init__(
        self, stream: DataStream, key_by: FieldOrSelector, key_type: DeclaredType = None
    ) -> None:
        key_by = _plain_key(key_by, stream.get_type())
        if isinstance(key_by, int | str) and not isinstance(key_by, bool):
            key_by = check_field("key_by", key_by, stream)
            check_key_of_first(key_by, _selector(key_by), stream)
        selector = _selector(key_by)
        keying = Keying(
            selector,
            key_by if isinstance(key_by, str) else None,
            None if key_type is None else as_type(key_type),
        )
        super().__init__(stream._env, stream._branch(), KeyGroups(keying))
        self._key = keying

    def _keying(self) -> Keying | None:
        return self._key

    def _described(self) -> str:
        field = self._key.field
        by = getattr(self._key.selector, "__name__", "a function") if field is None else repr(field)
        return f"{super()._described()}, keyed by {by}"

    def _map_operator(self, func: UserFunction) -> Operator:
        return KeyedMapOperator(func, "map")

    def _flat_map_operator(self, func: UserFunction) -> Operator:
        return KeyedMapOperator(func, "flat_map")

    def _filter_operator(self, func: UserFunction) -> Operator:
        return KeyedMapOperator(func, "filter")

    def key_by(self, key_selector: FieldOrSelector, key_type: DeclaredType = None) -> KeyedStream:
        """Partition by another key instead."""
        return KeyedStream(DataStream(self._env, self._origins), key_selector, key_type)

    def reduce(self, func: UserFunction) -> DataStream:
        """Combine each record with the last result of its key; every result goes out."""
        check_function("reduce", func, "ReduceFunction", "reduce")
        return self._transform("reduce", "Reduce", ReduceOperator(func), self.get_type())

    def _rolling(self, kind: str, field: int | str) -> DataStream:
        operator = RollingOperator(kind, check_field(kind, field, self))
        return self._transform(kind, f"{kind}({field!r})", operator, self.get_type())

    def process(self, func: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """A KeyedProcessFunction: state, timers and side outputs per key."""
        from headrace.api.functions import KeyedProcessFunction

        fix = "derive the class from KeyedProcessFunction, or call process before key_by"
        check_instance("process of a keyed stream", func, KeyedProcessFunction, fix)
        result = as_type(output_type, func, "process_element", elements=True)
        operator = KeyedProcessOperator(func)
        return self._transform(
            "process", "KeyedProcess", operator, result, inferred=output_type is None
        )

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Windows per key."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of `size` records per key, every `slide` records."""
        from headrace.api.window import (
            CountSlidingWindowAssigner,
            CountTumblingWindowAssigner,
        )

        if slide == 0:
            return WindowedStream(self, CountTumblingWindowAssigner(size))
        return WindowedStream(self, CountSlidingWindowAssigner(size, slide))

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Pairs of records with equal keys whose timestamps are close; call ``between`` next."""
        return IntervalJoin(self, other_stream)

    def union(self, *streams: DataStream) -> DataStream:
        """All records of several streams; the result is not keyed."""
        return self._values().union(*streams)

    def project(self, *field_indexes: int) -> DataStream:
        """Some fields of a tuple; the result is not keyed."""
        return self._values().project(*field_indexes)

    def _collected(self) -> DataStream:
        key_type = self._key.key_type or Types.PICKLED_BYTE_ARRAY()
        pairs = DataStream(self._env, self._origins)._transform(
            "map",
            "With Key",
            MapOperator(_KeyedRow(self._key.selector)),
            Types.ROW([key_type, self.get_type()]),
        )
        pairs._step.inner = True
        return pairs

    def _values(self) -> DataStream:
        return DataStream(self._env, self._branch())

    def _fixed(self, what: str) -> UnsupportedStepError:
        return UnsupportedStepError(
            f"{what} is not possible on a keyed stream: key_by decides where records go",
            fix="call it on the stream before key_by or after the next step",
        )

    def _repartition(self, partitioning: Partitioning) -> DataStream:
        raise self._fixed(f"{partitioning.name.lower()} partitioning")

    def name(self, name: str) -> DataStream:
        """Not possible: key_by is not a step."""
        raise self._fixed("name")

    def uid(self, uid: str) -> DataStream:
        """Not possible: key_by is not a step."""
        raise self._fixed("uid")

    def set_uid_hash(self, uid_hash: str) -> DataStream:
        """Not possible: key_by is not a step."""
        raise self._fixed("set_uid_hash")

    def set_parallelism(self, parallelism: int) -> DataStream:
        """Not possible: key_by is not a step."""
        raise self._fixed("set_parallelism")

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        """Not possible: key_by is not a step."""
        raise self._fixed("set_max_parallelism")

    def start_new_chain(self) -> DataStream:
        """Not possible: key_by is not a step."""
        raise self._fixed("start_new_chain")

    def disable_chaining(self) -> DataStream:
        """Not possible: key_by is not a step."""
        raise self._fixed("disable_chaining")


class _Pick:
    def __init__(self, indexes: tuple[int, ...]) -> None:
        self.indexes = indexes

    def __call__(self, record: Any) -> tuple[Any, ...]:
        return tuple(record[index] for index in self.indexes)


class _KeyedRow:
    """A record behind its key."""

    def __init__(self, selector: Callable[[Any], Any]) -> None:
        self._selector = selector

    def __call__(self, record: Any) -> Row:
        return Row(self._selector(record), record)


def _same(record: Any) -> Any:
    return record


def _plain_key(key: Any, record_type: TypeInformation) -> Any:
    """A column expression as a field name, or as the function that evaluates it."""
    if isinstance(key, Expression):
        return RowEvaluator(key.node, record_type) if key.column_name is None else key.column_name
    return key


def _check_expressions(call: str, expressions: tuple[ColumnLike, ...], stream: DataStream) -> None:
    """Check that they need no window and that their fields exist."""
    for expression in expressions:
        if not isinstance(expression, Expression):
            continue
        if expression.needs_window:
            raise InvalidArgumentError(
                f"{call} on a stream cannot evaluate {expression!r}: it needs a window",
                where=call_site(),
                fix="add a window first: stream.key_by(...).window(...).select(...)",
            )
        for name in expression.fields():
            if not (name == VALUE and isinstance(stream.get_type(), BasicTypeInfo)):
                check_field(call, name, stream)


def _selector(key: Any) -> Callable[[Any], Any]:
    return key_selector(key)
