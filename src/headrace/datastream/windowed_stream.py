"""Windows over a keyed stream, or over a whole one: assigner, trigger, evictor, lateness, function.

Next: runtime/operators/window.py runs what is described here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from headrace.api.output_tag import OutputTag
from headrace.api.window import Evictor, Trigger, WindowAssigner
from headrace.common.time import to_millis
from headrace.datastream.arguments import (
    check_field,
    check_function,
    check_instance,
    check_methods,
)
from headrace.datastream.rolling import RollingAggregates
from headrace.datastream.stream_builder import Origin, add_step, as_type
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import DeclaredType, UserFunction
    from headrace.common.typeinfo import TypeInformation
    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.runtime.windows.description import WindowDescription


class _Windows(RollingAggregates):
    """What windows over keyed and whole streams have in common."""

    _name = "Window"
    _function_kind = "WindowFunction or ProcessWindowFunction"

    def __init__(self, stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        from headrace.runtime.windows.description import WindowDescription

        check_instance(
            "window_all" if isinstance(self, AllWindowedStream) else "window",
            window_assigner,
            WindowAssigner,
            "for instance TumblingEventTimeWindows.of(Duration.of_seconds(5))",
        )
        self._stream = stream
        self._windows = WindowDescription(window_assigner)

    def __repr__(self) -> str:
        assigner = type(self._windows.assigner).__name__
        return f"<{type(self).__name__} of {assigner} over {self._stream._described()}>"

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment of the stream."""
        return self._stream._env

    def get_input_type(self) -> TypeInformation:
        """The type of the records."""
        return self._stream.get_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Decide when windows are evaluated; replaces the assigner's own trigger."""
        check_instance("trigger", trigger, Trigger, "for instance CountTrigger.of(10)")
        self._windows.set_trigger(trigger)
        return self

    def evictor(self, evictor: Any) -> Self:
        """Remove records before or after a window is evaluated; keeps all records until then."""
        if evictor is not None:
            check_instance("evictor", evictor, Evictor, "for instance CountEvictor.of(10)")
        self._windows.evictor = evictor
        return self

    def allowed_lateness(self, time_ms: Any) -> Self:
        """Keep windows this long after their end, and evaluate them again for late records."""
        lateness = to_millis(time_ms)
        if lateness < 0:
            raise InvalidArgumentError(f"allowed lateness must not be negative, got {time_ms!r}")
        self._windows.allowed_lateness_ms = lateness
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send records that come too late to a side output instead of dropping them."""
        example = "side_output_late_data(OutputTag('late', type_info))"
        check_instance("side_output_late_data", output_tag, OutputTag, example)
        self._windows.late_tag = output_tag.tag_id
        return self

    def reduce(
        self,
        reduce_function: UserFunction,
        window_function: UserFunction = None,
        output_type: DeclaredType = None,
    ) -> DataStream:
        """Reduce the records of a window as they come; keeps one value per window."""
        check_function("reduce", reduce_function, "ReduceFunction", "reduce")
        self._check_window_function("reduce", window_function, optional=True)
        if window_function is None:
            result = self.get_input_type() if output_type is None else as_type(output_type)
        else:
            result = _result_type(output_type, window_function)
        described = self._windows.reducing(reduce_function, window_function)
        return self._add(described, "reduce", result, output_type)

    def aggregate(
        self,
        aggregate_function: UserFunction,
        window_function: UserFunction = None,
        accumulator_type: DeclaredType = None,
        output_type: DeclaredType = None,
    ) -> DataStream:
        """Aggregate the records of a window as they come; keeps one accumulator per window."""
        methods = ("create_accumulator", "add", "get_result")
        check_methods("aggregate", aggregate_function, "AggregateFunction", *methods)
        self._check_window_function("aggregate", window_function, optional=True)
        if window_function is None:
            result = as_type(output_type, aggregate_function, "get_result")
        else:
            result = _result_type(output_type, window_function)
        described = self._windows.aggregating(aggregate_function, window_function)
        return self._add(described, "aggregate", result, output_type)

    def apply(self, window_function: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """Hand all records of a window to a WindowFunction."""
        self._check_window_function("apply", window_function)
        result = _result_type(output_type, window_function, "apply")
        return self._add(self._windows.buffering(window_function), "apply", result, output_type)

    def process(
        self, process_window_function: UserFunction, output_type: DeclaredType = None
    ) -> DataStream:
        """Hand all records of a window to a ProcessWindowFunction."""
        self._check_window_function("process", process_window_function)
        result = _result_type(output_type, process_window_function)
        return self._add(
            self._windows.buffering(process_window_function), "process", result, output_type
        )

    def select(self, *expressions: Any) -> DataStream:
        """Aggregates over columns; a row with the named fields for every window. Ours.

        They are computed a batch at a time where records are columns, and record by record
        elsewhere, with the same results.

        Args:
            expressions: aggregates (``count()``, ``col("value").sum()``), the key, the bounds
                ``window_start()`` and ``window_end()``, and what operators make of them.

        Example:
            >>> keyed.window(TumblingEventTimeWindows.of("1 s")).select(  # doctest: +SKIP
            ...     col("user"), count().alias("n"), col("price").sum().alias("total")
            ... )
        """
        from headrace.datastream.window_select import window_select

        stream = self._keyed()
        found = window_select(expressions, self._windows, stream._keying(), stream.get_type())
        result = found.result_type(stream.get_type())
        guessed = None if any(origin.step.inferred for origin in stream._origins) else result
        return self._add(found.windows, "select", result, guessed, derive_type=found.result_type)

    def _rolling(self, kind: str, field: int | str) -> DataStream:
        field = check_field(kind, field, self._stream)
        from headrace.runtime.operators.rolling import rolling_reduce
        from headrace.runtime.windows.rolling import RollingAggregate

        if self._windows.overlapping:
            described = self._windows.aggregating(RollingAggregate(kind, field), None)
        else:
            described = self._windows.reducing(rolling_reduce(kind, field), None)
        return self._add(described, kind, self.get_input_type(), None)

    def _check_window_function(
        self, call: str, function: UserFunction, *, optional: bool = False
    ) -> None:
        if not (optional and function is None):
            check_function(call, function, self._function_kind, "process", "apply")

    def _add(
        self,
        described: WindowDescription,
        what: str,
        result: TypeInformation,
        declared: DeclaredType,
        *,
        derive_type: Callable[[TypeInformation], TypeInformation] | None = None,
    ) -> DataStream:
        from headrace.datastream.data_stream import DataStream
        from headrace.runtime.operators.window import WindowOperator

        stream = self._keyed()
        settings = stream._env._settings()
        described.share_panes = bool(
            settings.get_boolean("headrace.windows.share-panes", default_value=True)
        )
        step = add_step(
            stream._env,
            "window",
            f"{self._name}({type(described.assigner).__name__}, {what})",
            WindowOperator(described),
            result,
            [(stream._origins, stream._partitioning)],
            derive_type=derive_type,
            keyings=(stream._keying(),),
            inferred=declared is None,
        )
        if self._parallelism is not None:
            step.parallelism = self._parallelism
        return DataStream(stream._env, [Origin(step, None, result)])

    _parallelism: int | None = None

    def _keyed(self) -> DataStream:
        return self._stream


class WindowedStream(_Windows):
    """Windows per key."""


class AllWindowedStream(_Windows):
    """Windows over the whole stream: one key, one subtask."""

    _name = "WindowAll"
    _function_kind = "AllWindowFunction or ProcessAllWindowFunction"
    _parallelism = 1

    def __init__(self, stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        super().__init__(stream, window_assigner)
        self._windows.over_all = True

    def _keyed(self) -> DataStream:
        return self._stream.key_by(_same_key)


def _same_key(record: Any) -> int:
    return 0


def _result_type(
    declared: DeclaredType, function: UserFunction, method: str = "process"
) -> TypeInformation:
    found = method if hasattr(function, method) else "apply"
    return as_type(declared, function, found, elements=True)
