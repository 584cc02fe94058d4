"""Makes a checkpoint that begins with a savepoint: the state of every slot, the place of sources.

A query cannot be told "start here, with this"; it goes on from whatever its checkpoint holds.  So a
small query with the same stateful operators runs one batch, in which every slot loads its part:

    one row a slot ── load stage 1 ── load stage 2 ── ...      writes state version 1, batch 0
    then offsets/0 := where the sources of the savepoint were

Spark then believes that batch 0 has read up to there.  Nothing of this depends on the number of
slots that the savepoint was taken with, nor on what the sources are.
In: a plan and a savepoint.  Out: a checkpoint in the job's directory.  Next: control/restore.py
"""

from __future__ import annotations

import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from headrace.errors import StateError
from headrace.runtime.pickling import main_classes
from headrace.runtime.sinks.storage import Storage
from headrace.spark.slots import slot_ids
from headrace.spark.worker import ENVELOPE, MapStateStore, envelope_rows, find_user_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    # fills the store of one subtask of one stage
    Load = Callable[[int, int, MapStateStore], None]

_VERSION = b"task/version"


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
            processor = _Loader(code, tuple(sys.path), tuple(main_classes()))
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


class _Loader(StatefulProcessor):
    """Stands where a StageProcessor will stand, with the same state."""

    def __init__(self, code: bytes, path: tuple[str, ...], classes: tuple[bytes, ...]) -> None:
        self._code = code
        self._path = path
        self._classes = classes

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark calls this first, on the driver and in every task."""
        self._pages = handle.getMapState("pages", "name binary", "content binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Load one subtask, and tell the same slot of the next stage."""
        find_user_code(self._path, self._classes)
        load, stage, ids = cloudpickle.loads(self._code)
        store = MapStateStore()
        store.state = self._pages
        load(stage, ids.index(key[0]), store)
        # without a version a task would believe that there is nothing to read
        store.put(_VERSION, uuid.uuid4().bytes)
        yield from rows

    def close(self) -> None:
        """Nothing to do."""


def seed_offsets(checkpoint: str, offsets: list[str | None]) -> None:
    """Replace where the seeding batch came from by the places of the job's sources.

    Args:
        checkpoint: what `seed_state` made.
        offsets: for every source of the query, in its order, Spark's offset as JSON; None for a
            source that starts at its beginning.
    """
    storage = Storage.open(checkpoint)
    lines = storage.read("offsets/0").decode().split("\n")
    if lines[0] != "v1":
        raise StateError(
            f"Spark wrote its offsets in form {lines[0]!r}, which this version does not know"
        )
    kept = [*lines[:2], *("-" if offset is None else offset for offset in offsets)]
    storage.write_atomic("offsets/0", "\n".join(kept).encode())
    storage.delete("offsets/.0.crc")  # of the old content
    storage.delete_folder("sources")


def read_offsets(checkpoint: str, batch_id: int) -> list[str | None]:
    """Where every source of a query was behind a batch, as Spark's JSON."""
    lines = Storage.open(checkpoint).read(f"offsets/{batch_id}").decode().split("\n")
    return [None if line == "-" else line for line in lines[2:]]


def last_batch(checkpoint: str) -> int | None:
    """The newest batch that is committed; None before the first."""
    names = [file.name for file in Storage.open(checkpoint).list("commits")]
    return max((int(name) for name in names if name.isdigit()), default=None)
