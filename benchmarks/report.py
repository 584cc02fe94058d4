"""Turns measurements into a table on the terminal, docs/benchmarks.md and docs/benchmarks.svg."""

from __future__ import annotations

import os
import platform
import statistics
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from pathlib import Path

# What a job is compared to: PySpark as written by hand; sliding windows to tumbling ones.
BASELINE = {
    "reduce": "pyspark_tws",
    "state": "pyspark_tws",
    "native": "pyspark_native",
    "window": "pyspark_window",
    "sliding": "headrace_window_python",
    "scale": "headrace_10k",
    "floor": "pyspark_floor",
    "first-result": "headrace_first_result",
    "checkpoint": "headrace_memory",
    "large-values": "headrace_large_values",
    "savepoint": "headrace_savepoint",
    "kafka-source": "kafka_bare",
    "kafka-ads": "pyspark_ads",
    "kafka-sink": "headrace_at_least_once",
}
# Python is compared to Python.
BASELINE_OF_SYSTEM = {
    ("window", name): "pyspark_window_tws"
    for name in ("pyspark_window_tws", "headrace_window_python")
}

TITLES = {
    "reduce": "keyed reduce in Python, an output for every event",
    "state": "KeyedProcessFunction with ValueState (count, sum), an output for every event",
    "native": "filter and projection given as expressions",
    "window": "tumbling windows of 1 s, count and sum a key",
    "sliding": "windows of 60 s that slide by 1 s, against tumbling ones of 1 s, in Python",
    "scale": "the job `state` with a large state, against a small one",
    "floor": "batches of 100 events through one Python stage with state",
    "first-result": "from the start of a process to the first keyed result, cold and warm",
    "checkpoint": "the job `state` with its checkpoint on disk, against one in memory",
    "large-values": "1,000 bytes of state a key: new keys, changed ones, and a killed driver",
    "savepoint": "stop with a savepoint and restore it, with 1,000 bytes of state a key",
    "kafka-source": "typed JSON of 80 bytes from 4 partitions, read and dropped",
    "kafka-ads": "Yahoo's ad campaigns: JSON, filter, join, 10 s windows, Redis every second",
    "kafka-sink": "strings from one topic into another, exactly once against at least once",
}

LABELS = {
    "pyspark_tws": "PySpark by hand (transformWithState, noop sink)",
    "headrace": "headrace (results as DataFrame, noop sink)",
    "headrace_sink": "headrace (discarding sink in the worker)",
    "pyflink": "PyFlink (process mode, best settings; a quarter of the events)",
    "bytewax": "bytewax (two processes)",
    "bare_loop": "bare Python loop (one process, no engine)",
    "pyspark_native": "PySpark by hand (filter, select)",
    "headrace_native": "headrace (expressions)",
    "headrace_native_pair": "headrace (expressions; in turns with PySpark in one process)",
    "pyspark_window": "PySpark by hand (groupBy window, noop sink)",
    "headrace_window_native": "headrace (aggregates over columns, noop sink)",
    "pyspark_window_tws": "PySpark by hand (transformWithState, one value and one timer a key)",
    "headrace_window_python": "headrace (AggregateFunction, tumbling, discarding sink)",
    "headrace_window_sliding": "headrace (AggregateFunction, sliding, discarding sink)",
    "headrace_10k": "headrace (10,000 keys)",
    "headrace_1m": "headrace (1,000,000 keys, all equally likely)",
    "headrace_hot": "headrace (5,000,000 keys in state, 10,000 of them in use)",
    "pyspark_floor": "PySpark by hand (transformWithState, noop sink)",
    "headrace_floor": "headrace (discarding sink in the worker)",
    "headrace_first_result": "headrace (three records, keyed sum, a sink function)",
    "headrace_memory": "headrace (checkpoint in /dev/shm)",
    "headrace_disk": "headrace (checkpoint on disk)",
    "headrace_large_values": "headrace (new keys a second)",
    "headrace_savepoint": "headrace (keys a second into the savepoint)",
    "kafka_bare": "two bare confluent-kafka consumers, orjson",
    "headrace_kafka": "headrace (KafkaSource, JSON in columns, discarding sink)",
    "pyspark_ads": "PySpark by hand (DataFrames, from files: no Kafka reader to be had)",
    "headrace_ads": "headrace (from Kafka, Python functions)",
    "pyflink_ads": "PyFlink (from Kafka, process mode, best settings; a quarter of the events)",
    "headrace_at_least_once": "headrace (KafkaSink, at least once)",
    "headrace_exactly_once": "headrace (KafkaSink, exactly once)",
}


@dataclass(frozen=True)
class Result:
    """One run of one system, or why it did not run."""

    system: str
    job: str
    events_per_s: int = 0
    seconds: float = 0.0
    batch_ms: list[int] = field(default_factory=list)
    worker_rss_mb: list[float] = field(default_factory=list)
    problem: str = ""
    note: str = ""


@dataclass(frozen=True)
class JobSize:
    """How much one job was given."""

    events: int
    batch: int
    warmup_events: int

    def sentence(self) -> str:
        return (
            f"{self.events:,} events, {self.batch:,} a batch, the first {self.warmup_events:,} are "
            "warm-up and not counted"
        )


@dataclass(frozen=True)
class Setting:
    """What was run; printed with every table, since a number without it means nothing."""

    sizes: dict[str, JobSize]
    keys: int
    runs: int
    seconds: int

    def sentence(self) -> str:
        return (
            f"{self.keys:,} keys, {self.runs} run(s), 2 workers of {os.cpu_count()} cores, "
            f"Python {platform.python_version()}, PySpark {version('pyspark')}"
        )


