"""Writes the events that every system reads.  In: size and seed.  Out: parquet/ and csv/ folders.

The files are cut so that two of them make one micro-batch: 400,000 events in the full form.
Event time rises by 1 ms every 20 events, 2 million events are 100 s; each is up to 50 ms back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

SEED = 7
KEYS = 10_000
FIRST_MS = 1_700_000_000_000
EVENTS_PER_MS = 20
DISORDER_MS = 50
FILES_PER_BATCH = 2


def write_events(folder: Path, *, events: int, rows_per_file: int, with_csv: bool) -> None:
    """Writes `events` rows of (key, value, ts) into `folder`/parquet; (key, value) as CSV."""
    (folder / "parquet").mkdir(parents=True)
    (folder / "csv").mkdir()
    random = np.random.default_rng(SEED)
    disorder = np.random.default_rng(SEED + 1)  # keys and values are what they were without times
    for number in range(events // rows_per_file):
        in_order = FIRST_MS + (number * rows_per_file + np.arange(rows_per_file)) // EVENTS_PER_MS
        table = pa.table(
            {
                "key": random.integers(0, KEYS, rows_per_file),
                "value": random.random(rows_per_file),
                "ts": in_order - disorder.integers(0, DISORDER_MS + 1, rows_per_file),
            }
        )
        pq.write_table(table, folder / "parquet" / f"part-{number:04d}.parquet")
        if with_csv:
            options = pa_csv.WriteOptions(include_header=False)
            pa_csv.write_csv(
                table.select(["key", "value"]), folder / "csv" / f"part-{number:04d}.csv", options
            )
