"""One table for all of Nexmark's queries: a row a query, a column a system.

In: the results of run.py.  Out: cells, for the terminal and for docs/benchmarks.md (../report.py).
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from nexmark.queries import NAMES, query_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PREFIX = "nexmark-"
JOBS = tuple(f"{PREFIX}{name}" for name in NAMES)
STATELESS_JOBS = tuple(f"{PREFIX}q{number}" for number in (0, 1, 2, 14, 21, 22))
# what Spark's own streaming can run in one query
PYSPARK_JOBS = tuple(
    f"{PREFIX}q{number}" for number in (0, 1, 2, 3, 5, 7, 8, 11, 14, 17, 20, 21, 22)
)
HEADRACE, CONTINUOUS, PYSPARK, HEAP, ROCKSDB, MINI_BATCH = (
    f"nexmark_{system}"
    for system in (
        "headrace", "headrace_continuous", "pyspark", "flink_heap", "flink_rocksdb",
        "headrace_mini_batch",
    )
)  # fmt: skip
HEADINGS = (
    "query", "headrace, micro-batches", "of PySpark", "of RocksDB",
    "headrace, continuous", "of PySpark", "of RocksDB",
    "PySpark by hand", "Flink, heap", "Flink, RocksDB", "worker MB by quarter",
)  # fmt: skip
TITLE = "Nexmark: the queries as SQL, events/s of the input"
WHAT = {
    "q0": "projection", "q1": "decimals", "q2": "filter", "q3": "join", "q4": "join, MAX, AVG",
    "q5": "sliding windows, window join", "q7": "tumbling windows, join",
    "q8": "tumbling windows, window join", "q9": "join, Top-1", "q11": "sessions",
    "q12": "processing-time windows", "q13": "temporal join", "q14": "filter, CASE, text",
    "q15": "distinct counts", "q16": "distinct counts a channel", "q17": "GROUP BY",
    "q18": "deduplication", "q19": "Top-10", "q20": "join", "q21": "regular expression",
    "q22": "parts of a url",
}  # fmt: skip

Rates = dict[tuple[str, str], list[int]]


def is_nexmark(job: str) -> bool:
    return job in JOBS


def rows(
    rates: Rates, memory: dict[tuple[str, str], list[float]], problems: dict[tuple[str, str], str]
) -> Iterator[list[str]]:
    """One row a query that was run, and the medians of the ratios.

    Args:
        rates: events a second, by query's job and system, of every run.
        memory: of headrace's largest worker, in MB.
        problems: why a system did not run.
    """
    ratios: dict[tuple[str, str], list[float]] = {pair: [] for pair in PAIRS}
    for job in JOBS:
        if not any(found == job for found, _ in (*rates, *problems)):
            continue
        of = {pair: _ratio(rates, job, *pair) for pair in PAIRS}
        for pair, ratio in of.items():
            ratios[pair] += [] if ratio is None else [ratio]
        cells = {system: _rate(rates, problems, job, system) for system in SYSTEMS}
        query = query_of(job)
        yield [
            f"{query} ({WHAT[query]})",
            cells[HEADRACE], _text(of[HEADRACE, PYSPARK]), _text(of[HEADRACE, ROCKSDB]),
            cells[CONTINUOUS], _text(of[CONTINUOUS, PYSPARK]), _text(of[CONTINUOUS, ROCKSDB]),
            cells[PYSPARK], cells[HEAP], cells[ROCKSDB], _sizes(memory.get((job, HEADRACE), [])),
        ]  # fmt: skip
        if (job, MINI_BATCH) in rates:
            # Spark's update mode gives one row a key and batch: this is the same work.
            yield [
                f"{query}, one change a key and batch", _rate(rates, problems, job, MINI_BATCH),
                _text(_ratio(rates, job, MINI_BATCH, PYSPARK)), "", "", "", "", "", "", "",
                _sizes(memory.get((job, MINI_BATCH), [])),
            ]  # fmt: skip
    median = {pair: _median(found) for pair, found in ratios.items()}
    yield [
        "median", "", median[HEADRACE, PYSPARK], median[HEADRACE, ROCKSDB],
        "", median[CONTINUOUS, PYSPARK], median[CONTINUOUS, ROCKSDB], "", "", "", "",
    ]  # fmt: skip


SYSTEMS = (HEADRACE, CONTINUOUS, PYSPARK, HEAP, ROCKSDB)
PAIRS = tuple((ours, theirs) for ours in (HEADRACE, CONTINUOUS) for theirs in (PYSPARK, ROCKSDB))


def _ratio(rates: Rates, job: str, system: str, other: str) -> float | None:
    ours, theirs = rates.get((job, system)), rates.get((job, other))
    return statistics.median(ours) / statistics.median(theirs) if ours and theirs else None


def _rate(rates: Rates, problems: dict[tuple[str, str], str], job: str, system: str) -> str:
    if found := rates.get((job, system)):
        return f"{statistics.median(found):,.0f}"
    problem = problems.get((job, system), "")
    return "failed" if problem.startswith("failed") else "-"


def _sizes(memory_mb: list[float]) -> str:
    return " / ".join(f"{size:.0f}" for size in memory_mb) or "-"


def _text(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _median(ratios: Iterable[float]) -> str:
    found = list(ratios)
    return _text(statistics.median(found) if found else None)
