"""The files that the systems read, made when they are first asked for.

In: a size.  Out: a folder with `events` (files one after the other), `side` (q13's table), and the
same events in one file a subtask for Flink: `lanes`, `lanes-warmup` and `lanes-start`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexmark.events import BLOCK, write_files, write_lanes
from nexmark.queries import write_side

if TYPE_CHECKING:
    from pathlib import Path

LANES = 2
START_EVENTS = LANES * BLOCK


def events_of(folder: Path, *, events: int, rows_per_file: int) -> Path:
    """For systems that read files in order."""
    made = folder / f"nexmark-{events}-{rows_per_file}"
    if not made.exists():
        write_side(made / "side")
        write_files(made / "events", events=events, rows_per_file=rows_per_file)
    return made


def lanes_of(folder: Path, *, events: int, warmup_events: int) -> Path:
    """For Flink."""
    made = folder / f"nexmark-lanes-{events}-{warmup_events}"
    if not made.exists():
        write_side(made / "side")
        sizes = {"lanes": events, "lanes-warmup": warmup_events, "lanes-start": START_EVENTS}
        for name, count in sizes.items():
            write_lanes(made / name, events=count, lanes=LANES)
    return made
