"""Makes a checkpoint that begins with a savepoint: the state of every slot, the place of sources.

A query cannot be told "start here, with this"; it goes on from whatever its checkpoint holds.  So a
small query with the same stateful operators runs one batch, in which every slot loads its part:

    one row a slot ── load stage 1 ── load stage 2 ── ...      writes state version 1, batch 0
    then offsets/0 := where the sources of the savepoint were
    (hosts/spark/state/checkpoint_files.py)

Spark then believes that batch 0 has read up to there.  Nothing of this depends on the number of
slots that the savepoint was taken with, nor on what the sources are.
In: how to load a slot.  Out: a checkpoint in the job's directory.  Next: control/restore.py
"""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from headrace.data.pickling import UserCode
from headrace.hosts.spark.microbatch.slots import slot_ids
from headrace.hosts.spark.microbatch.state_store import MapStateStore
from headrace.hosts.spark.microbatch.worker import ENVELOPE, envelope_rows
from headrace.runtime.task import VERSION_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    # fills the store of one subtask of one stage
    Load = Callable[[int, int, MapStateStore], None]


def seed_state(
    spark: SparkSession, checkpoint: str, *, stages: int, slots: int, load: Load
) -> None:
    """Run the batch that loads the state.

    Args:
        spark: the job's session, whose number of shuffle partitions is that of the slots.
        checkpoint: where the job's query will find its checkpoint; must not exist yet.
        stages: how many stages with state the job has.
        slots: how many subtasks each of them has.
        load: called in the workers with (stage from 0, subtask, store).
    """
    ids = tuple(slot_ids(slots))
    with tempfile.TemporaryDirectory(prefix="headrace-seed-") as folder:
        (Path(folder) / "go").write_text("go")
        frame: DataFrame = spark.readStream.text(folder).mapInArrow(_one_row_each(ids), ENVELOPE)
        for stage in range(stages):
            code = cloudpickle.dumps((load, stage, ids))
            processor = _Seeder(code, UserCode.of_driver())
            frame = frame.groupBy("slot").transformWithState(processor, ENVELOPE, "Append", "None")
        query = (
            frame.writeStream.outputMode("append")
            .format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


def _one_row_each(
    ids: tuple[int, ...],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield envelope_rows([(slot, 0, 0, b"") for slot in ids])

    return rows


class _Seeder(StatefulProcessor):
    """Stands where a StageProcessor will stand, with the same state."""

    def __init__(self, code: bytes, user_code: UserCode) -> None:
        self._code = code
        self._user_code = user_code

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark calls this first, on the driver and in every task."""
        self._pages = handle.getMapState("pages", "name binary", "content binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Load one subtask, and tell the same slot of the next stage."""
        self._user_code.adopt()
        load, stage, ids = cloudpickle.loads(self._code)
        store = MapStateStore()
        store.use(self._pages)
        load(stage, ids.index(key[0]), store)
        # without a version a task would believe that there is nothing to read
        store.put(VERSION_KEY, uuid.uuid4().bytes)
        store.settle()
        yield from rows

    def close(self) -> None:
        """Nothing to do."""
