"""Hand-written PySpark: tumbling windows of 1 s in Python, by transformWithState per key.

All open windows of a key are in one value, with one timer for the earliest, which fires everything
that is over. (A map state with a timer for each window, as one would write it down first, calls the
JVM more often and takes several times as long: it is not the measure of hand-written code.)
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable

from measure import arguments, measure_query, read_timed_events, run_to_noop, spark_session
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE_MS = 1_000
RESULT = "key long, n long, total double, window_start long"


def by_window(rows: Any) -> dict[int, tuple[int, float]]:
    """Count and sum of the rows of one call, by window."""
    found: dict[int, tuple[int, float]] = {}
    for row in rows:
        start = row["ts"] - row["ts"] % SIZE_MS
        count, total = found.get(start, (0, 0.0))
        found[start] = count + 1, total + row["value"]
    return found


class PackedWindows(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self.handle = handle
        self.state = handle.getValueState(
            "windows", "windows array<struct<start: long, n: long, total: double>>"
        )

    def _read(self) -> dict[int, tuple[int, float]]:
        stored = self.state.get()
        return {} if stored is None else {start: (n, total) for start, n, total in stored[0]}

    def _write(self, windows: dict[int, tuple[int, float]], timer: int | None) -> None:
        """Keep what is open, with a timer for the earliest if it has none."""
        self.state.update(([(start, n, total) for start, (n, total) in windows.items()],))
        earliest = min(windows, default=None)
        if earliest is not None and earliest != timer:
            self.handle.registerTimer(earliest + SIZE_MS)
            if timer is not None:
                self.handle.deleteTimer(timer + SIZE_MS)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        watermark = timerValues.getCurrentWatermarkInMs()
        windows = self._read()
        timer = min(windows, default=None)
        for start, (count, total) in by_window(rows).items():
            if start + SIZE_MS > watermark:
                old_count, old_total = windows.get(start, (0, 0.0))
                windows[start] = old_count + count, old_total + total
        self._write(windows, timer)
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        watermark = timerValues.getCurrentWatermarkInMs()
        windows = self._read()
        for start in sorted(start for start in windows if start + SIZE_MS <= watermark):
            count, total = windows.pop(start)
            yield Row(key=key[0], n=count, total=total, window_start=start)
        self._write(windows, None)

    def close(self) -> None:
        pass


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    # the watermark has seen the time; rows for Python need the number only
    events = read_timed_events(spark, options.data).select("key", "value", "ts")
    out = events.groupBy("key").transformWithState(PackedWindows(), RESULT, "Append", "EventTime")
    measure_query(
        options,
        lambda: run_to_noop(out, options.scratch),
        system="pyspark_window_tws",
        every_batch=True,
    )
    spark.stop()


if __name__ == "__main__":
    main()
