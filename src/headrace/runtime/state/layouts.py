"""The layouts of tables, and where all layouts are found by their names.

    table      key -> value                      windows    (key, window) -> value
                                                 paired     (key, anything else) -> value

In: the name of a layout.  Out: the layout, from the module that has it.
Next: runtime/timers.py, runtime/windows/panes.py, runtime/watermarks.py have the others of
headrace's own
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import cloudpickle

from headrace.errors import StateError
from headrace.runtime.pages.cells import NO_ENTRY
from headrace.runtime.pages.large import LargeMap, LargeTable
from headrace.spi.state import Layout, Target, register_layout, registered_layouts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.spi.state import ListedPages, PageStore, StateSpec

_PART_ITEMS = 10_000

# Imported when asked for: savepoints know no timers, and a task without windows needs no panes.
_HOMES = {
    "timers": "headrace.runtime.timers",
    "panes": "headrace.runtime.windows.panes",
    "clock": "headrace.runtime.watermarks",
    "lines": "headrace.runtime.table.joins.line_layout",
    "timed-lines": "headrace.runtime.table.joins.line_layout",
}


def layout_of(spec: StateSpec) -> Layout:
    """The layout of a state.

    Raises:
        StateError: no module that this process can import has it.
    """
    assert spec.layout is not None, spec
    known = registered_layouts()
    if spec.layout not in known:
        home = _HOMES.get(spec.layout, spec.home)
        if home:
            with contextlib.suppress(ImportError):
                importlib.import_module(home)
        if spec.layout not in known:
            raise StateError(
                f"state {spec.name!r} is stored in the layout {spec.layout!r}, which is not known "
                "here",
                fix=f"install the package with the module {home!r}"
                if home
                else "import the module that registers it first",
            )
    return known[spec.layout]


def is_spread(spec: StateSpec) -> bool:
    """Whether a state has names below its own; one of a layout that is not known here may have."""
    if spec.layout is None:
        return False
    try:
        return layout_of(spec).spread
    except StateError:
        return True


def home_of(spec: StateSpec) -> str:
    """The module that another process has to import for the layout; empty for headrace's own."""
    layout = registered_layouts().get(spec.layout or "")
    home = "" if layout is None else type(layout).__module__
    return "" if home.startswith("headrace.") else home


@dataclass(frozen=True, slots=True)
class ProgramLayouts:
    """The layouts that are not headrace's own, on their way to workers."""

    packed: tuple[bytes, ...] = ()

    @staticmethod
    def of_driver() -> ProgramLayouts:
        """Those that this process has registered."""
        return ProgramLayouts(tuple(_packed_layouts()))

    def adopt(self) -> None:
        """Register them here, where the user's modules can be imported by now."""
        for content in self.packed:
            with contextlib.suppress(ImportError):  # whoever needs it is told by `layout_of`
                register_layout(pickle.loads(content))


def _packed_layouts() -> Iterator[bytes]:
    for layout in registered_layouts().values():
        if not type(layout).__module__.startswith("headrace."):
            with contextlib.suppress(Exception):  # what cannot travel may not be needed
                yield bytes(cloudpickle.dumps(layout))


# --- tables --------------------------------------------------------------------------------------


class TableLayout(Layout):
    """A paged table with one entry a key; lists and maps may be in parts."""

    def entries(self, store: ListedPages, name: str) -> Iterator[tuple[Any, ...]]:
        """All entries."""
        for key, *value in _contents(store, name):
            yield key, None, *value

    def target(self, store: PageStore, name: str) -> Target:
        """Takes them back."""
        return _TableTarget(GrowingTable(store, name))


class PairedLayout(Layout):
    """A paged table with several entries for a key, by (key, namespace)."""

    def __init__(self, name: str, column: str) -> None:
        super().__init__(name)
        self.columns = (column,)

    def entries(self, store: ListedPages, name: str) -> Iterator[tuple[Any, ...]]:
        """All entries."""
        for (key, namespace), *value in _contents(store, name):
            yield key, namespace, *value

    def target(self, store: PageStore, name: str) -> Target:
        """Takes them back."""
        return _PairedTarget(GrowingTable(store, name))


register_layout(TableLayout("table"))
register_layout(PairedLayout("windows", "window"))
register_layout(PairedLayout("paired", "namespace"))


def _contents(store: ListedPages, name: str) -> Iterator[tuple[Any, ...]]:
    """(key, value) of a table; (key, part of the value, where it begins) of what is in parts."""
    table = LargeTable(store, name)
    if not _has_parts(store, table.prefix):
        yield from table.scan()
        return
    for key, value in table.scan():
        if type(value) is not tuple:
            yield key, value
            continue
        parts = table.parts(table.cell(key))
        whole = parts.entries.scan() if isinstance(parts, LargeMap) else iter(parts)
        begin = 0
        while items := list(islice(whole, _PART_ITEMS)):
            yield key, (dict(items) if isinstance(parts, LargeMap) else items), begin
            begin += len(items)
        parts.forget()


def _has_parts(store: ListedPages, prefix: bytes) -> bool:
    """Whether a table is one of lists or maps, some of which are in parts.

    In other tables a tuple is a value of the user's and not a marker.
    """
    return any(name.startswith((prefix + b"m", prefix + b"l")) for name in store)


class _TableTarget(Target):
    def __init__(self, table: GrowingTable) -> None:
        self._table = table

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        self._table.put(key, value)

    def add(self, key: Any, namespace: Any, part: Any) -> None:
        self._table.add(key, part)

    def flush(self) -> None:
        self._table.flush()


class _PairedTarget(_TableTarget):
    def put(self, key: Any, namespace: Any, value: Any) -> None:
        self._table.put((key, namespace), value)

    def add(self, key: Any, namespace: Any, part: Any) -> None:
        self._table.add((key, namespace), part)


class GrowingTable(LargeTable):
    """A table that takes those lists and maps apart that came in parts.

    Others may be values of a value state, which have to stay whole.
    """

    def _reset(self) -> None:
        super()._reset()
        self._grown: set[int] = set()

    def add(self, key: Any, part: Any) -> None:
        """Add a part to what is there."""
        cell = self.cell(key)
        content = cell.value
        if content is NO_ENTRY:
            content = cell.value = part
        elif type(content) is tuple:
            parts = self.parts(cell)
            if isinstance(part, dict):
                for each, value in part.items():
                    parts.entries.put(each, value)
            else:
                parts.extend(part)
            return
        elif isinstance(part, dict):
            content.update(part)
        else:
            content.extend(part)
        self._grown.add(id(content))
        if cell.clean:
            self.touch(cell)

    def _is_large(self, content: Any) -> bool:
        return id(content) in self._grown and super()._is_large(content)

    def flush(self) -> None:
        """Write what changed."""
        super().flush()
        self._grown.clear()
