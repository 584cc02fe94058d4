"""``'connector' = 'values'``: rows of a program as a table, and a table as a list of texts.

In: `SOURCES`, filled by runner.py.  Out: `RESULTS`.  It has the options of Flink's connector of
the same name that say what changes it has; all others are taken without effect.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from flink_programs.steps import LETTERS, JavaRow, TableStep
from headrace.common import data_types as d
from headrace.common.changes import Changes
from headrace.connectors.driver.collect import CollectSink
from headrace.data.line_values import to_line_value
from headrace.formats.line_text import line_text
from headrace.rel.resolve.type_names import data_type
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness
from headrace.spi.table_connector import TableConnector, TableDefinition, TableSink, TableSource
from headrace.sql.parser import parse_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.common.typeinfo import TypeInformation

KINDS = (Changes.INSERT, Changes.UPDATE_BEFORE, Changes.UPDATE_AFTER, Changes.DELETE)
SOURCES: dict[str, TableStep] = {}
RESULTS: dict[str, Written] = {}
AT_ONCE = [False]
"""Whether sources give all their lines at once, for BATCH mode."""
PHASE = [0]
"""Which lot is being read: lookups before Flink's restart see other lines than those after it."""
PART = [""]
"""``first`` while sources wait behind the lines before Flink's restart, for a savepoint."""
WAITING = threading.Event()
"""Set when all lines before the restart have been processed."""


@dataclass
class Written:
    """What a sink got: texts in order, and lines with their kinds."""

    row_type: d.RowType
    key: tuple[int, ...]
    shown: tuple[int, ...]
    changes: Changes = Changes.INSERT
    lines: list[tuple[Any, ...]] = field(default_factory=list)

    def changelog(self) -> list[str]:
        """Every change."""
        with_kind = not self.changes.only_inserts
        return [self._text(line, line[-1] if with_kind else 0) for line in self.lines]

    def _text(self, line: tuple[Any, ...], kind: int) -> str:
        fields = [self.row_type.fields[place] for place in self.shown]
        return line_text(d.RowType(fields))([line[place] for place in self.shown], kind)

    def materialized(self) -> list[str]:
        """The table that is left."""
        width = len(self.row_type.fields)
        kept: list[tuple[tuple[str, ...], str]] = []
        for line in self.lines:
            kind = 0 if self.changes.only_inserts else line[width]
            shown = self._text(line, 0)
            key = tuple(repr(line[place]) for place in self.key) if self.key else (shown,)
            if kind in (1, 3) or self.key:
                for place, (known, _) in enumerate(kept):
                    if known == key:
                        del kept[place]
                        break
            if kind in (0, 2):
                kept.append((key, shown))
        return [shown for _, shown in kept]


def changes_of(letters: str | None) -> Changes:
    """``I,UA,D`` as a set."""
    made = Changes(0)
    for letter in (letters or "I").split(","):
        made |= KINDS[LETTERS.index(letter.strip())]
    return made


class ValuesTables(TableConnector):
    """Tables of rows in this process."""

    name: ClassVar[str] = "values"

    def summary(self) -> str:
        return "Rows of a test"

    def readable_metadata(self, definition: TableDefinition) -> Mapping[str, d.DataType]:
        return _metadata(definition.options.get("readable-metadata", ""))

    def writable_metadata(self, definition: TableDefinition) -> Mapping[str, d.DataType]:
        return _metadata(definition.options.get("writable-metadata", ""))

    def source(self, definition: TableDefinition) -> TableSource:
        self._check_metadata(definition)
        step = SOURCES[definition.name.rsplit(".", 1)[-1]]
        changes = changes_of(definition.options.get("changelog-mode"))
        convert = to_line_value(definition.read_type()) or (lambda value: value)
        keys = list(self.readable_metadata(definition))

        def line(row: JavaRow) -> tuple[Any, ...]:
            width = len(definition.columns.fields)
            more = [row.cells[width + keys.index(m.key)] for m in definition.metadata]
            cells = tuple(convert(tuple(plain(c) for c in [*row.cells[:width], *more])))
            return cells if changes.only_inserts else (*cells, row.kind)

        lots = [[line(row) for row in lot] for lot in (step.before, step.after)]
        sizes = [max(len(lot) for lot in each) for each in _all_lots()]
        made = LotsSource(definition.lines(changes), lots, (sizes[0], sizes[1]))
        lookup = None if definition.options.get("disable-lookup") == "true" else Lookups(lots)
        names = definition.read_type().field_names()
        return TableSource(
            made, changes, None if lookup is None else lambda key: lookup.by(key, names)
        )

    def sink(self, definition: TableDefinition) -> TableSink:
        self._check_metadata(definition)
        options = definition.options
        key = definition.places(definition.primary_key)
        shown = [*definition.columns.field_names(), *_sorted_metadata(definition)]
        written = Written(definition.written_type(), key, definition.places(shown))
        name = definition.name.rsplit(".", 1)[-1]
        if PART[0] == "second" and name in RESULTS:
            written.lines = RESULTS[name].lines
        RESULTS[name] = written

        def accepts(changes: Changes) -> Changes:
            written.changes = _accepted(options, key, changes)
            return written.changes

        return TableSink(CollectSink(written.lines.extend), accepts)


