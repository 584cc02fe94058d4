"""Entries of one state as rows of a table, in columns of their types.

    user's value state    key, value                map state    key, map_key, value
    user's list state     key, position, value      broadcast    map_key, value
    behind a window       key, window or namespace, and as above
    timers                key, timestamp, namespace

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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.runtime.savepoint.entries import SavedEntry

    Rows = Callable[[SavedEntry], Iterator[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class StateTable:
    """How the entries of a state become rows.

    Attributes:
        state: its path within the operator, such as ``user/count``.
        kind: value, list, map, reducing or aggregating; None if it was not recorded.
        expires: whether values stand beside the time they were touched.
    """

    state: str
    kind: str | None = None
    expires: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        if self.state.startswith("timers/"):
            return ("key", "timestamp", "namespace")
        if self.state.startswith("broadcast/"):
            return ("map_key", "value")
        place = () if self._place is None else (self._place,)
        extra = {"list": ("position",), "map": ("map_key",)}.get(self.kind or "", ())
        return ("key", *place, *extra, "value")

    @property
    def _place(self) -> str | None:
        """The name of the column of what a key has several entries for."""
        if self.state == "contents" or self.state.startswith(("trigger/", "window-state/")):
            return "window"
        if self.state == "panes" or self.state.endswith("-records"):
            return "namespace"
        return None

    def rows(self, entry: SavedEntry) -> Iterator[tuple[Any, ...]]:
        """The rows of one entry."""
        if self.state.startswith("timers/"):
            timestamp, namespace = entry.namespace
            yield entry.key, timestamp, _window(namespace)
            return
        if self.state.startswith("broadcast/"):
            yield entry.key, entry.value
            return
        first: tuple[Any, ...] = (entry.key,)
        if self._place is not None:
            first = (entry.key, _window(entry.namespace))
        if self.kind == "list":
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
