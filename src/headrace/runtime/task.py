"""THE LOOP: runs the operators of one stage in one subtask, for one batch after another.

In: packets of the previous stage, or source batches at level 0.  Out: packets for the next stage.
A batch: packets in order -> operators; watermarks and timers; state; messages for the driver.
Next: runtime/chain.py (how operators are joined), runtime/operators/ (what they do)
"""

from __future__ import annotations

import traceback
import uuid
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.common.clock import processing_time, wall_clock
from headrace.data.codec import codec_for
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.errors import HeadraceError, InternalError, RecordError
from headrace.io.processes import here
from headrace.runtime.chain import (
    ChainedOutput,
    ChainedSideOutput,
    Channel,
    ExchangeOutput,
    InputGate,
)
from headrace.runtime.exchange.buffers import (
    END,
    MESSAGE,
    TO_DRIVER,
    WATERMARK,
    content_of,
    frames_of,
    message_frame,
    records_in,
)
from headrace.runtime.exchange.control_packets import wake_up
from headrace.runtime.exchange.outbox import Outbox, Packet
from headrace.runtime.metrics import OperatorMetrics
from headrace.runtime.operators.base import Operator, OperatorRuntime, Output
from headrace.runtime.pages.store import DictStore
from headrace.runtime.sorted_inputs import SortedInputs
from headrace.runtime.state.kept import KeptStates
from headrace.runtime.stopwatch import SpentTime, Stopwatch
from headrace.runtime.watermarks import (
    ALL_CHANNELS,
    OWN_CLOCK,
    InputClocks,
    Valve,
    store_clocks,
    stored_clocks,
)
from headrace.spi.host import TaskReport
from headrace.spi.state import CLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.runtime.exchange.buffers import Frame
    from headrace.runtime.exchange.partition import Partitioning
    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.stage import EdgePlan, StagePlan
    from headrace.runtime.stopwatch import Account

T = TypeVar("T")
# Where the store of a task says which version of the state it holds.
VERSION_KEY = b"task/version"