def _all_lots() -> tuple[list[list[Any]], list[list[Any]]]:
    steps = SOURCES.values()
    return [step.before for step in steps], [step.after for step in steps]


def _sorted_metadata(definition: TableDefinition) -> list[str]:
    return [m.name for m in sorted(definition.written_metadata(), key=lambda m: m.key)]


def _accepted(options: Mapping[str, str], key: tuple[int, ...], changes: Changes) -> Changes:
    if options.get("sink-insert-only") == "true":
        return Changes.INSERT
    if "sink-changelog-mode-enforced" in options:
        return changes_of(options["sink-changelog-mode-enforced"])
    return changes & ~Changes.UPDATE_BEFORE if key else changes


def _metadata(text: str) -> dict[str, d.DataType]:
    pairs = [part.split(":", 1) for part in text.split(",") if ":" in part]
    return {key.strip(): data_type(parse_type(kind.strip())) for key, kind in pairs}


def plain(value: Any) -> Any:
    """A value of Java as one of a line."""
    if isinstance(value, JavaRow):
        return tuple(plain(cell) for cell in value.cells)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    return float(value) if isinstance(value, np.float32) else value


class LotsSource(PythonSource):
    """Gives one line a batch, so that lines of several sources alternate.

    Positions count steps: all sources end their first lot before any begins its second.
    """

    reads_on_driver: ClassVar[bool] = True

    def __init__(
        self, lines: RowDataTypeInfo, lots: list[list[tuple[Any, ...]]], sizes: tuple[int, int]
    ) -> None:
        self._lines = lines
        self._first = sizes[0]
        self._at_once = AT_ONCE[0]
        self._first_part = PART[0] == "first"
        self._steps = [
            lot[step] if step < len(lot) else None
            for lot, size in zip(lots, sizes, strict=True)
            for step in range(size)
        ]

    def produced_type(self) -> TypeInformation:
        return self._lines

    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self._first_part else Boundedness.BOUNDED

    def is_exhausted(self, position: Any) -> bool:
        return not self._first_part and all(
            offset >= len(self._steps) for offset in position.values()
        )

    def latest_offset(self, split: str, start: int) -> int:
        if self._first_part and start >= self._first:
            WAITING.set()
            return start
        return len(self._steps) if self._at_once else min(start + 1, len(self._steps))

    def gives_all_at_once(self) -> bool:
        return self._at_once

    def read(self, split: str, start: int, end: int) -> Iterator[Any]:
        PHASE[0] = int(start >= self._first)
        return iter(line for line in self._steps[start:end] if line is not None)


class Lookups:
    """What lookup joins ask: the lines before the restart, then those after it."""

    def __init__(self, lots: list[list[tuple[Any, ...]]]) -> None:
        self.lots = lots

    def by(self, key: tuple[str, ...], names: list[str]) -> KeyedLookup:
        """Lines by some columns."""
        return KeyedLookup(self.lots, [names.index(name) for name in key])


@dataclass
class KeyedLookup:
    """A `TableLookup`."""

    lots: list[list[tuple[Any, ...]]]
    places: list[int]

    def open(self) -> None:
        pass

    def lookup(self, keys: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        lines = self.lots[PHASE[0]]
        return [
            [line for line in lines if tuple(line[p] for p in self.places) == tuple(key)]
            for key in keys
        ]

    def close(self) -> None:
        pass
