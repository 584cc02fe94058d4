"""A stream and the pattern that is looked for in it.

    CEP.pattern(stream.key_by(...), pattern)   by key
    CEP.pattern(stream, pattern)               in the whole stream, by one subtask
        .process(PatternProcessFunction) | .select(function) | .flat_select(function)

In: calls of the user's program.  Out: a step with cep/operator.py.  Next: cep/pattern.py
"""

from __future__ import annotations

import copy
import hashlib
import json
import warnings
from typing import TYPE_CHECKING, Any, Literal, Self

from headrace.api.functions import Function
from headrace.api.output_tag import OutputTag
from headrace.cep.compiler import all_stages, compile_pattern
from headrace.cep.functions import PatternProcessFunction
from headrace.cep.operator import CepOperator
from headrace.cep.pattern import Contiguity, GroupPattern, Pattern, Repetition
from headrace.common.call_site import call_site
from headrace.datastream.arguments import check_function, check_instance, described
from headrace.datastream.data_stream import DataStream, KeyedStream
from headrace.datastream.stream_builder import Origin, add_step, as_type
from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.runtime.operators.functions import callable_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.api.functions import RuntimeContext
    from headrace.cep.automaton import Automaton
    from headrace.cep.dynamic_patterns import DynamicPatternStream
    from headrace.cep.functions import MatchedEvents
    from headrace.common.opaque import DeclaredType, UserFunction

__all__ = ["CEP", "PatternStream", "UnboundedPatternWarning"]


class UnboundedPatternWarning(UserWarning):
    """A pattern keeps partial matches for ever."""


class CEP:
    """Looks for patterns in streams."""

    @staticmethod
    def pattern(
        input: DataStream,
        pattern: Pattern,
        comparator: Any = None,
    ) -> PatternStream:
        """A stream of the matches of a pattern; call process, select or flat_select next.

        Args:
            input: the events; keyed, the pattern is looked for in the events of each key.
            pattern: its last stage.
            comparator: the order of events of one time: a function of two events that gives a
                negative number, zero or a positive one, or an object with such a method `compare`.
        """
        if not isinstance(input, DataStream):
            raise ArgumentTypeError(
                f"CEP.pattern expects a stream, not {described(input)}",
                fix="CEP.pattern(stream.key_by(...), Pattern.begin('name'))",
            )
        check_instance("CEP.pattern", pattern, Pattern, "CEP.pattern(stream, Pattern.begin('a'))")
        automaton = compile_pattern(pattern)
        _warn_of_growth(pattern, automaton)
        return PatternStream(input, pattern, _compare_of(comparator))

    @staticmethod
    def dynamic_patterns(
        input: DataStream,
        pattern_stream: DataStream,
        *,
        on_update: Literal["finish", "drop"] = "finish",
        refused_tag: OutputTag | None = None,
    ) -> DynamicPatternStream:
        """A stream of the matches of patterns that come as documents while the job runs.

        A document is JSON (docs/cep.md). It reaches all subtasks; events that are matched from
        then on are matched by it. In event time that is when the watermark passes them. The
        documents' own timestamps and watermarks do not count.

        Args:
            input: the events; keyed, patterns are looked for in the events of each key.
            pattern_stream: the documents, as texts or dicts.
            on_update: what happens to partial matches of a pattern when a newer version of it comes
                or it is removed: they "finish" in their version, or are "drop"ped.
            refused_tag: a side output of texts, for the reasons why documents cannot be used;
                without it, such a document ends the job.

        Coming from Flink: there is nothing like it in its CEP library.
        """
        from headrace.cep.dynamic_patterns import dynamic_patterns

        return dynamic_patterns(input, pattern_stream, on_update=on_update, refused_tag=refused_tag)


def _compare_of(comparator: Any) -> Callable[[Any, Any], int] | None:
    if comparator is None:
        return None
    compare = getattr(comparator, "compare", comparator)
    if isinstance(comparator, type) or not callable(compare):
        raise ArgumentTypeError(
            f"CEP.pattern expects a comparator, not {described(comparator)}",
            fix="comparator=lambda first, second: first.number - second.number",
        )
    found: Callable[[Any, Any], int] = compare
    return found


