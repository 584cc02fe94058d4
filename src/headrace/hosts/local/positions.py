"""Positions of sources that are read in Python: into a savepoint, and out of one.

In: a position for every source of a plan.  Out: offsets, and files beside them, as Spark's streams
would have left them: a savepoint is the same, whichever host has written it.
Next: hosts/local/sources.py
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from headrace.hosts.local.sources import ADAPTERS
from headrace.io.storage import Storage
from headrace.spi.host import SourcePosition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.common.opaque import JsonValue
    from headrace.hosts.local.sources import SavedStream
    from headrace.plan.physical import PhysicalPlan
    from headrace.spi.host import Beginning

__all__ = ["restored_positions", "save_positions"]

_SOURCES = "sources"


def save_positions(
    plan: PhysicalPlan, positions: Sequence[JsonValue], location: str
) -> list[SourcePosition]:
    """Write what a savepoint keeps of positions."""
    found: list[SourcePosition] = []
    for each, position in zip(plan.sources, positions, strict=True):
        streams = ADAPTERS.of(each.source).saved(each.source, position)
        first = sum(len(earlier.offsets) for earlier in found)
        found.append(_write_streams(location, first, streams))
    return found


def restored_positions(plan: PhysicalPlan, beginning: Beginning) -> list[JsonValue]:
    """The positions that a savepoint keeps; None for a source that begins at its beginning."""
    return [
        None
        if saved is None
        else ADAPTERS.of(each.source).restored(
            each.source, list(_read_streams(beginning.location, saved))
        )
        for each, saved in zip(plan.sources, beginning.positions, strict=True)
    ]


def _write_streams(location: str, first: int, streams: list[SavedStream]) -> SourcePosition:
    """Write what a source keeps beside its offsets; numbered as Spark numbers its streams."""
    storage = Storage.open(location)
    for number, (_, files) in enumerate(streams, start=first):
        for name, content in files.items():
            storage.write_atomic(f"{_SOURCES}/{number}/{name}", content)
    numbers = range(first, first + len(streams)) if any(files for _, files in streams) else ()
    return SourcePosition(tuple(offset for offset, _ in streams), tuple(numbers))


def _read_streams(location: str, saved: SourcePosition) -> Iterator[SavedStream]:
    storage = Storage.open(location)
    for offset, number in zip_longest(saved.offsets, saved.numbers):
        folder = f"{_SOURCES}/{number}"
        files = [] if number is None else storage.list(folder)
        yield offset, {file.name: storage.read(f"{folder}/{file.name}") for file in files}
