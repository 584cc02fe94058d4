"""One running streaming query, as control/job.py sees it: start, wait, stop, and why it failed."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.common.interruptible import InterruptibleEvent
from headrace.errors import HeadraceError, UserFunctionError
from headrace.hosts.spark.carried_errors import carried_in
from headrace.hosts.spark.failures import spark_failure
from headrace.hosts.spark.quiet import ToldElsewhere, quiet_callbacks
from headrace.hosts.spark.sources.file_reader import explain_read_failure
from headrace.hosts.spark.state.checkpoint_files import subtasks
from headrace.hosts.spark.state.unloading import LoadedState
from headrace.io.waiting import told_when_long

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.common.opaque import JsonObject, JsonValue
    from headrace.hosts.spark.sources.file_pieces import PieceWriter

# By these words Spark knows a batch that failed because its query was stopped. It looks for them
# with an expression that overflows the stack on a text as long as that of the error itself.
_STOPPED = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling a query that was stopped: "
    "java.lang.InterruptedException"
)
_CANCELLED = ("[SPARK_JOB_CANCELLED]", "java.lang.InterruptedException")


STOP_TIMEOUT = "spark.sql.streaming.stopTimeout"


class SparkQuery:
    """A streaming query whose every batch is handed to a callback on the driver.

    Args:
        frame: the streaming DataFrame.
        checkpoint: Spark's checkpoint location.
        name: shown in Spark's UI.
        interval_ms: time between the starts of two batches; 0 is as fast as possible.
        once: take what the sources have now, and end.
        on_batch: called with (DataFrame of the batch, batch id); what it raises fails the batch.
        feeds: write what the query reads, until it ends.
    """

    def __init__(
        self,
        frame: DataFrame,
        *,
        checkpoint: str,
        name: str,
        interval_ms: int,
        once: bool = False,
        on_batch: Callable[[DataFrame, int], None],
        feeds: Sequence[PieceWriter] = (),
    ) -> None:
        self._frame = frame
        self._checkpoint = checkpoint
        self._name = name
        # Any: trigger() of pyspark has overloads, of which this is one
        self._trigger: dict[str, Any] = (
            {"availableNow": True} if once else {"processingTime": f"{interval_ms} milliseconds"}
        )
        self._on_batch = on_batch
        self._feeds = feeds
        self._query: StreamingQuery | None = None
        self._started = InterruptibleEvent()  # its first batch may be faster than start()
        self._error: BaseException | None = None
        self._stopped = False

    def start(self) -> None:
        """Start the query; batches run on Spark's own thread from now on."""
        quiet_callbacks()
        try:
            self._query = (
                self._frame.writeStream.outputMode("append")
                .queryName(self._name)
                .option("checkpointLocation", self._checkpoint)
                .trigger(**self._trigger)
                .foreachBatch(self._batch)
                .start()
            )
        finally:
            self._started.set()

    def _batch(self, frame: DataFrame, batch_id: int) -> None:
        try:
            self._on_batch(frame, batch_id)
        except BaseException as error:
            self._error = error
            raise ToldElsewhere(self._text_for_spark(error)) from None

    def _text_for_spark(self, error: BaseException) -> str:
        text = f"{type(error).__name__}: {error}"
        is_stop = self._stopped or any(word in text for word in _CANCELLED)
        return _STOPPED if is_stop else text[:300]

    def wait_until_idle(self) -> None:
        """Until everything that the sources have now is processed."""
        assert self._query is not None
        try:
            self._query.processAllAvailable()
        except Exception as error:
            self._raise(error)

    def wait(self) -> None:
        """Until the query ends."""
        assert self._query is not None
        try:
            self._query.awaitTermination()
        except Exception as error:  # of the query, or of a JVM that is not there any more
            self._raise(error)

    @property
    def active(self) -> bool:
        """Whether the query is running."""
        return self._query is not None and bool(self._query.isActive)

    @property
    def in_batch(self) -> bool:
        """Whether a batch is being made, run or written to the checkpoint."""
        try:
            return self.active and bool(self._query.status["isTriggerActive"])  # type: ignore[union-attr]
        except Exception:  # Spark has ended
            return False

    @property
    def is_waiting(self) -> bool:
        """Whether it has started, and the sources have nothing for a batch."""
        try:
            return self.active and self._query.status["message"].startswith("Waiting for")  # type: ignore[union-attr]
        except Exception:  # Spark has ended
            return False

    @property
    def can_run_again(self) -> bool:
        """Whether Spark itself is still there; without it no query can be started."""
        try:
            return not self._frame.sparkSession.sparkContext._jsc.sc().isStopped()
        except Exception:  # its process is gone
            return False

    def tasks(self) -> tuple[int, int]:
        """How many of the running batch have ended, and how many its stages have so far."""
        if self._query is None:
            return 0, 0
        try:
            tracker = self._frame.sparkSession.sparkContext.statusTracker()
            jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(str(self._query.runId)))
            numbers = {n for job in jobs if job and job.status == "RUNNING" for n in job.stageIds}
            stages = [stage for stage in map(tracker.getStageInfo, numbers) if stage is not None]
        except Exception:  # Spark has ended
            return 0, 0
        return sum(each.numCompletedTasks for each in stages), sum(each.numTasks for each in stages)

    def progress(self) -> JsonObject | None:
        """Spark's report on the last batch."""
        if self._query is None:
            return None
        last = self._query.lastProgress
        return None if last is None else dict(last)

    def source_offsets(self) -> list[JsonValue]:
        """How far each source of the query was read, in the order of the plan."""
        last = self.progress()
        if last is None:
            return []
        return [_offset(source["endOffset"]) for source in last["sources"]]

    def planned_ms(self) -> int:
        """When the running batch was planned: Spark stores it before it runs a batch."""
        self._started.wait()
        return int(self._jvm_query().lastExecution().offsetSeqMetadata().batchTimestampMs())

    def has_read_feeds(self) -> bool:
        """Whether nothing more will come; asked when the query has nothing to do."""
        answers = [feed.is_read() for feed in self._feeds]  # each of them has to be asked
        return all(answers)

    def stop(self) -> None:
        """End the query; the batch that is running is thrown away and will be repeated."""
        self._stopped = True
        for feed in self._feeds:
            feed.stop()
        if self._query is not None:
            with contextlib.suppress(Exception):  # already failed or stopped, or it takes too long
                limit = f"for {self._frame.sparkSession.conf.get(STOP_TIMEOUT)} at most"
                what = f"the batch of {self._name!r} to end, which was interrupted"
                with told_when_long(what, f"{limit} ({STOP_TIMEOUT})"):
                    self._query.stop()

    def unload_state(self) -> None:
        """Let Spark forget the state that it holds in this process; the query has been stopped."""
        execution = None if self._query is None else self._jvm_query().lastExecution()
        if execution is None:
            return
        jvm = self._frame.sparkSession.sparkContext._jvm
        assert jvm is not None
        run = self._jvm_query().runId()
        location = execution.checkpointLocation()
        LoadedState(jvm).unload(location, run, subtasks(self._checkpoint))

    def _jvm_query(self) -> JavaObject:
        assert self._query is not None
        return self._query._jsq.streamingQuery()

    def _raise(self, error: BaseException) -> NoReturn:
        failure = self._failure(error)
        # What a worker or a sink raised has its own cause; Spark's report, and the way through
        # py4j that the error took, would only bury it.
        told = failure is self._error or isinstance(failure, UserFunctionError)
        raise failure.with_traceback(None) from (failure.__cause__ if told else error)

    def _failure(self, error: BaseException) -> BaseException:
        found = error if self._error is None else self._error
        if isinstance(found, HeadraceError):
            return found
        return carried_in(str(found)) or explain_read_failure(found) or spark_failure(found)


def _offset(text: JsonValue) -> JsonValue:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
