"""Hand-written PySpark, as its guide advises: transformWithState in row mode, a ValueState per key.

RocksDB with changelog checkpoints, a noop sink, availableNow.  This is what headrace's ratio is to.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable

from measure import arguments, measure_query, read_events, run_to_noop, spark_session
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Reduce(StatefulProcessor):
    """The running sum of a key, emitted for every event.  State is read and written once a call."""

    def init(self, handle: Any) -> None:
        self.total = handle.getValueState("total", "value double")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        stored = self.total.get()
        total = None if stored is None else stored[0]
        for row in rows:
            total = row["value"] if total is None else total + row["value"]
            yield Row(key=key[0], value=total)
        self.total.update((total,))

    def close(self) -> None:
        pass


class CountAndSum(StatefulProcessor):
    """The job `state`: (count, sum) of a key, emitted for every event."""

    def init(self, handle: Any) -> None:
        self.state = handle.getValueState("state", "count long, sum double")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        count, total = self.state.get() or (0, 0.0)
        for row in rows:
            count, total = count + 1, total + row["value"]
            yield Row(key=key[0], count=count, sum=total)
        self.state.update((count, total))

    def close(self) -> None:
        pass


JOBS: dict[str, tuple[Callable[[], StatefulProcessor], str]] = {
    "reduce": (Reduce, "key long, value double"),
    "state": (CountAndSum, "key long, count long, sum double"),
}


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    processor, schema = JOBS[options.job]
    events = read_events(spark, options.data)
    out = events.groupBy("key").transformWithState(processor(), schema, "Append", "None")
    measure_query(options, lambda: run_to_noop(out, options.scratch), system="pyspark_tws")
    spark.stop()


if __name__ == "__main__":
    main()
