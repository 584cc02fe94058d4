"""One run of a plan as a query of micro-batches: what control/ steers.

In: a streaming DataFrame (build.py), what a batch of it reported.  Out: epochs, the end, an error.
Next: query.py (the query itself), commands.py (ticks and the end of input)
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from headrace.hosts.spark.microbatch.build import control_dir
from headrace.hosts.spark.microbatch.commands import CommandWriter
from headrace.hosts.spark.microbatch.query import SparkQuery
from headrace.hosts.spark.sources.opening import are_exhausted, pending_reports
from headrace.hosts.spark.state.checkpoints import QUERY_FOLDER
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from headrace.hosts.spark.inspection import Inspector
    from headrace.hosts.spark.sources.alignment_files import DriverBoard
    from headrace.hosts.spark.sources.file_pieces import PieceWriter
    from headrace.hosts.spark.state.clearing import Clearing
    from headrace.plan.physical import PhysicalPlan
    from headrace.spi.host import EpochResults, OnEpoch


log = logging.getLogger(__name__)

# a task that hangs must not keep a cancelled job alive for ever
_PATIENCE_S = 30.0


class MicroBatchRun:
    """A query, its commands and its sources.

    Args:
        plan: what is run.
        frame: the plan as a streaming DataFrame.
        directory: of the job.
        name: shown in Spark's UI.
        interval_ms: time between the starts of two batches.
        results: runs a batch: called with its DataFrame, its number and the query.
        on_epoch: called for every batch.
        feeds: write what the query reads, until it ends.
        local: whether all of it, tasks and checkpoint, is on this machine.
        clearing: clears away state that nobody will ask for, while the query runs.
        board: of watermark alignment; None if nobody asks for it.
        inspector: asks its workers.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        frame: DataFrame,
        *,
        directory: str,
        name: str,
        interval_ms: int,
        results: Callable[[DataFrame, int, SparkQuery], EpochResults],
        on_epoch: OnEpoch,
        feeds: Sequence[PieceWriter] = (),
        local: bool = False,
        clearing: Clearing | None = None,
        board: DriverBoard | None = None,
        inspector: Inspector | None = None,
    ) -> None:
        self._plan = plan
        self._local = local
        self._clearing = clearing
        self._board = board
        self._inspector = inspector
        not_idle = None if board is None else board.not_idle
        self._commands = (
            CommandWriter(Storage.open(control_dir(directory)), not_idle)
            if plan.uses_time
            else None
        )
        self._query = SparkQuery(
            frame,
            checkpoint=f"{directory}/{QUERY_FOLDER}",
            name=name,
            interval_ms=interval_ms,
            once=plan.batch,
            on_batch=lambda batch, number: on_epoch(
                number, lambda: self._noted(results(batch, number, self._query))
            ),
            feeds=feeds,
        )

    def _noted(self, found: EpochResults) -> EpochResults:
        """A batch's results, after what the next batch has to know of them."""
        if self._board is not None and found.error is None and found.aligned:
            self._board.note(found.aligned)
            if self._commands is not None:
                self._commands.say_who_is_not_idle()
        return self._with_pending(found)

    def _with_pending(self, found: EpochResults) -> EpochResults:
        """A batch's results with what waited in the sources behind the batch before it."""
        sources = [plan.source for plan in self._plan.sources]
        # Spark's report costs milliseconds: only where somebody wants it
        if any(source.counts_pending for source in sources):
            found.reports.extend(pending_reports(self._plan.sources, self._query.progress()))
        return found

    def recover(self) -> None:
        """Nothing: a batch that is not committed is repeated."""

    def start(self) -> None:
        """Start the query."""
        self._query.start()
        if self._clearing is not None:
            self._clearing.start()

    def wait(self) -> None:
        """Until the query ends."""
        self._query.wait()

    def wait_until_idle(self) -> None:
        """Until everything that the sources have now is processed."""
        self._query.wait_until_idle()

    def exhausted(self) -> bool:
        """Whether every source that may hold records back has given them all."""
        if not self._query.has_read_feeds():
            return False
        sources = [plan.source for plan in self._plan.sources]
        if not any(source.may_hold_back() for source in sources):
            return True
        return are_exhausted(sources, self._query.source_offsets())

    def end_input(self) -> None:
        """Let event time reach its end."""
        if self._commands is not None:
            self._commands.send("end")

    def finish_epoch(self) -> None:
        """A batch ends by itself."""

    def wake_at(self, when_ms: int | None) -> None:
        """Have a batch at this time."""
        if self._commands is not None:
            self._commands.wake_at(when_ms)

    def stop(self) -> None:
        """End the query; the batch that is running is thrown away."""
        self._query.stop()

    def close(self) -> None:
        """No more ticks, and nothing more is stored."""
        self._query.stop()
        if self._commands is not None:
            self._commands.close()
        if self._clearing is not None:
            self._clearing.close()
        if self._board is not None:
            self._board.close()
        if self._inspector is not None:
            self._inspector.close()
        if self._local:
            unloading = threading.Thread(target=self._unload, name="headrace-unload", daemon=True)
            unloading.start()
            unloading.join(_PATIENCE_S)

    def _unload(self) -> None:
        try:
            self._query.unload_state()
        except Exception as error:  # Spark has ended, and its memory with it; or a task hangs
            log.info("Spark keeps the state of a run that has ended: %s", error)

    def tasks(self) -> tuple[int, int]:
        """How many of the batch have ended, and how many are known so far."""
        return self._query.tasks()

    @property
    def in_epoch(self) -> bool:
        """Whether a batch is being made, run or written to the checkpoint."""
        return self._query.in_batch

    @property
    def is_waiting(self) -> bool:
        """Whether it has started, and the sources have nothing for a batch."""
        return self._query.is_waiting

    @property
    def waits_for(self) -> None:
        """Nothing: batches run one task after the other, if need be."""
        return None

    @property
    def has_short_epochs(self) -> bool:
        """They end by themselves."""
        return True

    @property
    def can_run_again(self) -> bool:
        """Whether Spark itself is still there."""
        return self._query.can_run_again
