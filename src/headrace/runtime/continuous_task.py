"""A task whose epochs are long: records are handed on as they come, barriers end an epoch.

    begin_epoch ─▶ take_packet | take_part ... settle ... ─▶ end_epoch ─▶ begin_epoch ...

The operators, their state and their outputs are those of runtime/task.py; here a record does not
wait for the end of its epoch.  In: packets or records, one after the other.  Out: packets in the
outbox, news and the messages of an epoch for the driver.  Next: hosts/continuous/loops.py drives it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.clock import wall_clock
from headrace.data.records import MAX_TIMESTAMP, Records
from headrace.runtime.exchange.buffers import END, TO_DRIVER, WATERMARK, message_frame
from headrace.runtime.exchange.outbox import Outbox
from headrace.runtime.latency import LatencyMarkers
from headrace.runtime.task import Task
from headrace.runtime.watermarks import ALIVE, ALL_CHANNELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.runtime.exchange.buffers import Frame
    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.stage import EdgePlan, StagePlan
    from headrace.spi.host import TaskReport

# Rows of Spark's streaming shuffle are counted by buffers, not by bytes: large packets would let
# its memory grow without a bound.
PACKET_BYTES = 64 * 1024


class ContinuousTask(Task):
    """One subtask of one stage, for as long as its run lasts.

    Args:
        stage: its operators.
        subtask: its number.
        store: its state.
        emits_watermarks: whether there are any before the end of input.
        clock: processing time in epoch milliseconds.
    """

    epochs_overlap = True

    def __init__(
        self,
        stage: StagePlan,
        subtask: int,
        store: PageStore,
        *,
        emits_watermarks: bool = True,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._messages: list[Any] = []
        self._emits_watermarks = emits_watermarks
        self.latency = LatencyMarkers(stage, clock)
        super().__init__(stage, subtask, store, clock=clock)
        self.times.begin(clock())
        self.outbox = Outbox(stage.slots, PACKET_BYTES)

    # --- epochs ----------------------------------------------------------------------------------

    def begin_epoch(self, number: int, attempt: str) -> None:
        """What comes from here on belongs to this epoch."""
        self._begin(number, attempt)

    def end_epoch(self) -> list[Any]:
        """Everything of the epoch is in: state is written; what the driver has to know."""
        if self._emits_watermarks:
            self._end_of_part()
        if self.stage.level:
            self._check_idle()
            self._advance_processing_time()
        self.latency.report(self.operators)
        self._end()
        messages, self._messages = self._messages, []
        return messages

    def progress(self) -> tuple[TaskReport, dict[str, Any]]:
        """How far the task is in the running epoch; nothing is counted anew."""
        report: dict[str, Any] = {}
        for uid, operator in self.operators.items():
            self._note_watermarks(uid, operator)
            report[uid] = operator.runtime.metrics.look()
        if self.stage.source is not None:
            report[self.stage.source] = self.source_metrics.look()
        return self._task_report(report, ends=False), report

    def _post(self, message: Any) -> None:
        """Messages need no way through later stages: the task has a line to the driver."""
        self._messages.append(message)

    # --- records ---------------------------------------------------------------------------------

    def take_packet(self, packet: bytes | memoryview) -> None:
        """Frames of a stage in front of this one."""
        self._take_packet(packet)

    def take_part(self, split: str, records: Records | None) -> None:
        """Records of a source; None for a split that nobody waits for any more."""
        self._take_part(split, records)

    def _take(self, frame: Frame) -> None:
        if not self.latency.take(frame, self):
            super()._take(frame)

    def _split_watermark(self, edge: EdgePlan, channel: str, timestamp: int) -> None:
        """A split is read by one task only, so its watermark holds at once."""
        self.gates[edge.target, edge.input].watermark(edge.id, channel, timestamp)

    def announce(self, splits: Iterable[str]) -> None:
        """Splits that may have records: they hold event time from the start."""
        for split in splits:
            self._take_part(split, Records([]))
        self.emit_watermarks()

    def say_active(self, channels: Iterable[str]) -> None:
        """These are silent because they are held back (hosts/alignment.py), and not idle."""
        for channel in channels:
            self._tell_edges(channel, ALIVE)

    def end_input(self) -> None:
        """The source has ended: event time reaches its end on all of its edges."""
        for slot in range(self.stage.slots):
            self.outbox.add(slot, message_frame(END, TO_DRIVER, None))
        self._tell_edges(ALL_CHANNELS, MAX_TIMESTAMP)

    def _tell_edges(self, channel: str, timestamp: int) -> None:
        for edge in self.stage.edges.values():
            if not edge.chained:
                frame = message_frame(WATERMARK, edge.id, (channel, timestamp))
                for slot in range(edge.parallelism):
                    self.outbox.add(slot, frame)

    # --- time ------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Some records are in: timers that are due fire, and what is ready leaves."""
        if self.stage.level:
            self._check_idle()
            self._advance_processing_time()
        watch = self.times.watch
        for operator in self.operators.values():
            watch.switch(operator.runtime.metrics)
            operator.hand_on()
        watch.switch(self.times.own)

    def emit_watermarks(self) -> None:
        """Generators are asked, every ``pipeline.auto-watermark-interval``."""
        for operator in self.operators.values():
            operator.emit_watermark_now()

    def take_news(self) -> list[Any]:
        """What the driver should know at once."""
        return [news for operator in self.operators.values() for news in operator.news()]

    def wake_at(self) -> int | None:
        """No clock has to be looked at before this time, if no record comes."""
        if not self.stage.level:
            return None
        now = self.clock()
        wishes = [operator.next_look() for operator in self.operators.values()]
        wishes += [gate.valve.next_idle(now) for gate in self.gates.values() if gate.valve]
        return min((wish for wish in wishes if wish is not None), default=None)
