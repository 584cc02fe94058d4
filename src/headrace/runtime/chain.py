"""Joins operators: neighbours in a stage call each other directly, others through an exchange.

In: a StagePlan.  Out: opened operators whose outputs lead to the next ones.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol

from headrace.common.types import Row, RowKind
from headrace.data.codec import DoesNotFit, codec_for
from headrace.data.records import Records
from headrace.errors import HeadraceError, TypeMismatchError, UnserializableRecordError
from headrace.runtime.exchange.buffers import WATERMARK, data_frame, message_frame
from headrace.runtime.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.runtime.exchange.outbox import Outbox
    from headrace.runtime.operators.base import Operator
    from headrace.runtime.stage import EdgePlan
    from headrace.runtime.watermarks import Valve

# Larger lists are cut before they are encoded, so that a frame stays within memory and a packet.
FRAME_RECORDS = 100_000


class Channel:
    """Names the channel that watermarks of the running task belong to: a subtask, or a split."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class InputGate:
    """An input of an operator: counts records and combines the watermarks of its edges.

    Args:
        operator: whose input it is.
        number: which of its inputs.
        valve: None in front of the first exchange.
        watch: of the task.
    """

    def __init__(
        self,
        operator: Operator,
        number: int,
        valve: Valve | None,
        watch: Stopwatch | None = None,
    ) -> None:
        self.operator = operator
        self.number = number
        self.valve = valve
        self._watch = watch or Stopwatch()

    def accept(self, records: Records) -> None:
        """Hand records to the operator."""
        metrics = self.operator.runtime.metrics
        metrics.records_in += len(records)
        outer = self._watch.switch(metrics)
        self.operator.process(records, self.number)
        self._watch.switch(outer)

    def watermark(self, edge: int, channel: str, timestamp: int) -> None:
        """A channel of an edge came this far in event time."""
        if self.valve is None:  # in front of the first exchange there is nothing to combine
            self.operator.pass_watermark(timestamp)
            return
        was_idle = self.valve.is_idle
        risen = self.valve.update(edge, channel, timestamp, self.operator.runtime.clock())
        if risen is not None or (was_idle and not self.valve.is_idle):
            outer = self._watch.switch(self.operator.runtime.metrics)
            self.operator.watermark(self.valve.current, self.number)
            self._watch.switch(outer)

    def idle(self, edge: int, channel: str) -> None:
        """A channel of an edge has nothing to say for now."""
        if self.valve is not None:
            self._leave_out(self.valve, lambda valve: valve.set_idle(edge, channel))

    def check_idle(self, now: int) -> None:
        """Do not wait for channels that have been silent for too long."""
        if self.valve is not None:
            self._leave_out(self.valve, lambda valve: valve.check_idle(now))

    def _leave_out(self, valve: Valve, channels: Callable[[Valve], int | None]) -> None:
        was_idle = valve.is_idle
        risen = channels(valve)
        if risen is not None:
            self.operator.watermark(risen, self.number)
        if valve.is_idle and not was_idle:
            self.operator.idle(self.number)


class ChainedOutput:
    """Calls the next operator of the same stage."""

    def __init__(self, gate: InputGate, edge: int) -> None:
        self._gate = gate
        self._edge = edge

    def accept(self, records: Records) -> None:
        """Hand records on as they are."""
        self._gate.accept(records)

    def watermark(self, timestamp: int) -> None:
        """Hand a watermark on; a chained edge is a single channel."""
        self._gate.watermark(self._edge, "chained", timestamp)

    def idle(self) -> None:
        """Nothing comes for now."""
        self._gate.idle(self._edge, "chained")


class ChainedSideOutput(ChainedOutput):
    """The same for a side output, whose tag says the type that the next operator gets.

    A main output passes records as the function made them, as PyFlink's chains do; what leaves
    through a tag is converted there, too (a row without field names gets those of its type).
    """

    def __init__(self, gate: InputGate, edge: EdgePlan, origin: Operator) -> None:
        super().__init__(gate, edge.id)
        self._codec = codec_for(edge.type_info)
        self._origin = origin

    def accept(self, records: Records) -> None:
        """Hand records on in the form of the tag's type."""
        if self._codec.schema is not None:
            try:
                batch = records.encoded(self._codec)
            except DoesNotFit as misfit:
                runtime = self._origin.runtime
                raise type_mismatch(misfit, runtime.name, runtime.where) from None
            records = Records(timestamps=records.timestamps, batch=batch, codec=self._codec)
        super().accept(records)


