"""What a window aggregate emits: keys, results, and what was asked of the window.

In: states by key, window by window.  Out: columns.  Next: runtime/table/base.py emits them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.runtime.table.times import millis_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.runtime.table.base import KeyedTableOperator
    from headrace.runtime.table.keying import LineKeying
    from headrace.runtime.table.times import Zone
    from headrace.runtime.table.windows.states import State, WindowAggregates

START, END, TIME = "start", "end", "time"
# Results go on in lists of about this length: a watermark may pass many windows of many keys.
EMITTED_AT_ONCE = 20_000


class WindowResults:
    """Results on their way out.

    Args:
        operator: emits them.
        aggregates: make values of states.
        keying: makes columns of keys.
        properties: what is asked of windows: `start`, `end` or `time`.
        zone: on whose wall clock windows are cut.
    """

    def __init__(
        self,
        operator: KeyedTableOperator,
        aggregates: WindowAggregates,
        keying: LineKeying,
        properties: Sequence[str],
        zone: Zone,
    ) -> None:
        self._operator = operator
        self._aggregates = aggregates
        self._keying = keying
        self._properties = tuple(properties)
        self._zone = zone
        self._keys: list[Any] = []
        self._states: list[State] = []
        self._windows: list[tuple[int, int, int]] = []  # start, end, how many keys

    def add(self, start: int, end: int, contents: Iterable[tuple[Any, State]]) -> None:
        """Take a window; keys whose lines were all taken back have no result."""
        before = len(self._keys)
        for key, state in contents:
            if state[0] > 0:
                self._keys.append(key)
                self._states.append(state)
        if len(self._keys) > before:
            self._windows.append((start, end, len(self._keys) - before))
        if len(self._keys) >= EMITTED_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Emit what was taken."""
        if not self._keys:
            return
        types = self._operator.out_lines.types
        columns = self._keying.columns_of(self._keys, types[: len(self._keying.positions)])
        columns += self._aggregates.columns(self._states)
        starts, ends, counts = (np.array(part) for part in zip(*self._windows, strict=True))
        for name, kind in zip(self._properties, types[len(columns) :], strict=True):
            times = starts if name == START else ends
            if name == TIME:
                times = self._zone.instants(ends - 1)
            columns.append(millis_column(np.repeat(times, counts), kind))
        self._keys, self._states, self._windows = [], [], []
        self._operator.emit_columns(columns)
