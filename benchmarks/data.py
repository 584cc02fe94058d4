"""Writes the events that every system reads.  In: size and seed.  Out: parquet/ and csv/ folders.

The files are cut so that two of them make one micro-batch: 400,000 events in the full form.
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
FILES_PER_BATCH = 2


def write_events(folder: Path, *, events: int, rows_per_file: int, with_csv: bool) -> None:
    """Writes `events` rows of (key, value) into `folder`/parquet, and the same rows as CSV."""
    (folder / "parquet").mkdir(parents=True)
    (folder / "csv").mkdir()
    random = np.random.default_rng(SEED)
    for number in range(events // rows_per_file):
        table = pa.table(
            {
                "key": random.integers(0, KEYS, rows_per_file),
                "value": random.random(rows_per_file),
            }
        )
        pq.write_table(table, folder / "parquet" / f"part-{number:04d}.parquet")
        if with_csv:
            options = pa_csv.WriteOptions(include_header=False)
            pa_csv.write_csv(table, folder / "csv" / f"part-{number:04d}.csv", options)
