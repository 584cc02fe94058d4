"""Two streams into one function: connect, and broadcast state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.datastream.arguments import check_instance, check_methods
from headrace.datastream.stream_builder import Origin, add_step, as_type
from headrace.runtime.operators.connected import CoOperator, KeyedCoOperator
from headrace.runtime.operators.keyed import KeyedCoProcessOperator

if TYPE_CHECKING:
    from headrace.common.opaque import DeclaredType, FieldOrSelector, UserFunction
    from headrace.common.typeinfo import TypeInformation
    from headrace.datastream.data_stream import DataStream
    from headrace.runtime.operators.base import Operator


class ConnectedStreams:
    """Two streams that share a function, and, when both are keyed, its state."""

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def __repr__(self) -> str:
        return f"<ConnectedStreams {self.stream1!r} {self.stream2!r}>"

    def key_by(
        self,
        key_selector1: FieldOrSelector,
        key_selector2: FieldOrSelector,
        key_type: DeclaredType = None,
    ) -> ConnectedStreams:
        """Key both streams; records with equal keys meet in one subtask."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    def _is_keyed(self) -> bool:
        return self.stream1._keying() is not None and self.stream2._keying() is not None

    def map(self, func: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """A CoMapFunction: map1 for the first stream, map2 for the second."""
        check_methods("map", func, "CoMapFunction", "map1", "map2")
        result = as_type(output_type, func, "map1")
        return self._two(func, ("map1", "map2"), "Co-Map", result, output_type)

    def flat_map(self, func: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """A CoFlatMapFunction."""
        check_methods("flat_map", func, "CoFlatMapFunction", "flat_map1", "flat_map2")
        result = as_type(output_type, func, "flat_map1", elements=True)
        return self._two(func, ("flat_map1", "flat_map2"), "Co-FlatMap", result, output_type)

    def process(self, func: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """A CoProcessFunction, or a KeyedCoProcessFunction when both streams are keyed."""
        from headrace.api.functions import CoProcessFunction, KeyedCoProcessFunction

        wanted = KeyedCoProcessFunction if self._is_keyed() else CoProcessFunction
        check_instance(
            f"process of {'keyed' if self._is_keyed() else 'these'} streams",
            func,
            wanted,
            "key both streams for a KeyedCoProcessFunction, or none for a CoProcessFunction",
        )
        result = as_type(output_type, func, "process_element1", elements=True)
        if self._is_keyed():
            return self._add(KeyedCoProcessOperator(func), "Keyed Co-Process", result, output_type)
        methods = ("process_element1", "process_element2")
        return self._two(func, methods, "Co-Process", result, output_type)

    def _two(
        self,
        func: UserFunction,
        methods: tuple[str, str],
        name: str,
        result: TypeInformation,
        declared: DeclaredType,
    ) -> DataStream:
        kind = KeyedCoOperator if self._is_keyed() else CoOperator
        return self._add(kind(func, methods), name, result, declared)

    def _add(
        self, operator: Operator, name: str, result: TypeInformation, declared: DeclaredType
    ) -> DataStream:
        from headrace.datastream.data_stream import DataStream

        first, second = self.stream1, self.stream2
        step = add_step(
            first._env,
            "connect",
            name,
            operator,
            result,
            [(first._origins, first._partitioning), (second._origins, second._partitioning)],
            keyings=(first._keying(), second._keying()),
            inferred=declared is None,
        )
        return DataStream(first._env, [Origin(step, None, result)])


class BroadcastStream:
    """A stream whose records reach every subtask, to be kept as broadcast state."""

    def __init__(self, stream: DataStream, descriptors: list[Any]) -> None:
        self.stream = stream
        self.descriptors = descriptors


class BroadcastConnectedStream:
    """A stream connected with a broadcast stream."""

    def __init__(self, stream: DataStream, broadcast: BroadcastStream) -> None:
        self.stream = stream
        self.broadcast_stream = broadcast

    def process(self, func: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """A BroadcastProcessFunction, or a KeyedBroadcastProcessFunction on a keyed stream."""
        from headrace.api.functions import (
            BroadcastProcessFunction,
            KeyedBroadcastProcessFunction,
        )
        from headrace.datastream.data_stream import DataStream
        from headrace.runtime.operators.broadcast import broadcast_operator

        keyed = self.stream._keying() is not None
        wanted = KeyedBroadcastProcessFunction if keyed else BroadcastProcessFunction
        check_instance(
            f"process of a {'keyed' if keyed else 'plain'} stream and a broadcast stream",
            func,
            wanted,
            "a KeyedBroadcastProcessFunction is for keyed streams, a BroadcastProcessFunction for "
            "others",
        )
        result = as_type(output_type, func, "process_element", elements=True)
        spread = self.broadcast_stream.stream
        step = add_step(
            self.stream._env,
            "broadcast",
            "Broadcast Process",
            broadcast_operator(func, self.broadcast_stream.descriptors, keyed=keyed),
            result,
            [
                (self.stream._origins, self.stream._partitioning),
                (spread._origins, spread._partitioning),
            ],
            keyings=(self.stream._keying(), None),
            inferred=output_type is None,
        )
        return DataStream(self.stream._env, [Origin(step, None, result)])