@dataclass(frozen=True)
class Line:
    """All runs of one system: the median counts, the spread tells how far to trust it."""

    system: str
    rates: list[int]
    ratio: float | None
    rss_mb: list[float]
    problem: str
    note: str = ""

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    def cells(self) -> list[str]:
        label = LABELS[self.system]
        if not self.rates:
            return [label, "-", "-", "-", "-", self.problem.splitlines()[0]]
        spread = f"{min(self.rates):,} - {max(self.rates):,}"
        ratio = "-" if self.ratio is None else f"{self.ratio:.2f}"
        memory = " / ".join(f"{size:.0f}" for size in self.rss_mb) or "-"
        return [label, f"{self.rate:,.0f}", ratio, spread, memory, self.note]


HEADINGS = ("system", "events/s", "ratio", "spread", "worker MB by quarter", "note")


def lines_of(results: list[Result], job: str) -> list[Line]:
    """One line a system, in the order of measuring."""
    of_job = [result for result in results if result.job == job]
    rates = {
        name: [r.events_per_s for r in of_job if r.system == name and not r.problem]
        for name in dict.fromkeys(result.system for result in of_job)
    }
    lines = []
    for name, measured in rates.items():
        base = rates.get(BASELINE_OF_SYSTEM.get((job, name), BASELINE[job]))
        problems = [r.problem for r in of_job if r.system == name and r.problem]
        memory = [r.worker_rss_mb for r in of_job if r.system == name and r.worker_rss_mb]
        ratio = statistics.median(measured) / statistics.median(base) if measured and base else None
        lines.append(
            Line(
                name,
                measured,
                ratio,
                memory[-1] if memory else [],
                problems[-1] if problems else "",
                next((r.note for r in reversed(of_job) if r.system == name and r.note), ""),
            )
        )
    return lines


def jobs_of(results: list[Result]) -> list[str]:
    return list(dict.fromkeys(result.job for result in results))


def print_tables(results: list[Result], setting: Setting) -> None:
    console = Console(width=max(140, Console().width))
    table = Table(title=f"headrace benchmark, {setting.seconds} s in all", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("system", "note") else "right")
    for job in jobs_of(results):
        table.add_row(f"[bold]{job}: {TITLES[job]}")
        table.add_row(f"[dim]{setting.sizes[job].sentence()}")
        for line in lines_of(results, job):
            table.add_row(*line.cells())
        table.add_section()
    console.print(table)
    console.print(setting.sentence(), highlight=False)
    for result in results:
        if result.problem.startswith("failed"):
            console.print(f"\n{result.job} on {result.system} {result.problem}", markup=False)


def write_page(results: list[Result], setting: Setting, folder: Path) -> None:
    """Writes docs/benchmarks.md and the plot beside it."""
    text = [
        "# Benchmarks",
        "",
        "Written by `make bench`; do not edit. How it is measured: `benchmarks/README.md`.",
        "",
        f"{setting.sentence()}.",
        "",
        "![events per second](benchmarks.svg)",
    ]
    for job in jobs_of(results):
        text += ["", f"## {job}: {TITLES[job]}", "", f"{setting.sizes[job].sentence()}.", ""]
        text += [f"| {' | '.join(HEADINGS)} |", "| --- | ---: | ---: | ---: | ---: | --- |"]
        text += [f"| {' | '.join(line.cells())} |" for line in lines_of(results, job)]
    text += ["", NOTES]
    (folder / "benchmarks.md").write_text("\n".join(text))
    draw(results, folder / "benchmarks.svg")


NOTES = """\
## How to read this

- *events/s* is the steady state: the median of the runs. Spark systems: Spark's own progress of
  the batches after the warm-up, rows over batch duration (with windows also the duration of
  batches without rows, which fire the last ones). The others: the time from the moment a
  process passes its share of the warm-up to its end.
- *ratio* is to the same job written by hand in PySpark, with its noop sink. headrace appears twice:
  with its results handed to Spark and dropped there, as by hand, and with a sink that drops them
  inside the Python worker. Windows in Python are compared with windows in Python
  (transformWithState), sliding windows with tumbling ones on headrace.
- Jobs that take minutes and compare nothing (large-values, savepoint) run once.
- *worker MB by quarter* is the resident set of the largest Python worker at a quarter, half, three
  quarters and the end of a run: a flat row means that memory does not grow with events.
- PyFlink reads the rows from CSV with Flink's Java source, since its Parquet format needs jars
  that PyFlink does not ship. The bare loop has no engine, no exchange and no durability: it is the
  ceiling for one process, not a competitor.
"""


def draw(results: list[Result], file: Path) -> None:
    """Draws one panel of bars a job; the whisker is the spread over runs."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "headrace"  # the same numbers give the same file
    from matplotlib import pyplot as plt

    jobs = jobs_of(results)
    figure, panels = plt.subplots(len(jobs), 1, figsize=(8, 2.4 * len(jobs)), squeeze=False)
    for panel, job in zip(panels[:, 0], jobs, strict=True):
        lines = [line for line in lines_of(results, job) if line.rates][::-1]
        rates = [line.rate for line in lines]
        low = [line.rate - min(line.rates) for line in lines]
        high = [max(line.rates) - line.rate for line in lines]
        colours = ["#d1495b" if "headrace" in line.system else "#8d99ae" for line in lines]
        names = [line.system for line in lines]
        panel.barh(names, rates, xerr=[low, high], color=colours, capsize=3)
        panel.set_title(f"{job}: {TITLES[job]}", loc="left", fontsize=10)
        panel.set_xlabel("events/s")
        panel.xaxis.set_major_formatter("{x:,.0f}")
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