class Task:
    """One subtask of one stage. Lives as long as its worker process, over many batches."""

    epochs_overlap = False

    def __init__(
        self,
        stage: StagePlan,
        subtask: int,
        store: PageStore,
        *,
        clock: Callable[[], int] = processing_time,
        heed_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """One subtask.

        Args:
            stage: what it runs.
            subtask: its number.
            store: of its state.
            clock: processing time in epoch milliseconds.
            heed_stop: called between two steps of a batch; raises if the batch is to end now.
        """
        self._heed_stop = heed_stop
        self.stage = stage
        self.subtask = subtask
        self.store = store
        self.clock = clock
        self.outbox = Outbox(stage.slots)
        self.channel = Channel(str(subtask))
        self.operators: dict[str, Operator] = {}
        self.gates: dict[tuple[str, int], InputGate] = {}
        # made once: a frame must not pay for the codec of its edge
        self.codecs = {
            edge.id: codec_for(edge.type_info)
            for edge in stage.edges.values()
            if not edge.chained and edge.level == stage.level
        }
        self.source_metrics = OperatorMetrics()
        self.source_output = Output(self.source_metrics)
        self.times = TaskTimes()
        self._bytes_in = 0
        self._bytes_sent = 0  # by the outbox, when the last epoch ended
        # of the edges on which this task sends
        self.partitionings: list[Partitioning] = []
        # BATCH mode: operators whose input is sorted first
        self.sorted: dict[str, SortedInputs] = {}
        # the version of the stored state that this process's caches mirror
        self._version: bytes | None = None
        # whether the last batch ended the input, so that event time begins anew with the next
        self._over = False
        self._clocks: dict[str, Any] = {}
        # watermarks of splits that several tasks send: (edge, channel) -> timestamp
        self._deferred: dict[tuple[int, str], int] = {}
        self._states = KeptStates(store)
        self._build()

    # --- a batch ---------------------------------------------------------------------------

    def run_packets(
        self, packets: Iterable[tuple[int, int, bytes]], batch_id: int, attempt: str
    ) -> Iterator[Packet]:
        """Run one batch of a stage behind an exchange; packets are (channel, seq, content)."""
        yield from self._guarded(self._run_packets(packets), batch_id, attempt)

    def run_source(
        self, parts: Iterable[tuple[str, Records | None]], batch_id: int, attempt: str
    ) -> Iterator[Packet]:
        """Run one batch of a stage at a source; parts are (split, records).

        None instead of records: nobody waits for the split any more.
        """
        yield from self._guarded(self._run_source(parts), batch_id, attempt)

    def _guarded(self, steps: Iterator[None], batch_id: int, attempt: str) -> Iterator[Packet]:
        """Turn an error into a message to the driver: Spark's own would hide the user's line."""
        self.outbox = Outbox(self.stage.slots)  # packets are numbered anew in every batch
        self._bytes_sent = 0
        times = self.times
        try:
            times.begin(wall_clock())
            self._begin(batch_id, attempt)
            for _ in steps:
                self._heed_stop()
                full = self.outbox.take_full()
                if full:
                    times.watch.switch(times.blocked)
                    yield from full
                    times.watch.switch(times.own)
            self._end()
        except Exception as error:
            for operator in self.operators.values():
                operator.abandon_batch()
            # Packets that left already are waited for by number, so counting must go on.
            self.outbox.drop_unfinished()
            self._post(("error", pickle_error(error)))
            yield from self.outbox.take_all()
            raise StopTask from error
        yield from self.outbox.take_all()

    def _begin(self, batch_id: int, attempt: str) -> None:
        if not self.stage.bounded:
            if self._over or self.store.get(VERSION_KEY) != self._version:
                self._reload()
            self._over = False
        for partitioning in self.partitionings:
            partitioning.begin(batch_id)
        for operator in self.operators.values():
            operator.runtime.batch_id = batch_id
            operator.runtime.attempt = attempt
            operator.begin_batch()
        if self.stage.level and not self.stage.bounded:
            self._advance_processing_time()

    def _run_packets(self, packets: Iterable[tuple[int, int, bytes]]) -> Iterator[None]:
        self._deferred.clear()
        for packet in self.times.awaited(in_order(packets), self.times.waiting):
            self._take_packet(packet)
            yield
        if self.stage.bounded:
            yield from self._end_input()
            return
        self._move_splits()
        self._end_of_part()
        self._check_idle()
        self._advance_processing_time()

    def _take_packet(self, packet: bytes | memoryview) -> None:
        self._bytes_in += len(packet)
        for frame in frames_of(packet):
            self._take(frame)

    def _move_splits(self) -> None:
        """Move the clocks of splits: all tasks that read parts of one have been heard.

        Low ones come first: a split or input that is back from idleness must hold what the others
        bring.
        """
        for (number, channel), timestamp in sorted(self._deferred.items(), key=itemgetter(1)):
            edge = self.stage.edges[number]
            self.gates[edge.target, edge.input].watermark(number, channel, timestamp)
        self._deferred.clear()

    def _check_idle(self) -> None:
        """Behind all watermarks that are in: who spoke in them is not idle."""
        now = self.clock()
        for gate in self.gates.values():
            gate.check_idle(now)

    def _take(self, frame: Frame) -> None:
        edge = self.stage.edges.get(frame.edge)
        if edge is None or edge.level != self.stage.level:
            self._over |= frame.kind == END
            self.outbox.add(self.subtask, [frame.raw])  # type: ignore[list-item]
        elif frame.kind == WATERMARK:
            if self.stage.bounded:
                return  # event time is at its beginning, and then at its end
            channel, timestamp = content_of(frame)
            if edge.channels == 0:
                self._split_watermark(edge, channel, timestamp)
            elif timestamp is None:
                self.gates[edge.target, edge.input].idle(edge.id, channel)
            else:
                self.gates[edge.target, edge.input].watermark(edge.id, channel, timestamp)
        else:
            try:
                records = records_in(frame, self.codecs[edge.id])
            except RecordError as error:
                raise self.operators[edge.target].failed(error) from error.__cause__
            held = self.sorted.get(edge.target)
            if held is not None and edge.input in held.numbers:
                held.add(edge.input, records, len(frame.raw))
            else:
                self.gates[edge.target, edge.input].accept(records)

    def _split_watermark(self, edge: EdgePlan, channel: str, timestamp: int) -> None:
        """A split came this far, says one of the tasks that read it in this batch."""
        place = (edge.id, channel)
        self._deferred[place] = max(timestamp, self._deferred.get(place, timestamp))

    def _end_input(self) -> Iterator[None]:
        """BATCH mode, all input is in: keys in groups to those who waited, then the end of time."""
        for plan in self.stage.operators:  # in the order of the program: producers come first
            uid, operator = plan.uid, plan.operator
            for group, complete in self.sorted[uid].groups() if uid in self.sorted else ():
                for number, records in group:
                    self.gates[uid, number].accept(records)
                if complete:
                    operator.finish_keys()
                yield
            for edge in self.stage.edges.values():
                if edge.target == uid and not edge.chained:
                    gate = self.gates[uid, edge.input]
                    gate.watermark(edge.id, ALL_CHANNELS, MAX_TIMESTAMP)
            operator.end_of_part()
            yield

    def _run_source(self, parts: Iterable[tuple[str, Records | None]]) -> Iterator[None]:
        # what reading takes is the source's time, whoever reads
        for split, records in self.times.awaited(parts, self.source_metrics):
            self._take_part(split, records)
            yield
        self._end_of_part()
        if self.stage.uses_time:
            wake_up(self.outbox, self.stage.slots)

    def _take_part(self, split: str, records: Records | None) -> None:
        """Records of a split; without any it may have some later on, None for never again."""
        self.channel.name = f"{self.stage.source}/{split}"
        if records is None:
            for operator in self.operators.values():
                operator.release_split()
        elif len(records):
            self.source_output.emit(records)
        else:
            for operator in self.operators.values():
                operator.await_split()

    def _end_of_part(self) -> None:
        """All records of the batch are in: let what waited for that follow them."""
        for operator in self.operators.values():  # in the order of the program: producers first
            self.times.watch.switch(operator.runtime.metrics)
            operator.end_of_part()
        self.times.watch.switch(self.times.own)

    def _advance_processing_time(self) -> None:
        now = self.clock()
        for operator in self.operators.values():
            self.times.watch.switch(operator.runtime.metrics)
            operator.advance_processing_time(now)
        self.times.watch.switch(self.times.own)

    def _flush(self, operator: Operator) -> None:
        try:
            operator.flush()
        except RecordError as error:  # of what it keeps: it knows no step and no line
            raise operator.failed(error) from error.__cause__

    def _end(self) -> None:
        report = {}
        if self.stage.source is not None:
            report[self.stage.source] = self.source_metrics.report()
        watch = self.times.watch
        for uid, operator in self.operators.items():
            metrics = operator.runtime.metrics
            watch.switch(metrics)
            self._flush(operator)
            for message in operator.messages():
                self._post(message)
            watch.switch(self.times.own)
            self._note_watermarks(uid, operator)
            size = self._states.size_of(uid)
            if size is not None:
                metrics.state_bytes, metrics.written_bytes = size.total_bytes, size.take_written()
            report[uid] = metrics.report()
        for uid, news in self._states.take_news().items():
            self._post(("states", uid, news))
        if self.stage.level and not self.stage.bounded:
            self._save_clocks()
        self._post(("report", self._task_report(report), report, self._wake_at()))

    def _note_watermarks(self, uid: str, operator: Operator) -> None:
        """How far event time is: of the operator, of each of several inputs, of splits."""
        metrics = operator.runtime.metrics
        metrics.watermark = operator.current_watermark
        # splits tell all subtasks the same: the first one passes it on
        splits: dict[str, tuple[int, bool]] | None = {} if self.subtask == 0 else None
        for number in range(operator.inputs):
            valve = self.gates[uid, number].valve
            if valve is None:
                continue
            if operator.inputs > 1:
                metrics.gauges[f"currentInput{number + 1}Watermark"] = valve.current
            if splits is not None:
                splits |= valve.splits()
        metrics.splits = splits

    def _task_report(self, report: dict[str, Any], *, ends: bool = True) -> TaskReport:
        """Where the time of the epoch went.

        Args:
            report: of the operators.
            ends: the next epoch is counted from here.
        """
        operators_ms: float = sum(content["busy_ms"] for content in report.values())
        times = self.times
        own_ms, waiting_ms, blocked_ms = times.so_far_ms()
        now = wall_clock()  # not that of the plan: this tells how long it took
        found = TaskReport(
            level=self.stage.level,
            source=self.stage.source,
            subtask=self.subtask,
            began_ms=times.began_ms,
            ended_ms=now,
            busy_ms=own_ms + operators_ms,
            own_ms=own_ms,
            waiting_ms=waiting_ms,
            blocked_ms=blocked_ms,
            bytes_in=self._bytes_in,
            bytes_out=self.outbox.written_bytes - self._bytes_sent,
            in_steps=not self.epochs_overlap,
            machine=here(),
            uids=tuple(report),
        )
        if ends:
            self._bytes_in, self._bytes_sent = 0, self.outbox.written_bytes
            times.restart(now)
        return found

    def _wake_at(self) -> int | None:
        """When this task has something to do even if no record comes."""
        now = self.clock()
        wishes = [operator.next_processing_timer() for operator in self.operators.values()]
        wishes += [gate.valve.next_idle(now) for gate in self.gates.values() if gate.valve]
        return min((wish for wish in wishes if wish is not None), default=None)

    def _post(self, message: Any) -> None:
        self.outbox.add(self.subtask % self.stage.slots, message_frame(MESSAGE, TO_DRIVER, message))

    def close(self) -> None:
        """The process or the job ends: let the user's functions go."""
        for operator in self.operators.values():
            operator.close()

    # --- what survives a restart beside the operators' own state -----------------------------

    def _save_clocks(self) -> None:
        names = {edge.id: edge.name for edge in self.stage.edges.values()}
        clocks = {
            f"{uid}:{number}": gate.valve.snapshot(names)
            for (uid, number), gate in self.gates.items()
            if gate.valve is not None and not self._over
        }
        clocks |= {
            f"{uid}:{OWN_CLOCK}": {"current": operator.current_watermark}
            for uid, operator in self.operators.items()
            if operator.inputs > 1 and operator.clocks.is_ahead and not self._over
        }
        if clocks != self._clocks:
            store_clocks(self.store, clocks)
            self._clocks = clocks
        self._states.write()
        # Unique per committed run: a process whose caches mirror another run will notice.
        self._version = uuid.uuid4().bytes
        self.store.put(VERSION_KEY, self._version)

    def _reload(self) -> None:
        self._states.reload()
        clocks = stored_clocks(self.store)
        names = {edge.name: edge.id for edge in self.stage.edges.values()}
        for (uid, number), gate in self.gates.items():
            if gate.valve is not None:
                gate.valve.restore(clocks.get(f"{uid}:{number}"), names)
        for uid, operator in self.operators.items():
            operator.reload(self._input_clocks(uid, operator, clocks))
        self._clocks = clocks

    def _input_clocks(
        self, uid: str, operator: Operator, stored: dict[str, dict[str, Any]]
    ) -> InputClocks:
        valves = [self.gates[uid, number].valve for number in range(operator.inputs)]
        return InputClocks(
            [MIN_TIMESTAMP if valve is None else valve.current for valve in valves],
            [number for number, valve in enumerate(valves) if valve is not None and valve.is_idle],
            stored.get(f"{uid}:{OWN_CLOCK}", {}).get("current", MIN_TIMESTAMP),
        )

    # --- building ----------------------------------------------------------------------------

    def _build(self) -> None:
        stage = self.stage
        for plan in stage.operators:
            incoming = [edge for edge in stage.edges.values() if edge.target == plan.uid]
            for number in range(plan.operator.inputs):
                valve = None
                if stage.level:
                    edges = [edge for edge in incoming if edge.input == number]
                    feeding = {edge.id: edge.channels for edge in edges}
                    timeouts = {e.id: e.idle_after_ms for e in edges if e.idle_after_ms}
                    valve = Valve(feeding, timeouts)
                self.gates[plan.uid, number] = InputGate(
                    plan.operator, number, valve, self.times.watch
                )
        for plan in reversed(stage.operators):  # consumers first: open may already emit
            metrics = OperatorMetrics()
            output = Output(metrics)
            runtime = OperatorRuntime(
                name=plan.name,
                uid=plan.uid,
                where=plan.where,
                # Spark numbers the tasks of all sources through, and a narrow step is opened in
                # every slot: the user must see a number below the step's parallelism
                subtask=self.subtask % plan.parallelism,
                parallelism=plan.parallelism,
                max_parallelism=plan.max_parallelism,
                output=output,
                store=self._store_of(plan.uid, plan.operator),
                metrics=metrics,
                clock=self.clock,
                channel=self.channel,
                at_source=stage.level == 0,
                bounded=stage.bounded,
                upstream=plan.upstream,
                upstream_where=plan.upstream_where,
                lenient=plan.lenient,
                keyings=plan.keyings,
                job_id=stage.job_id,
                job_name=stage.job_name,
                job_parameters=stage.job_parameters,
                epochs_overlap=self.epochs_overlap,
            )
            self._connect(plan.uid, output, plan.operator)
            plan.operator.open(runtime)
            if stage.sort_memory_bytes is not None and stage.level and plan.operator.held_inputs():
                self.sorted[plan.uid] = SortedInputs(plan.operator, stage.sort_memory_bytes)
        self.operators = {plan.uid: plan.operator for plan in stage.operators}
        if stage.source is not None:
            self._connect(stage.source, self.source_output, None)

    def _store_of(self, uid: str, operator: Operator) -> PageStore:
        if self.stage.bounded:
            return DictStore()  # BATCH mode keeps the state of some keys at a time
        if not self.stage.level:
            return self.store
        keeps = operator.keeps_state or operator.keeps_clock
        return self._states.store_of(uid, (*operator.state_specs(), CLOCK) if keeps else ())

    def _connect(self, uid: str, output: Output, operator: Operator | None) -> None:
        for edge in self.stage.edges.values():
            if edge.origin != uid:
                continue
            consumers = output.main if edge.tag is None else output.sides.setdefault(edge.tag, [])
            if edge.chained:
                gate = self.gates[edge.target, edge.input]
                if edge.tag is None or operator is None:
                    consumers.append(ChainedOutput(gate, edge.id))
                else:
                    consumers.append(ChainedSideOutput(gate, edge, operator))
            else:
                edge.partitioning.open(self.subtask, edge.parallelism, edge.max_parallelism)
                self.partitionings.append(edge.partitioning)
                consumers.append(ExchangeOutput(edge, self, self.channel, operator))


class TaskTimes:
    """Where the time of one task goes, beside its operators.

    Attributes:
        own: records in and out of packets, state that is stored, messages.
        waiting: for input.
        blocked: for those who take its output.
        began_ms: when the running epoch did.
    """

    def __init__(self) -> None:
        self.watch = Stopwatch()
        self.own, self.waiting, self.blocked = SpentTime(), SpentTime(), SpentTime()
        self.began_ms = 0

    def begin(self, now_ms: int) -> None:
        """A task begins to work on an epoch; what was before is nobody's time."""
        self.watch.switch(self.own)
        self.own.busy_ns = 0
        self.began_ms = now_ms

    def awaited(self, parts: Iterable[T], account: Account) -> Iterator[T]:
        """The parts as they come; the time until each does goes to the account."""
        switch, source, none = self.watch.switch, iter(parts), object()
        while True:
            switch(account)
            part = next(source, none)
            switch(self.own)
            if part is none:
                return
            yield part  # type: ignore[misc]

    def so_far_ms(self) -> tuple[float, float, float]:
        """Own work, waiting and blocked, in the running epoch."""
        self.watch.switch(self.own)
        own, waiting, blocked = self.own, self.waiting, self.blocked
        return own.busy_ns / 1e6, waiting.busy_ns / 1e6, blocked.busy_ns / 1e6

    def restart(self, now_ms: int) -> None:
        """The next epoch begins."""
        self.own.busy_ns = self.waiting.busy_ns = self.blocked.busy_ns = 0
        self.began_ms = now_ms


class StopTask(Exception):
    """The task told the driver about an error and must not be used again."""


def in_order(packets: Iterable[tuple[int, int, bytes]]) -> Iterator[bytes]:
    """Packets of each channel by their sequence number; Spark's sort may have mixed them."""
    expected: dict[int, int] = {}
    waiting: dict[tuple[int, int], bytes] = {}
    for channel, seq, content in packets:
        due = expected.get(channel, 0)
        if seq != due:
            waiting[channel, seq] = content
            continue
        yield content
        due += 1
        while (channel, due) in waiting:
            yield waiting.pop((channel, due))
            due += 1
        expected[channel] = due
    if waiting:
        raise InternalError(f"packets are missing before {sorted(waiting)[:5]} of this batch")


def pickle_error(error: Exception) -> bytes:
    """An error as bytes; the original exception travels along if it can."""
    import cloudpickle

    if not isinstance(error, HeadraceError):
        trace = "".join(traceback.format_exception(error))
        error = InternalError(f"a task failed: {type(error).__name__}: {error}\n{trace}")
    cause = error.__cause__
    try:
        return bytes(cloudpickle.dumps((error, cause)))
    except Exception:  # the cause holds something that cannot travel; its text is in the error
        return bytes(cloudpickle.dumps((error, None)))
