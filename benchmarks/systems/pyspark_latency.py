"""The latency jobs by hand in PySpark, in micro-batches that follow one another at once.

Spark's own `rate` source makes rows once a second; a Python data source gives what is due by now.
Variant `tws`: transformWithState counts; in job `latency-windows` Spark's own windows are behind it
(max of the creation time).  Variant `native` does without Python: it counts by Spark's aggregation,
one result for each key of a batch in job `latency`, and in `latency-windows` by key and window and
then by group.  That is less than what the others do.  A foreachBatch collects results into the
driver.  Settings: those of measure.py, no waiting between batches, Arrow from source to sink.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable

import numpy as np
import pyarrow as pa
from latency import (
    GROUPS,
    KEYS,
    PARALLELISM,
    RATE,
    WINDOW_MS,
    Arrivals,
    let_run,
    report_latency,
)
from measure import arguments, spark_session
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

EVENT = "key long, created double, time timestamp"


@dataclass
class Piece(InputPartition):
    began: float
    start: int
    end: int


class DueReader(DataSourceStreamReader):
    """Events whose time has come."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._began = time.time()

    def initialOffset(self) -> dict[str, int]:
        return {"number": 0}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]
        return {"number": int((time.time() - self._began) * self._rate)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        first, last = start["number"], end["number"]
        middle = (first + last) // PARALLELISM
        return [Piece(self._began, first, middle), Piece(self._began, middle, last)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        index = np.arange(partition.start, partition.end)
        created = partition.began + (index + 1) / RATE
        micros = pa.array((created * 1e6).astype("int64")).cast(pa.timestamp("us", "UTC"))
        yield pa.RecordBatch.from_arrays(
            [pa.array(index % KEYS), pa.array(created), micros], ["key", "created", "time"]
        )


class DueSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "due"

    def schema(self) -> str:
        return EVENT

    def streamReader(self, schema: Any) -> DueReader:
        return DueReader(RATE)


class Count(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self.count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        (count,) = self.count.get() or (0,)
        for row in rows:
            count += 1
            yield Row(key=key[0], created=row["created"], time=row["time"])
        self.count.update((count,))

    def close(self) -> None:
        pass


def by_window(frame: DataFrame, when: Any, key: Any) -> DataFrame:
    windows = frame.groupBy(F.window(when, f"{WINDOW_MS} milliseconds"), key)
    return windows.agg(F.max("created").alias("created"), F.count("*").alias("count"))


def build_native(job: str, events: DataFrame) -> DataFrame:
    if job == "latency":
        return events.groupBy("key").agg(F.max("created").alias("created"), F.count("*"))
    counted = by_window(events.withWatermark("time", "0 seconds"), "time", F.col("key"))
    return by_window(counted, F.col("window"), (F.col("key") % GROUPS).alias("group"))


def build_tws(job: str, events: DataFrame) -> DataFrame:
    if job == "latency":
        return events.groupBy("key").transformWithState(Count(), EVENT, "Append", "None")
    keyed = events.withWatermark("time", "0 seconds").groupBy("key")
    counted = keyed.transformWithState(
        Count(), EVENT, "Append", "EventTime", eventTimeColumnName="time"
    )
    return by_window(counted, "time", (F.col("key") % GROUPS).alias("group"))


VARIANTS = {"tws": build_tws, "native": build_native}


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    arrivals = Arrivals()

    def collect(batch: DataFrame, _: int) -> None:
        arrivals.note_all(batch.select("created").toArrow()["created"].to_pylist())

    spark.dataSource.register(DueSource)
    results = VARIANTS[options.variant](options.job, spark.readStream.format("due").load())
    # an aggregate over all time changes, everything else is final
    is_running = options.variant == "native" and options.job == "latency"
    query = (
        results.writeStream.foreachBatch(collect)
        .outputMode("update" if is_running else "append")
        .option("checkpointLocation", str(options.scratch / "checkpoint"))
        .start()
    )
    let_run(options, arrivals)
    batches = [batch["batchDuration"] for batch in query.recentProgress[-20:]]
    query.stop()
    settings = f"a batch after the other, the last ones {sorted(batches)[len(batches) // 2]} ms"
    report_latency(f"pyspark_{options.variant}", options, arrivals, settings=settings)
    spark.stop()


if __name__ == "__main__":
    main()
