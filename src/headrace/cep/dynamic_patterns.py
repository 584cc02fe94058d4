"""A stream and the patterns that another stream delivers, as documents, while the job runs.

    CEP.dynamic_patterns(stream.key_by(...), documents, on_update="finish")
        .process(PatternProcessFunction) | .select(function) | .flat_select(function)

In: calls of the user's program.  Out: a step with cep/dynamic_operator.py.
Next: cep/documents.py says what a document is
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headrace.api.output_tag import OutputTag
from headrace.cep.dynamic_operator import DynamicPatternOperator, DynamicPatterns
from headrace.cep.pattern_stream import MatchingStream, same_key
from headrace.common.typeinfo import RowTypeInfo
from headrace.datastream.arguments import check_instance, described
from headrace.datastream.data_stream import DataStream, KeyedStream
from headrace.datastream.join_keys import check_other
from headrace.datastream.stream_builder import Origin, add_step
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from headrace.common.opaque import UserFunction

OnUpdate = Literal["finish", "drop"]


def dynamic_patterns(
    input: DataStream,
    pattern_stream: DataStream,
    *,
    on_update: OnUpdate,
    refused_tag: OutputTag | None,
) -> DynamicPatternStream:
    """What `CEP.dynamic_patterns` gives."""
    call = "CEP.dynamic_patterns"
    for what, stream in (("a stream of events", input), ("a stream of documents", pattern_stream)):
        if not isinstance(stream, DataStream):
            raise ArgumentTypeError(
                f"{call} expects {what}, not {described(stream)}",
                fix=f"{call}(events.key_by(...), documents)",
            )
    check_other(call, input, pattern_stream)
    if on_update not in ("finish", "drop"):
        raise InvalidArgumentError(
            f"{call} expects on_update='finish' or 'drop', not {on_update!r}",
            fix="'finish' lets matches under way go on in their version, 'drop' forgets them",
        )
    if refused_tag is not None:
        check_instance(call, refused_tag, OutputTag, "OutputTag('refused', Types.STRING())")
    return DynamicPatternStream(input, pattern_stream, on_update, refused_tag)


class DynamicPatternStream(MatchingStream):
    """Patterns that come as documents, on a stream."""

    def __init__(
        self,
        stream: DataStream,
        documents: DataStream,
        on_update: OnUpdate,
        refused_tag: OutputTag | None,
    ) -> None:
        super().__init__(stream)
        self._documents = documents
        self._on_update = on_update
        self._refused_tag = refused_tag

    def _transform(self, function: UserFunction, result: Any, *, inferred: bool) -> DataStream:
        self._check_late()
        keyed = isinstance(self._stream, KeyedStream)
        stream = self._stream if keyed else self._stream.key_by(same_key)
        spread = self._documents.broadcast()
        step = add_step(
            stream._env,
            "dynamic patterns",
            "Dynamic patterns",
            DynamicPatternOperator(function, self._settings()),
            result,
            [(stream._origins, stream._partitioning), (spread._origins, spread._partitioning)],
            keyings=(stream._keying(), None),
            inferred=inferred,
        )
        if not keyed:
            step.parallelism = 1
        return DataStream(stream._env, [Origin(step, None, result)])

    def _settings(self) -> DynamicPatterns:
        kind = self._stream.get_type()
        return DynamicPatterns(
            event_time=self._event_time,
            keeps_old=self._on_update == "finish",
            columns=tuple(kind.get_field_names()) if isinstance(kind, RowTypeInfo) else None,
            refused_tag=None if self._refused_tag is None else self._refused_tag.tag_id,
            late_tag=None if self._late_tag is None else self._late_tag.tag_id,
        )
