"""A continuous run as one query of Spark's real-time mode whose only batch never ends.

    Standby ── stage 0 (mapInArrow) ── streaming shuffle ── stage 1 ── ... ── nowhere

In: a plan, an address of the driver.  Out: tasks that connect to it.  What they have to say goes
over their lines; the query itself gives nothing, and Spark's checkpoint is not used.
Next: worker.py runs in the tasks
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from typing import TYPE_CHECKING

from headrace.data.pickling import UserCode
from headrace.hosts.spark.continuous.jvm import (
    SOURCE,
    add_source,
    process_settings,
    silence_stop,
    slots,
)
from headrace.hosts.spark.continuous.worker import (
    ENVELOPE,
    WorkerCode,
    source_function,
    stage_function,
)
from headrace.hosts.spark.failures import spark_failure
from headrace.hosts.spark.microbatch.slots import slot_ids
from headrace.hosts.spark.user_files import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.hosts.continuous.tasks import TaskCode
    from headrace.hosts.continuous.wire import Address
    from headrace.hosts.spark.inspection import Inspector

# a batch of Spark's is only over with the run
_ENDLESS = "3650 days"


class SparkCarrier:
    """Runs the tasks of a plan on Spark.

    Args:
        code: of the tasks, given where the driver listens.
        spark: the session of the job.
        name: for Spark's pages.
        inspector: asks its workers.
    """

    def __init__(
        self,
        code: Callable[[Address], TaskCode],
        spark: SparkSession,
        *,
        name: str,
        inspector: Inspector,
    ) -> None:
        self._code = code
        self._spark = spark
        self._name = name
        self._inspector = inspector
        self._query: StreamingQuery | None = None
        self._stack = contextlib.ExitStack()

    def slots(self) -> int:
        """What the executors have that are there now."""
        try:
            return slots(self._spark)
        except Exception as gone:  # Spark itself has ended
            raise spark_failure(gone) from gone

    def start(self, address: Address) -> None:
        """Start the query."""
        scratch = tempfile.mkdtemp(prefix="headrace-query-")
        self._stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        self._stack.enter_context(process_settings(self._spark))
        add_source(self._spark)
        writer = self._frame(address).writeStream.format("noop").outputMode("update")
        self._query = (
            writer.queryName(self._name)
            .trigger(realTime=_ENDLESS)  # type: ignore[call-overload]  # not in its overloads
            .option("checkpointLocation", scratch)
            .start()
        )

    def _frame(self, address: Address) -> DataFrame:
        tasks = self._code(address)
        shipped = self._spark.conf.get(SHIPPED, "") or ""
        code = WorkerCode(
            tasks,
            tuple(slot_ids(tasks.slots)),
            UserCode.of_driver(),
            shipped,
            self._inspector.address,
        )
        count = len(tasks.seats)
        standby = self._spark.readStream.format(SOURCE).option("tasks", str(count)).load()
        packets = standby.mapInArrow(source_function(code), ENVELOPE)
        for stage in tasks.later:
            exchanged = packets.repartition(tasks.slots, "slot")
            packets = exchanged.mapInArrow(stage_function(code, stage), ENVELOPE)
        return packets

    def failure(self) -> BaseException | None:
        """Why Spark has ended the query; None while it runs."""
        query = self._query
        if query is None:
            return None
        try:
            if query.isActive:
                return None
            error = query.exception()
        except Exception as gone:  # Spark itself has ended
            return spark_failure(gone)
        return spark_failure(error if error is not None else RuntimeError("the query has ended"))

    def expect_end(self) -> None:
        """Let Spark not complain about tasks that end."""
        if self._query is not None:
            with contextlib.suppress(Exception):  # Spark has ended
                silence_stop(self._spark)

    def stop(self) -> None:
        """End the query and with it all tasks."""
        if self._query is not None:
            with contextlib.suppress(Exception):  # already failed or stopped
                self._query.stop()
        self._inspector.close()
        self._stack.close()

    @property
    def can_run_again(self) -> bool:
        """Whether Spark itself is still there."""
        try:
            return not self._spark.sparkContext._jsc.sc().isStopped()
        except Exception:  # its process is gone
            return False
