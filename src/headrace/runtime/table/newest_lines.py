"""The newest line of each key, for sinks that keep no other.

    +U(a, 1)  +U(b, 1)  +U(a, 2)  -D(b, 1)   ──▶   +U(a, 2)  -D(b, 1)

A GROUP BY behind a join may change one group a thousand times within a batch; whoever keeps the
last of them need not be told the others.
In: lines, the places of the key.  Out: some of the lines.  Next: runtime/table/conversions.py
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_PLACE = "place"


def newest_lines(lines: pa.RecordBatch, key: tuple[int, ...]) -> np.ndarray | None:
    """The places of the last line of each key, in order; None if all lines are wanted."""
    columns = [lines.column(place) for place in key]
    if lines.num_rows < 2 or any(pa.types.is_nested(column.type) for column in columns):
        return None  # Arrow does not group by nested values
    names = [str(place) for place in key]
    table = pa.table([*columns, pa.array(np.arange(lines.num_rows))], [*names, _PLACE])
    last = table.group_by(names, use_threads=False).aggregate([(_PLACE, "max")])
    if last.num_rows == lines.num_rows:
        return None
    return np.sort(last.column(f"{_PLACE}_max").to_numpy())
