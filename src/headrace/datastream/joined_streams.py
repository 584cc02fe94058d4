"""Two streams joined by key and window: join (pairs) and co_group (groups).

As in Flink both are windows over one stream: the records of both sides, each marked with its side.

    left  ─ (0, record) ─┐
                         ├ union ─ key_by ─ window ─ runtime/operators/join.py: pairs or groups
    right ─ (1, record) ─┘

Next: runtime/operators/join.py; datastream/interval_join.py for joins without windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from headrace.common.call_site import call_site
from headrace.common.typeinfo import Types
from headrace.datastream.join_keys import check_keys_match, check_other, key_type_of
from headrace.datastream.stream_builder import as_type
from headrace.datastream.windowed_stream import WindowedStream
from headrace.errors import InvalidArgumentError
from headrace.runtime.key_selectors import Keying, key_selector
from headrace.runtime.operators.join import CoGrouped, Joined, KeyOfSide, SideOf, gives_many

if TYPE_CHECKING:
    from headrace.api.window import Trigger, WindowAssigner
    from headrace.common.opaque import DeclaredType, FieldOrSelector, UserFunction
    from headrace.datastream.data_stream import DataStream

__all__ = ["CoGroupedStreams", "JoinedStreams"]


class _StreamsByWindow:
    """``where``, ``equal_to`` and ``window`` in this order, settings of the window, ``apply``.

    Assigners, triggers and evictors see records of both sides as ``(0, record)`` of the first
    stream and ``(1, record)`` of the second.
    """

    _what: str
    _name: str

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        check_other(self._what, stream1, stream2)
        self._streams = (stream1, stream2)
        self._keys: list[tuple[Any, Any]] = []
        self._windowed: WindowedStream | None = None

    def where(self, key_selector: FieldOrSelector, key_type: DeclaredType = None) -> Self:
        """The key of the first stream.

        Args:
            key_selector: a function, a KeySelector, a field name or a field index.
            key_type: the type of the key, to find keys that can never be equal.
        """
        self._expect(0, "where", "comes first and once")
        return self._add_key(key_selector, key_type)

    def equal_to(self, key_selector: FieldOrSelector, key_type: DeclaredType = None) -> Self:
        """The key of the second stream; records with equal keys meet."""
        self._expect(1, "equal_to", "comes after where, once")
        self._add_key(key_selector, key_type)
        types = [
            key_type_of(stream, Keying(_selector(key), key if isinstance(key, str) else None), hint)
            for stream, (key, hint) in zip(self._streams, self._keys, strict=True)
        ]
        check_keys_match(self._what, *types)
        return self

    def _add_key(self, key: Any, key_type: DeclaredType) -> Self:
        _selector(key)
        self._keys.append((key, key_type))
        return self

    def _expect(self, keys: int, method: str, rule: str) -> None:
        if len(self._keys) != keys:
            raise self._wrong_order(method, rule)

    def _wrong_order(self, method: str, rule: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"{method} of a {self._what} {rule}",
            where=call_site(),
            fix=f"first.{self._what}(second).where(...).equal_to(...).window(...).apply(...)",
        )

    def window(self, assigner: WindowAssigner[Any, Any]) -> Self:
        """The windows in which records meet."""
        self._expect(2, "window", "comes after where and equal_to")
        if self._windowed is not None:
            raise self._wrong_order("window", "is called once")
        (first, _), (second, _) = self._keys
        marked = _marked(self._streams[0], 0).union(_marked(self._streams[1], 1))
        keyed = marked.key_by(KeyOfSide(_selector(first), _selector(second)))
        self._windowed = WindowedStream(keyed, assigner)
        return self

    def _windows(self, method: str) -> WindowedStream:
        if self._windowed is None:
            raise self._wrong_order(method, "comes after where, equal_to and window")
        return self._windowed

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Decide when windows are evaluated; replaces the assigner's own trigger."""
        self._windows("trigger").trigger(trigger)
        return self

    def evictor(self, evictor: Any) -> Self:
        """Remove records before or after a window is evaluated."""
        self._windows("evictor").evictor(evictor)
        return self

    def allowed_lateness(self, new_lateness: Any) -> Self:
        """Keep windows this long after their end, and evaluate them again for late records."""
        self._windows("allowed_lateness").allowed_lateness(new_lateness)
        return self

    def _apply(
        self, grouped: CoGrouped, output_type: DeclaredType, *, elements: bool
    ) -> DataStream:
        windowed = self._windows("apply")
        function = grouped.function
        if not callable(getattr(function, grouped.method, function)):
            raise InvalidArgumentError(
                f"apply of a {self._what} expects a function or a {self._name}Function, not "
                f"{type(function).__name__}",
                where=call_site(),
                fix="pass an instance of a class derived from it, or a function of two arguments",
            )
        result = as_type(output_type, function, grouped.method, elements=elements)
        described = windowed._windows.buffering(grouped)
        stream = windowed._add(described, "apply", result, output_type)
        return stream.name(f"{self._name}({type(described.assigner).__name__})")


class JoinedStreams(_StreamsByWindow):
    """Pairs of records of two streams with equal keys in one window.

    Example:
        >>> orders.join(payments).where("order_id").equal_to("order_id").window(
        ...     TumblingEventTimeWindows.of(Duration.of_minutes(5))
        ... ).apply(lambda order, payment: (order, payment))  # doctest: +SKIP
    """

    _what = "join"
    _name = "Join"

    def apply(self, function: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """One call for each pair; a record without a partner in its window gives nothing.

        Results carry the last timestamp of the window.

        Args:
            function: a JoinFunction, a FlatJoinFunction, a function of the two records with one
                result (None: no result), or a generator function.
            output_type: the type of the results; taken from type hints if not given.
        """
        return self._apply(Joined(function), output_type, elements=gives_many(function))


class CoGroupedStreams(_StreamsByWindow):
    """The records of two streams with equal keys in one window, as two groups."""

    _what = "co_group"
    _name = "CoGroup"

    def apply(self, function: UserFunction, output_type: DeclaredType = None) -> DataStream:
        """One call for each key and window with records of either stream.

        Args:
            function: a CoGroupFunction, or a function of two groups that returns an iterable.
            output_type: the type of the results; taken from type hints if not given.
        """
        return self._apply(CoGrouped(function), output_type, elements=True)


def _selector(key: Any) -> Any:
    return key_selector(key)


def _marked(stream: DataStream, side: int) -> DataStream:
    """The records with the number of their side, in the subtasks they are in."""
    from headrace.datastream.data_stream import DataStream

    # a key of the stream's own has no say here: where and equal_to decide where records go
    partitioning = None if stream._keying() is not None else stream._partitioning
    plain = DataStream(stream._env, stream._origins, partitioning)
    marked = plain.map(SideOf(side), output_type=Types.PICKLED_BYTE_ARRAY()).name("Join side")
    marked._step.inner = True
    widths = {origin.step.parallelism for origin in stream._origins}
    if len(widths) == 1 and not any(origin.step.is_source for origin in stream._origins):
        marked._step.parallelism = widths.pop()
    return marked