class HasOutbox(Protocol):
    """The task an exchange belongs to; a failed batch gives it a new outbox."""

    outbox: Outbox


class ExchangeOutput:
    """Sends records to the subtasks of a later stage."""

    def __init__(
        self, edge: EdgePlan, task: HasOutbox, channel: Channel, origin: Operator | None
    ) -> None:
        self._edge = edge
        self._task = task
        self._channel = channel
        self._origin = origin
        self._codec = codec_for(edge.type_info)
        self._by_column = (
            edge.parallelism > 1
            and self._codec.schema is not None
            and edge.partitioning.reads_a_column(edge.type_info)
        )

    def accept(self, records: Records) -> None:
        """Route, encode and post records."""
        if self._by_column and records.batch is None:
            # They must be columns to be sent; hashed as such they cost a third of a loop over keys.
            with contextlib.suppress(DoesNotFit):  # told, or sent as objects, below
                records.encoded(self._codec)
        try:
            for target, part in self._edge.partitioning.route(records):
                for piece in _pieces(part):
                    self._task.outbox.add(target, self._encode(piece))
        except HeadraceError as error:
            if error.where is None:  # a key or partition that cannot be used
                error.where = f"step {self._edge.target_name!r} at {self._edge.target_where}"
            raise

    def _encode(self, records: Records) -> list[bytes]:
        try:
            return data_frame(records, self._edge.id, self._codec)
        except DoesNotFit as misfit:
            # Types that were only guessed bind nobody, and Arrow has no place for a row's kind.
            if self._edge.lenient or is_change(misfit.value):
                return data_frame(records, self._edge.id, self._codec, pickled=True)
            raise self._mismatch(misfit) from None
        except UnserializableRecordError as error:
            name, where = self._emitter()
            error.where = f"step {name!r}" + ("" if where is None else f" at {where}")
            raise

    def _mismatch(self, misfit: DoesNotFit) -> TypeMismatchError:
        return type_mismatch(misfit, *self._emitter())

    def _emitter(self) -> tuple[str, str | None]:
        """The step whose records these are, and its line."""
        if self._origin is None:
            return "source", None
        return self._origin.runtime.name, self._origin.runtime.where

    def watermark(self, timestamp: int) -> None:
        """Tell every subtask that may receive records of this edge."""
        self._tell(timestamp)

    def idle(self) -> None:
        """Tell them not to wait for this subtask."""
        self._tell(None)

    def _tell(self, timestamp: int | None) -> None:
        frame = message_frame(WATERMARK, self._edge.id, (self._channel.name, timestamp))
        for slot in range(self._edge.parallelism):
            self._task.outbox.add(slot, frame)


def type_mismatch(misfit: DoesNotFit, name: str, where: str | None) -> TypeMismatchError:
    """The error for a record that is not of its stream's declared type."""
    field = f" in field {misfit.field!r}" if misfit.field else ""
    return TypeMismatchError(
        f"step {name!r} emitted {misfit.value!r:.200} of type {type(misfit.value).__name__}"
        f"{field}, where {misfit.expected} is declared",
        where=where,
        fix="return a value of the declared type, or correct output_type; without output_type "
        "any value is accepted",
    )


def is_change(value: Any) -> bool:
    """Whether what does not fit is an update or deletion, for whose kind Arrow has no place."""
    kind = value.get_row_kind() if isinstance(value, Row) else value
    return isinstance(kind, RowKind) and kind is not RowKind.INSERT


def _pieces(records: Records) -> list[Records]:
    count = len(records)
    if count <= FRAME_RECORDS:
        return [records]
    return [records.slice(start, FRAME_RECORDS) for start in range(0, count, FRAME_RECORDS)]
