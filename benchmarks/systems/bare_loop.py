"""The ceiling: a Python loop in one process, Arrow in and Arrow out, no engine, no durability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from measure import Stopwatch, arguments, report

if TYPE_CHECKING:
    from collections.abc import Callable

Columns = dict[str, list[int] | list[float]]


def reduce_batch(keys: list[int], values: list[float], state: dict[int, float]) -> Columns:
    out = []
    for key, value in zip(keys, values, strict=True):
        total = state.get(key)
        total = value if total is None else total + value
        state[key] = total
        out.append(total)
    return {"key": keys, "value": out}


def state_batch(
    keys: list[int], values: list[float], state: dict[int, tuple[int, float]]
) -> Columns:
    counts, sums = [], []
    for key, value in zip(keys, values, strict=True):
        count, total = state.get(key, (0, 0.0))
        state[key] = count + 1, total + value
        counts.append(count + 1)
        sums.append(total + value)
    return {"key": keys, "count": counts, "sum": sums}


JOBS: dict[str, Callable[..., Columns]] = {"reduce": reduce_batch, "state": state_batch}


def main() -> None:
    options = arguments()
    run_batch = JOBS[options.job]
    state: dict[int, Any] = {}
    done, clock = 0, Stopwatch(options.warmup_events)
    for file in sorted((options.data / "parquet").glob("*.parquet")):
        table = pq.read_table(file, columns=["key", "value"])
        columns = [table.column(name).to_numpy().tolist() for name in ("key", "value")]
        done += pa.table(run_batch(*columns, state)).num_rows
        clock.passed(done)
    report(system="bare_loop", job=options.job, events=done, **clock.result(done))


if __name__ == "__main__":
    main()