class MatchingStream:
    """What is looked for in a stream, and in which time; the results come next."""

    def __init__(self, stream: DataStream) -> None:
        self._stream = stream
        self._event_time = True
        self._late_tag: OutputTag | None = None

    def in_event_time(self) -> Self:
        """Events go by their timestamps, in order: the default."""
        found = copy.copy(self)
        found._event_time = True
        return found

    def in_processing_time(self) -> Self:
        """Events go on as they come, by the wall clock."""
        found = copy.copy(self)
        found._event_time = False
        return found

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> Self:
        """Send events behind the watermark to a side output instead of dropping them."""
        call = "side_output_late_data"
        check_instance(call, late_data_output_tag, OutputTag, f"{call}(OutputTag('late', type))")
        found = copy.copy(self)
        found._late_tag = late_data_output_tag
        return found

    def process(
        self, pattern_process_function: UserFunction, output_type: DeclaredType = None
    ) -> DataStream:
        """The results of a PatternProcessFunction: any for a match, side outputs, time.

        Args:
            pattern_process_function: a PatternProcessFunction, or a function of match and context
                with an iterable of results.
            output_type: the type of the results; taken from type hints if not given.
        """
        function = pattern_process_function
        check_function("process", function, "PatternProcessFunction", "process_match")
        result = as_type(output_type, function, "process_match", elements=True)
        if not isinstance(function, PatternProcessFunction):
            function = _ProcessAdapter(function)
        return self._transform(function, result, inferred=output_type is None)

    def select(
        self,
        pattern_select_function: UserFunction,
        output_type: DeclaredType = None,
        *,
        timed_out_partial_matches_tag: OutputTag | None = None,
        pattern_timeout_function: UserFunction = None,
    ) -> DataStream:
        """One result for each match.

        Args:
            pattern_select_function: a function of the match, or a PatternSelectFunction.
            output_type: the type of the results; taken from type hints if not given.
            timed_out_partial_matches_tag: the side output of partial matches that timed out.
            pattern_timeout_function: a function of such a match and the time when it was over.
        """
        function = pattern_select_function
        check_function("select", function, "PatternSelectFunction", "select")
        result = as_type(output_type, function, "select")
        adapter = _SelectAdapter(function, "select")
        timed = _with_timeout(
            adapter, "select", timed_out_partial_matches_tag, pattern_timeout_function
        )
        return self._transform(timed, result, inferred=output_type is None)

    def flat_select(
        self,
        pattern_flat_select_function: UserFunction,
        output_type: DeclaredType = None,
        *,
        timed_out_partial_matches_tag: OutputTag | None = None,
        pattern_flat_timeout_function: UserFunction = None,
    ) -> DataStream:
        """Any number of results for each match.

        Args:
            pattern_flat_select_function: a function of the match with an iterable of results, or
                a PatternFlatSelectFunction.
            output_type: the type of the results; taken from type hints if not given.
            timed_out_partial_matches_tag: the side output of partial matches that timed out.
            pattern_flat_timeout_function: a function of such a match and the time when it was
                over, with an iterable of results.
        """
        function = pattern_flat_select_function
        check_function("flat_select", function, "PatternFlatSelectFunction", "flat_select")
        result = as_type(output_type, function, "flat_select", elements=True)
        adapter = _FlatSelectAdapter(function, "flat_select")
        timed = _with_timeout(
            adapter, "flat_select", timed_out_partial_matches_tag, pattern_flat_timeout_function
        )
        return self._transform(timed, result, inferred=output_type is None)

    def _transform(self, function: UserFunction, result: Any, *, inferred: bool) -> DataStream:
        raise NotImplementedError

    def _check_late(self) -> None:
        if self._late_tag is not None and not self._event_time:
            raise InvalidArgumentError(
                "side_output_late_data has no effect in processing time: no event is late",
                where=call_site(),
                fix="leave out side_output_late_data or in_processing_time",
            )


class PatternStream(MatchingStream):
    """A pattern on a stream."""

    def __init__(
        self,
        stream: DataStream,
        pattern: Pattern,
        comparator: Callable[[Any, Any], int] | None = None,
    ) -> None:
        super().__init__(stream)
        self._pattern = pattern
        self._comparator = comparator

    def _transform(self, function: UserFunction, result: Any, *, inferred: bool) -> DataStream:
        self._check_late()
        keyed = isinstance(self._stream, KeyedStream)
        stream = self._stream if keyed else self._stream.key_by(same_key)
        operator = CepOperator(
            self._pattern,
            function,
            event_time=self._event_time,
            comparator=self._comparator,
            late_tag=None if self._late_tag is None else self._late_tag.tag_id,
        )
        step = add_step(
            stream._env,
            state_kind(self._pattern),
            f"Pattern({_names(self._pattern)})",
            operator,
            result,
            [(stream._origins, stream._partitioning)],
            keyings=(stream._keying(),),
            inferred=inferred,
        )
        if not keyed:
            step.parallelism = 1
        return DataStream(stream._env, [Origin(step, None, result)])


def same_key(record: Any) -> int:
    """The key of all records of a stream without keys."""
    return 0


def _names(pattern: Pattern) -> str:
    names = [s.name for s in all_stages(pattern) if not isinstance(s, GroupPattern)]
    return ", ".join(reversed(names))


