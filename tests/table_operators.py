"""Plays scripts to single SQL operators: lines, watermarks and the clock in, changes out.

A script is a list of steps: a line ("+I", value, ...), W(n) for a watermark, T(n) for the clock.
`every_way` plays it with all lines of a stretch in one batch, line by line, and with a restart
behind each step, and checks that the changes are the same.
"""

from __future__ import annotations

import datetime as dt
import pickle
from typing import Any, NamedTuple

import cloudpickle

from headrace.common.data_types import DataTypes, RowField, RowType
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.data.records import MAX_TIMESTAMP, Records
from headrace.runtime.chain import Channel
from headrace.runtime.metrics import OperatorMetrics
from headrace.runtime.operators.base import Operator, OperatorRuntime, Output
from headrace.runtime.pages.store import DictStore
from headrace.runtime.table.keying import LineKeying
from headrace.runtime.watermarks import InputClocks

KINDS = ("+I", "-U", "+U", "-D")
T3 = DataTypes.TIMESTAMP(3)
LTZ3 = DataTypes.TIMESTAMP_LTZ(3)
INT, BIGINT, STRING, DOUBLE = (
    DataTypes.INT(), DataTypes.BIGINT(), DataTypes.STRING(), DataTypes.DOUBLE(),
)  # fmt: skip


class W(NamedTuple):
    """Event time reaches a time."""

    time: int


class T(NamedTuple):
    """The wall clock shows a time."""

    time: int


END = W(MAX_TIMESTAMP)


def lines_of(*types: Any, changes: bool = False, names: tuple[str, ...] = ()) -> RowDataTypeInfo:
    """The type of lines with columns of these types."""
    names = names or tuple(f"f{number}" for number in range(len(types)))
    fields = [RowField(name, kind) for name, kind in zip(names, types, strict=True)]
    return RowDataTypeInfo(RowType(fields), changes)


def at(ms: int) -> dt.datetime:
    """A TIMESTAMP of so many milliseconds since 1970."""
    return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)


def instant(ms: int) -> dt.datetime:
    """A TIMESTAMP_LTZ of so many milliseconds since 1970."""
    return at(ms).replace(tzinfo=dt.UTC)


class _Collected:
    def __init__(self, changes: bool) -> None:
        self.changes = changes
        self.lines: list[tuple[Any, ...]] = []
        self.watermarks: list[int] = []

    def accept(self, records: Records) -> None:
        for value in records.values:
            if self.changes:
                self.lines.append((KINDS[value[-1]], *value[:-1]))
            else:
                self.lines.append(("+I", *value))

    def watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)

    def idle(self) -> None:
        pass


class OperatorRun:
    """One operator in one subtask."""

    def __init__(
        self,
        operator: Operator,
        *keys: tuple[int, ...],
        bounded: bool = False,
        at_source: bool = False,
    ) -> None:
        self._fresh = cloudpickle.dumps(operator)
        self._keyings = tuple(LineKeying(key) for key in keys)
        self._bounded, self._at_source = bounded, at_source
        self.store = DictStore()
        self.time = 0
        self.out = _Collected(self._output_changes(operator))
        self.metrics = OperatorMetrics()
        self._open()

    @staticmethod
    def _output_changes(operator: Any) -> bool:
        kind = getattr(operator, "output_type", None) or operator.input_type
        return bool(kind.changes)

    def _open(self) -> None:
        self.operator: Any = pickle.loads(self._fresh)
        output = Output(self.metrics)
        output.main = [self.out]
        runtime = OperatorRuntime(
            name="step", uid="step", where="test", subtask=0, parallelism=1, max_parallelism=128,
            output=output, store=self.store, metrics=self.metrics, clock=lambda: self.time,
            channel=Channel("test"), keyings=self._keyings, bounded=self._bounded,
            at_source=self._at_source,
        )  # fmt: skip
        self.operator.open(runtime)
        self.operator.begin_batch()

    def lines(self, lines: list[tuple[Any, ...]], input: int = 0) -> None:  # noqa: A002
        """Lines of one list arrive."""
        types = getattr(self.operator, "input_types", None) or (self.operator.input_type,)
        values: list[Any] = [line[1:] for line in lines]
        if types[input].changes:
            values = [(*line[1:], KINDS.index(line[0])) for line in lines]
        else:
            assert {line[0] for line in lines} <= {"+I"}
        self.operator.process(Records(values), input)

    def end_of_batch(self) -> None:
        self.operator.end_of_part()
        self.operator.flush()
        self.operator.begin_batch()

    def restart(self) -> None:
        """Another process goes on with what is stored."""
        self.end_of_batch()
        watermark = self.operator.current_watermark
        self.operator.close()
        self.store = DictStore(self.store.snapshot())
        self._open()
        self.operator.reload(InputClocks([watermark] * self.operator.inputs))

    def watermark(self, time: int) -> None:
        for number in range(self.operator.inputs):
            self.operator.watermark(time, number)

    def clock(self, time: int) -> None:
        self.time = time
        self.operator.advance_processing_time(time)

    def taken(self) -> list[tuple[Any, ...]]:
        """The changes since the last call."""
        found, self.out.lines = self.out.lines, []
        return found

    def entries(self) -> int:
        """How many entries of state and timers there are."""
        self.end_of_batch()
        operator = self.operator
        found = sum(len(table.items()) for table in operator.states.tables())
        found += sum(map(len, getattr(operator, "line_stores", ())))
        for queue in ("event_timers", "processing_timers"):
            found += len(getattr(operator, queue, ()))
        return found + len(getattr(operator, "panes", ()))


def play(
    run: OperatorRun, script: list[Any], *, size: int = 1_000_000, restart: bool = False
) -> list[tuple[Any, ...]]:
    """The changes of a script, with batches of at most so many lines."""
    waiting: list[Any] = []

    def feed() -> None:
        while waiting:
            run.lines(waiting[:size])
            del waiting[:size]
            run.end_of_batch()
            if restart:
                run.restart()

    for step in script:
        if isinstance(step, W | T):
            feed()
            run.watermark(step.time) if isinstance(step, W) else run.clock(step.time)
            run.end_of_batch()
            if restart:
                run.restart()
        else:
            waiting.append(step)
    feed()
    return run.taken()


def every_way(
    operator: Operator, script: list[Any], *keys: tuple[int, ...], entries: int | None = None
) -> list[tuple[Any, ...]]:
    """The changes of a script, which are the same however it is cut and restarted."""
    whole = OperatorRun(operator, *keys)
    expected = play(whole, script)
    for size in (1, 2, 3):
        for restart in (False, True):
            run = OperatorRun(operator, *keys)
            found = play(run, script, size=size, restart=restart)
            assert _by_key(found, keys) == _by_key(expected, keys), (size, restart)
            if entries is not None:
                assert run.entries() == entries
    if entries is not None:
        assert whole.entries() == entries
    return expected


def _by_key(lines: list[Any], keys: tuple[tuple[int, ...], ...]) -> dict[Any, list[Any]]:
    """The changes of each key in order; keys must be columns of the output at the same places."""
    found: dict[Any, list[Any]] = {}
    for line in lines:
        key = tuple(repr(line[place + 1]) for place in (keys[0] if keys else ()))
        found.setdefault(key, []).append(line)
    return found


def whole_input(operator: Operator, lines: list[Any], *keys: tuple[int, ...]) -> list[Any]:
    """What comes out in BATCH mode."""
    run = OperatorRun(operator, *keys, bounded=True)
    run.lines(lines)
    run.operator.finish_keys()
    return run.taken()
