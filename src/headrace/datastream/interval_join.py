"""Two keyed streams joined by how far apart in time their records are.

    left.ts + lower <= right.ts <= left.ts + upper

    left   ──────────●──────────▶          between(-2, 1)
    right  ──────[───────]──────▶
               ts-2    ts+1

Next: runtime/operators/join.py; datastream/joined_streams.py for joins in windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from headrace.api.output_tag import OutputTag
from headrace.common.call_site import call_site
from headrace.common.time import to_millis
from headrace.datastream.arguments import check_instance
from headrace.datastream.join_keys import check_keys_match, check_other, key_type_of
from headrace.datastream.stream_builder import Origin, add_step, as_type
from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.runtime.operators.join import IntervalJoinOperator, gives_many

if TYPE_CHECKING:
    from headrace.common.opaque import DeclaredType, UserFunction
    from headrace.common.time import DurationLike
    from headrace.datastream.data_stream import DataStream, KeyedStream

__all__ = ["IntervalJoin", "IntervalJoined"]


class IntervalJoin:
    """Two keyed streams; call ``between`` next to set the bounds."""

    def __init__(self, stream_one: KeyedStream, stream_two: KeyedStream) -> None:
        check_other("interval_join", stream_one, stream_two)
        types = []
        for which, stream in (("first", stream_one), ("second", stream_two)):
            keying = stream._keying()
            if keying is None:
                raise needs_keys(which)
            types.append(key_type_of(stream, keying, keying.key_type))
        check_keys_match("interval_join", *types)
        self._streams = (stream_one, stream_two)
        self._event_time = True

    def in_event_time(self) -> Self:
        """Join by the records' timestamps: the default, and the only way."""
        self._event_time = True
        return self

    def in_processing_time(self) -> Self:
        """Not possible: ``between`` then raises, as in Flink."""
        self._event_time = False
        return self

    def between(self, lower_bound: DurationLike, upper_bound: DurationLike) -> IntervalJoined:
        """How far before (negative) or after its left record a right record may be, inclusive.

        Args:
            lower_bound: a duration or milliseconds, not more than the upper bound.
            upper_bound: a duration or milliseconds.
        """
        if not self._event_time:
            raise UnsupportedStepError(
                "an interval join works in event time only",
                where=call_site(),
                fix="leave out in_processing_time() and give both streams timestamps",
            )
        lower, upper = to_millis(lower_bound), to_millis(upper_bound)
        if lower > upper:
            raise InvalidArgumentError(
                f"the lower bound of an interval join is {lower} ms, above its upper bound of "
                f"{upper} ms",
                where=call_site(),
                fix=f"between({upper}, {lower})",
            )
        return IntervalJoined(self._streams, lower, upper)

    def process(
        self, process_join_function: UserFunction, output_type: DeclaredType = None
    ) -> DataStream:
        """Not yet: the bounds are missing."""
        raise InvalidArgumentError(
            "an interval join has no bounds",
            where=call_site(),
            fix="left.interval_join(right).between(lower, upper).process(...)",
        )


class IntervalJoined:
    """An interval join with its bounds."""

    def __init__(
        self, streams: tuple[KeyedStream, KeyedStream], lower_ms: int, upper_ms: int
    ) -> None:
        self._streams = streams
        self._lower_ms = lower_ms
        self._upper_ms = upper_ms
        self._exclusive = [0, 0]
        self._late_tags: list[str | None] = [None, None]

    def lower_bound_exclusive(self) -> Self:
        """A right record exactly at the lower bound does not match."""
        self._exclusive[0] = 1
        return self

    def upper_bound_exclusive(self) -> Self:
        """A right record exactly at the upper bound does not match."""
        self._exclusive[1] = 1
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> Self:
        """Send left records behind the watermark to a side output instead of dropping them."""
        self._late_tags[0] = _tag_id("side_output_left_late_data", output_tag)
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> Self:
        """Send right records behind the watermark to a side output instead of dropping them."""
        self._late_tags[1] = _tag_id("side_output_right_late_data", output_tag)
        return self

    def process(
        self, process_join_function: UserFunction, output_type: DeclaredType = None
    ) -> DataStream:
        """One call for each pair, when its second record arrives.

        Results carry the later of the two timestamps.

        Args:
            process_join_function: a ProcessJoinFunction, a function of left record, right record
                and context with one result (None: no result), or a generator function.
            output_type: the type of the results; taken from type hints if not given.
        """
        from headrace.datastream.data_stream import DataStream

        function = process_join_function
        if not callable(getattr(function, "process_element", function)):
            raise InvalidArgumentError(
                "process of an interval join expects a function or a ProcessJoinFunction, not "
                f"{type(function).__name__}",
                where=call_site(),
                fix="pass an instance of a class derived from it, or a function of (left, right, "
                "ctx)",
            )
        result = as_type(output_type, function, "process_element", elements=gives_many(function))
        left, right = self._streams
        late_left, late_right = self._late_tags
        operator = IntervalJoinOperator(
            function,
            self._lower_ms + self._exclusive[0],
            self._upper_ms - self._exclusive[1],
            (late_left, late_right),
        )
        step = add_step(
            left._env,
            "interval_join",
            "Interval Join",
            operator,
            result,
            [(left._origins, left._partitioning), (right._origins, right._partitioning)],
            keyings=(left._keying(), right._keying()),
            inferred=output_type is None,
        )
        return DataStream(left._env, [Origin(step, None, result)])


def _tag_id(call: str, output_tag: OutputTag) -> str:
    check_instance(call, output_tag, OutputTag, f"{call}(OutputTag('late', type_info))")
    return output_tag.tag_id


def needs_keys(which: str) -> InvalidArgumentError:
    """The error for a stream without keys."""
    return InvalidArgumentError(
        f"the {which} stream of an interval join has no keys",
        where=call_site(),
        fix="left.key_by(...).interval_join(right.key_by(...))",
    )
