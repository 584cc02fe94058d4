"""How many records wait in a source: a figure for metrics, which may be unknown.

In: a source, where it was read to, how to learn how far it goes.  Out: a report for the job's
metrics.  No job fails and no epoch waits for it: a figure that cannot be had is None, told once.
Next: control/metrics.py
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeAlias

from headrace.errors import HeadraceError
from headrace.runtime.metrics import OperatorMetrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import JsonObject
    from headrace.spi.python_source import Position, PythonSource

__all__ = ["Report", "pending_of", "pending_unknown"]

log = logging.getLogger(__name__)

# (subtask, counts by uid): what the job's metrics take
Report: TypeAlias = "tuple[int, dict[str, JsonObject]]"

# what was told, by source and kind of error: as long as this process lives
_told: set[tuple[str, str]] = set()


def pending_of(
    uid: str, source: PythonSource, position: Position, latest: Callable[[], Position]
) -> list[Report]:
    """What waits behind a position, if the source counts that: of all splits, and of the largest.

    Args:
        uid: of the source.
        source: an opened one.
        position: where it was read to; not changed by anybody from now on.
        latest: how far it goes; may raise.
    """
    if not source.counts_pending:
        return []
    try:
        waiting = [
            max(0, source.records_between(split, position[split], end))
            for split, end in latest().items()
            if split in position
        ]
    except Exception as error:
        return pending_unknown(uid, source, error)
    return _report(uid, sum(waiting), max(waiting, default=0))


def pending_unknown(uid: str, source: PythonSource, error: Exception) -> list[Report]:
    """The report if it cannot be had; why is told once."""
    key = uid, type(error).__name__
    if key not in _told:
        _told.add(key)
        log.warning(
            "how many records wait in %s is not known, and not shown in the metrics: %s",
            source.describe(), repr(error) if not isinstance(error, HeadraceError) else error,
        )  # fmt: skip
    return _report(uid, None, None)


def _report(uid: str, every: int | None, largest: int | None) -> list[Report]:
    """Under Flink's name, and under that of Kafka's consumers."""
    gauges = {"pendingRecords": every, "records-lag-max": largest}
    return [(0, {uid: OperatorMetrics(gauges=gauges).report()})]
