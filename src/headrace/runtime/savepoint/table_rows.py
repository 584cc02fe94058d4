"""Entries of one state as rows of a table, in columns of their types.

    user's value state    key, value                map state    key, map_key, value
    user's list state     key, position, value      broadcast    map_key, value
    behind a window       key, window or namespace, and as above
    timers                key, timestamp, namespace
    other layouts         key, the columns of their namespaces, value

In: entries (entries.py) and what was recorded of the state's type, if anything.
Out: Arrow batches.  Next: hosts/spark/state/tables.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row
from headrace.data.codec import DoesNotFit, codec_for
from headrace.errors import StateError
from headrace.runtime.savepoint.value_types import UNKNOWN, merged, settled, type_of
from headrace.runtime.state.layouts import layout_of
from headrace.runtime.state.names_of_0_1 import spec_in_0_1

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.runtime.savepoint.entries import SavedEntry
    from headrace.spi.state import Layout, StateSpec


@dataclass(frozen=True, slots=True)
class StateTable:
    """How the entries of a state become rows.

    Attributes:
        state: its path within the operator, such as ``user/count``.
        kind: value, list, map, reducing or aggregating; None if it was not recorded.
        expires: whether values stand beside the time they were touched.
        declared: its layout; None if it was stored before states were declared.
    """

    state: str
    kind: str | None = None
    expires: bool = False
    declared: StateSpec | None = None

    @property
    def spec(self) -> StateSpec:
        """The state."""
        return self.declared or spec_in_0_1(self.state)

    @property
    def _layout(self) -> Layout:
        return layout_of(self.spec)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        layout = self._layout
        key = "map_key" if self.spec.scope == "broadcast" else "key"
        extra = {"list": ("position",), "map": ("map_key",)}.get(self.kind or "", ())
        return (key, *layout.columns, *extra, *(("value",) if layout.has_values else ()))

    def rows(self, entry: SavedEntry) -> Iterator[tuple[Any, ...]]:
        """The rows of one entry."""
        layout = self._layout
        first = (entry.key, *map(_window, layout.cells(entry.namespace)))
        if not layout.has_values:
            yield first
        elif self.kind == "list":
            for position, item in enumerate(entry.value, entry.part or 0):
                yield *first, position, self._plain(item)
        elif self.kind == "map":
            for key, value in entry.value.items():
                yield *first, key, self._plain(value)
        else:
            yield *first, self._plain(entry.value)

    def _plain(self, value: Any) -> Any:
        return value[1] if self.expires else value

    # --- types -------------------------------------------------------------------------------

    def type_of(self, entries: Iterable[SavedEntry]) -> list[TypeInformation]:
        """The types of the columns, as far as these entries tell."""
        found: list[TypeInformation] = [UNKNOWN] * len(self.columns)
        for entry in entries:
            for row in self.rows(entry):
                found = [merged(old, type_of(cell)) for old, cell in zip(found, row, strict=True)]
        return found


def _window(namespace: Any) -> Any:
    """A time window with names; other namespaces as they are, and None for none."""
    if isinstance(namespace, tuple):
        if len(namespace) == 2 and all(isinstance(part, int) for part in namespace):
            return _named_window(namespace)
        return namespace or None
    return namespace


def _named_window(bounds: tuple[int, int]) -> Any:
    return Row(start=bounds[0], end=bounds[1])


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a state as Arrow."""

    names: tuple[str, ...]
    types: tuple[TypeInformation, ...]

    @staticmethod
    def of(names: Iterable[str], types: Iterable[TypeInformation]) -> TableColumns:
        """Columns whose types are complete."""
        return TableColumns(tuple(names), tuple(map(settled, types)))

    def schema(self) -> pa.Schema:
        """The Arrow schema."""
        inner = codec_for(Types.TUPLE(list(self.types))).schema
        assert inner is not None
        fields = zip(self.names, inner, strict=True)
        return pa.schema([field.with_name(name) for name, field in fields])

    def batch(self, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
        """Rows as a batch.

        Raises:
            StateError: a value is not of the recorded type.
        """
        try:
            found = codec_for(Types.TUPLE(list(self.types))).encode(rows)
        except DoesNotFit as misfit:
            raise StateError(
                f"an entry is not of the type that was recorded for its state: {misfit}",
                fix="start the job once with the declared type: it converts or refuses the state",
            ) from None
        return pa.RecordBatch.from_arrays(found.columns, schema=self.schema())
