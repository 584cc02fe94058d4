"""A stage after an exchange, as Spark sees it: once per subtask and batch.

When a query starts, Spark asks for the state of every stage in a Python process of its own: what
that process has to import is waited for. So this module is small, and the rest is imported by
tasks.  Next: hosts/spark/microbatch/worker.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from headrace.data.pickling import UserCode


@dataclass(frozen=True, slots=True)
class StageCode:
    """A stage as it travels to the workers."""

    key: str  # unique per run of a job and stage: names the cached tasks
    stage: bytes  # a pickled StagePlan
    slot_ids: tuple[int, ...]
    user_code: UserCode
    source_number: int = 0
    shipped: str = ""  # what came along for the workers, see user_files.py
    layout: bytes = b""  # of stage 0: a pickled SourceLayout of what its source hands over
    inspector: bytes = b""  # who may ask what workers are doing, see inspection.py


class StageProcessor(StatefulProcessor):
    """Hands all packets of a subtask to its task."""

    def __init__(self, code: StageCode) -> None:
        self._code = code

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark calls this first, at the start of a query and in every task."""
        self._pages = handle.getMapState("pages", "name binary", "content binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """All packets of one subtask in one batch."""
        from headrace.hosts.spark.microbatch.worker import run_stage

        return run_stage(self._code, key[0], rows, self._pages)

    def close(self) -> None:
        """Nothing to do: the task lives on for the next batch."""
