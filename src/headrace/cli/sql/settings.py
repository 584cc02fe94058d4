"""What `SET` says about the client itself: modes of results, widths, how much is told.

In: the options of a session.  Out: `DisplaySettings`.  Names and defaults are Flink's; they stand
in common/table_options.py.  Next: cli/sql/display.py heeds them
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.options import OPTIONS

if TYPE_CHECKING:
    from headrace.common.configuration import Configuration

RUNTIME_MODE = "execution.runtime-mode"
RESULT_MODE = "sql-client.execution.result-mode"
MAX_ROWS = "sql-client.execution.max-table-result.rows"
VERBOSE = "sql-client.verbose"
TIME_COST = "sql-client.display.print-time-cost"
# the name since Flink 1.18, and the one before
WIDTH, OLD_WIDTH = "table.display.max-column-width", "sql-client.display.max-column-width"


@dataclass(frozen=True, slots=True)
class DisplaySettings:
    """How results are shown now.

    Attributes:
        mode: table, changelog or tableau.
        max_rows: how many lines table mode keeps.
        max_width: how wide a column of text may be.
        time_cost: whether queries in BATCH mode tell how long they took.
        zone: in which moments are shown.
        streaming: whether lines come with their kinds of change.
    """

    mode: str
    max_rows: int
    max_width: int
    time_cost: bool
    zone: str
    streaming: bool


def display_settings(
    options: Configuration, *, zone: str, streaming: bool, interactive: bool
) -> DisplaySettings:
    """What the options of a session say; without a terminal results are tableaus by default."""
    mode = options.get(OPTIONS[RESULT_MODE])
    if not interactive and not options.contains_key(RESULT_MODE):
        mode = "tableau"
    width = OLD_WIDTH if options.contains_key(OLD_WIDTH) else WIDTH
    if options.contains_key(WIDTH):
        width = WIDTH
    return DisplaySettings(
        mode=str(mode),
        max_rows=_number(options, MAX_ROWS),
        max_width=_number(options, width),
        time_cost=is_true(options, TIME_COST),
        zone=zone,
        streaming=streaming,
    )


def is_true(options: Configuration, key: str) -> bool:
    """The value of an option that is true or false."""
    return options.get(OPTIONS[key]) is True


def _number(options: Configuration, key: str) -> int:
    return int(str(options.get(OPTIONS[key])))
