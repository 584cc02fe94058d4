"""``WITH ('scan.watermark...' = ...)``: how a table's watermarks are made.

    scan.watermark.emit.strategy            on-periodic, or on-event: behind each rise
    scan.watermark.idle-timeout             wins over table.exec.source.idle-timeout
    scan.watermark.alignment.group, .max-drift, .update-interval

In: the options of a table.  Out: those of its connector, and a `WatermarkPolicy`.
Next: table/declared.py puts it into the plan
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import ConfigurationError
from headrace.rel.nodes import WatermarkPolicy
from headrace.spi.table_connector import TableOptions, option

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "scan.watermark."
EMIT = option(
    "scan.watermark.emit.strategy",
    "enum",
    "on-periodic",
    "when watermarks are sent",
    ("on-periodic", "on-event"),
)
IDLE = option("scan.watermark.idle-timeout", "duration", None, "when a silent source is idle")
GROUP = option("scan.watermark.alignment.group", doc="who waits for whom")
DRIFT = option("scan.watermark.alignment.max-drift", "duration", None, "how far ahead one may be")
INTERVAL = option(
    "scan.watermark.alignment.update-interval", "duration", None, "no effect: a batch is one"
)
_ALL = {each.key: each for each in (EMIT, IDLE, GROUP, DRIFT, INTERVAL)}


def without_watermarks(options: Mapping[str, str]) -> dict[str, str]:
    """The options that a connector is told."""
    return {key: value for key, value in options.items() if key not in _ALL}


def watermark_policy(table: str, options: Mapping[str, str]) -> WatermarkPolicy:
    """What the options of a table say about its watermarks.

    Raises:
        ConfigurationError: a value cannot be read, or alignment lacks a part.
    """
    given = TableOptions(table, options)
    group, drift = given.get(GROUP), given.get(DRIFT)
    asked = [each for each in (GROUP, DRIFT, INTERVAL) if given.has(each.key)]
    if asked and (group is None or drift is None):
        raise ConfigurationError(
            f"{asked[0].key!r} is set, and alignment needs a group and a drift",
            where=f"table {table}",
            fix=f"set {GROUP.key!r} and {DRIFT.key!r}",
        )
    given.get(INTERVAL)  # refused if it is no duration
    emit = given.get(EMIT)
    return WatermarkPolicy(
        on_event=emit == "on-event" if given.has(EMIT.key) else None,
        idle_timeout_ms=given.get(IDLE),
        alignment=None if group is None else (str(group), int(drift)),
    )