def state_kind(pattern: Pattern) -> str:
    """The kind of a pattern's step: whoever has stored partial matches finds them by it.

    A checkpoint or savepoint of another kind is refused before the job starts. Conditions and time
    limits are not in it: they may change.
    """
    shape = json.dumps(compile_pattern(pattern).fingerprint(), sort_keys=True)
    digest = hashlib.sha256(shape.encode()).hexdigest()[:8]
    return f"pattern [{_names(pattern)}] {digest}"


# --- functions -----------------------------------------------------------------------------------


class _Adapter(Function):
    """Hands matches to a function of another kind."""

    def __init__(self, function: UserFunction, method: str = "") -> None:
        self.function = function
        self.method = method

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the user's function."""
        opening = getattr(self.function, "open", None)
        if callable(opening):
            opening(runtime_context)

    def close(self) -> None:
        """Close the user's function."""
        closing = getattr(self.function, "close", None)
        if callable(closing):
            closing()


class _ProcessAdapter(_Adapter):
    def __init__(self, function: UserFunction) -> None:
        super().__init__(function, "process_match")
        timed_out = getattr(function, "process_timed_out_match", None)
        if timed_out is not None:
            self.process_timed_out_match = timed_out

    def process_match(self, match: MatchedEvents, ctx: Any) -> Iterable[Any] | None:
        """The function's results."""
        found: Iterable[Any] | None = callable_of(self.function, self.method)(match, ctx)
        return found


class _SelectAdapter(_Adapter):
    def process_match(self, match: MatchedEvents, ctx: Any) -> Iterable[Any] | None:
        """The function's one result."""
        return (callable_of(self.function, self.method)(match),)

    def timed_out(self, call: Callable[..., Any], match: MatchedEvents, time: int) -> Iterable[Any]:
        """What goes to the side output."""
        return (call(match, time),)


class _FlatSelectAdapter(_Adapter):
    def process_match(self, match: MatchedEvents, ctx: Any) -> Iterable[Any] | None:
        """The function's results."""
        found: Iterable[Any] | None = callable_of(self.function, self.method)(match)
        return found

    def timed_out(self, call: Callable[..., Any], match: MatchedEvents, time: int) -> Iterable[Any]:
        """What goes to the side output."""
        return call(match, time) or ()


class _TimedAdapter(_Adapter):
    """The same, with a function for partial matches that timed out."""

    def __init__(
        self, inner: _SelectAdapter | _FlatSelectAdapter, tag: OutputTag, timeout: UserFunction
    ) -> None:
        super().__init__(inner.function)
        self.inner = inner
        self.tag = tag
        self.timeout = timeout

    def process_match(self, match: MatchedEvents, ctx: Any) -> Iterable[Any] | None:
        """The inner one's."""
        return self.inner.process_match(match, ctx)

    def process_timed_out_match(self, match: MatchedEvents, ctx: Any) -> None:
        """What the function gives goes to the side output."""
        call = callable_of(self.timeout, "timeout")
        for value in self.inner.timed_out(call, match, ctx.timestamp()):
            ctx.output(self.tag, value)


def _with_timeout(
    adapter: _SelectAdapter | _FlatSelectAdapter,
    call: str,
    tag: OutputTag | None,
    timeout: UserFunction,
) -> UserFunction:
    if tag is None and timeout is None:
        return adapter
    if tag is None or timeout is None:
        raise InvalidArgumentError(
            f"{call} got only one of the tag and the function for partial matches that time out",
            fix=f"{call}(function, timed_out_partial_matches_tag=OutputTag('late', type), ...)",
        )
    check_instance(call, tag, OutputTag, "OutputTag('timed-out', type_info)")
    check_function(call, timeout, "function of match and time", "timeout")
    return _TimedAdapter(adapter, tag, timeout)


# --- patterns that grow --------------------------------------------------------------------------


def _warn_of_growth(pattern: Pattern, automaton: Automaton) -> None:
    if automaton.has_limits:
        return
    growth = next((text for s in all_stages(pattern) if (text := _growth(s)) is not None), None)
    if growth is not None:
        warnings.warn(
            f"the pattern has no time limit, so its state grows for ever: {growth}; call "
            f"within(...) ({pattern.where_made})",
            UnboundedPatternWarning,
            stacklevel=3,
        )


def _growth(stage: Pattern) -> str | None:
    """How many partial matches a stage leaves behind, in words; None if they come to an end."""
    if stage.repetition is Repetition.LOOP and stage.until_condition is None:
        if stage.inner_contiguity is Contiguity.ANY:
            return f"every event that {stage.name!r} takes doubles the partial matches of its key"
        if stage.inner_contiguity is Contiguity.RELAXED:
            return f"every event that {stage.name!r} takes is kept, and so is the loop"
    if stage.contiguity is Contiguity.ANY:
        return f"each partial match that waits for {stage.name!r} waits on behind every match"
    return None
