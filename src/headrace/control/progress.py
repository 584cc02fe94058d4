"""What a job says about its way, in a few lines: that it runs, its batches, its end.

In: a job's record, filled by control/agent.py.  Out: the log ``headrace.progress``, which
`headrace run` shows on the terminal; in other programs it is shown where logging is set up for it.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.control.registry import JobRecord

progress = logging.getLogger("headrace.progress")

_EVERY_S = 10.0


class Teller:
    """Tells the way of one job; previews go unmentioned."""

    def __init__(self, record: JobRecord) -> None:
        self._record = record
        self._silent = record.kind == "preview"
        self._name = f"job {record.job_id[:12]}"
        self._started = time.monotonic()
        self._told_batches = 0
        self._told_at = self._started

    def start(self) -> None:
        """The job is about to run."""
        record = self._record
        facts = [
            f"checkpoint {record.checkpoint or '(temporary)'}",
            *_web(record),
            *([f"log {record.log}"] if record.log else []),
        ]
        self._tell(f"{self._name} ({record.name}): {', '.join(facts)}")

    def look(self) -> None:
        """Say that the first batch is done, and how far the job is every ten seconds."""
        batches, now = self._record.batches, time.monotonic()
        if batches == self._told_batches:
            return
        if not self._told_batches:
            self._tell(f"{self._name}: first batch after {now - self._started:.1f} s")
        elif now - self._told_at >= _EVERY_S:
            self._tell(f"{self._name}: {self._counts()}")
        else:
            return
        self._told_batches, self._told_at = batches, now

    def end(self) -> None:
        """The job has ended."""
        took = f"{self._record.state} after {time.monotonic() - self._started:.1f} s"
        if self._record.state == "FINISHED" and self._did_nothing():
            self._tell(f"{self._name}: {took}; nothing to do: the sources had no new records")
        else:
            self._tell(f"{self._name}: {took}, {self._counts()}")

    def _counts(self) -> str:
        batches = f"{self._record.batches:,} batch{'' if self._record.batches == 1 else 'es'}"
        # every record passes the busiest step, but for those that a filter in front of it took
        busiest = max(self._records_in(), default=0)
        return f"{batches}, {busiest:,} records" if busiest else batches

    def _records_in(self) -> list[int]:
        return [operator.get("numRecordsIn", 0) for operator in self._record.operators.values()]

    def _did_nothing(self) -> bool:
        counts = self._records_in()
        # a job that runs on Catalyst alone counts no records: only that there was no batch is sure
        return not self._record.batches or (bool(counts) and not any(counts))

    def _tell(self, text: str) -> None:
        if not self._silent:
            progress.info("%s", text)


def _web(record: JobRecord) -> list[str]:
    found = [f"{name.capitalize()} UI {address}" for name, address in record.web.items()]
    return found or ["no Spark UI (spark.ui.enabled)"]
