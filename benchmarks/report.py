"""Turns measurements into a table on the terminal, docs/benchmarks.md and docs/benchmarks.svg."""

from __future__ import annotations

import os
import platform
import statistics
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from nexmark import table as nexmark

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
    "latency": "latency_pyspark",
    "latency-windows": "latency_pyspark",
    "continuous": "headrace_micro_batch",
    "recovery": "headrace_recovery",
    "kafka-source": "kafka_bare",
    "kafka-ads": "pyspark_ads_kafka",
    "kafka-sink": "headrace_at_least_once",
    "sql-group-by": "sql_group_by_row-by-row",
    "sql-windows": "sql_windows",
    "cep": "headrace_cep_j1",
    "control": "headrace_alone",
}
# Python is compared to Python.
BASELINE_OF_SYSTEM = {
    ("window", name): "pyspark_window_tws"
    for name in ("pyspark_window_tws", "headrace_window_python")
}

# of continuous mode, in ms; "full" sends no packet before it is full
BUFFER_TIMEOUTS = ("0", "10", "50", "100", "full")

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
    "latency": "from an event to a callback, over one keyed exchange with a ValueState",
    "latency-windows": "the same over two exchanges, the second one into windows of 10 ms",
    "continuous": "the job `state` in continuous mode, against micro-batches; an idle job",
    "recovery": "1,000 bytes of state a key in continuous mode: a killed worker, a killed driver",
    "kafka-source": "typed JSON of 80 bytes from 4 partitions, read and dropped",
    "kafka-ads": "Yahoo's ad campaigns: JSON, filter, join, 10 s windows, Redis every second",
    "sql-group-by": "SQL: COUNT, SUM and MAX of 10,000 keys, every change of every row",
    "sql-windows": "SQL: Nexmark's q5, sliding windows, over more events: memory",
    "cep": "a pattern of three steps within a minute, 10,000 keys, one event in ten a candidate",
    "kafka-sink": "strings from one topic into another, exactly once against at least once",
    "control": "the job `state` beside a dispatcher that 100 clients ask every second",
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
    "headrace_window_columns": "headrace (aggregates over columns, discarding sink)",
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
    "pyspark_ads": "PySpark by hand (DataFrames, from files: no broker beside it)",
    "pyspark_ads_kafka": "PySpark by hand (DataFrames; Kafka by a Python data source)",
    "headrace_ads": "headrace (from Kafka, Python functions)",
    "headrace_ads_sql": "headrace (from Kafka, SQL)",
    "headrace_ads_continuous": "headrace (from Kafka, Python functions, continuous mode)",
    "headrace_ads_sql_continuous": "headrace (from Kafka, SQL, continuous mode)",
    "pyflink_ads": "PyFlink (from Kafka, process mode, best settings; an eighth of the events)",
    "latency_continuous": "headrace (continuous)",
    "latency_micro_batch": "headrace (micro-batches)",
    "latency_pyspark": "PySpark by hand (micro-batches: transformWithState, foreachBatch)",
    "latency_pyspark_native": "PySpark by hand (micro-batches: Spark's own aggregation, no Python)",
    "latency_pyflink": "PyFlink (thread mode, best settings)",
    "headrace_micro_batch": "headrace (micro-batches; a quarter of the events)",
    "headrace_checkpoint_10": "headrace (continuous, a checkpoint every 10 s)",
    "headrace_checkpoint_60": "headrace (continuous, a checkpoint every 60 s)",
    **{
        f"headrace_buffer_{timeout}": f"headrace (continuous, buffer timeout {timeout}; "
        "a quarter of the events)"
        for timeout in BUFFER_TIMEOUTS
    },
    "headrace_idle": "headrace (continuous, a source without events)",
    "headrace_recovery": "headrace (continuous; new keys a second)",
    "headrace_at_least_once": "headrace (KafkaSink, at least once)",
    "headrace_exactly_once": "headrace (KafkaSink, exactly once)",
    "headrace_alone": "headrace (nobody looks)",
    "headrace_polled": "headrace (100 clients look every second)",
    "headrace_history": "a dispatcher with 200 ended and 5 running jobs (overviews a second)",
    "sql_windows": "headrace (SQL on Spark)",
    "headrace_cep_j1": "headrace (the job `state` on the same events, discarding sink)",
    "headrace_cep_functions": "headrace (conditions as Python functions, discarding sink)",
    "headrace_cep_columns": "headrace (conditions as column expressions, discarding sink)",
    "pyflink_cep_python": "PyFlink (MATCH_RECOGNIZE, a Python function; an eighth of the events)",
    "pyflink_cep_sql": "Flink (MATCH_RECOGNIZE in SQL only: Java's CEP; a 16th of the events)",
    "sql_group_by_row-by-row": "headrace (the operator alone, row by row, state written)",
    "sql_group_by_mini-batch": "headrace (the operator alone, mini-batch, state written)",
    "sql_group_by_end-to-end": "headrace (SQL on Spark, row by row, Parquet to blackhole)",
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
    latency_ms: list[float] = field(default_factory=list)  # p50, p99, p99.9, the largest
    state_bytes: list[tuple[int, int]] = field(default_factory=list)  # after how many events
    problem: str = ""
    note: str = ""

    def sentence(self) -> str:
        """What came of it, for who waits."""
        return self.problem or f"{self.events_per_s:,} events/s in {self.seconds:,.0f} s"


@dataclass(frozen=True)
class JobSize:
    """How much one job was given."""

    events: int
    batch: int
    warmup_events: int

    def sentence(self) -> str:
        batch = f" {self.batch:,} a batch," if self.batch else ""
        return (
            f"{self.events:,} events,{batch} the first {self.warmup_events:,} are warm-up and not "
            "counted"
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
    latencies: list[list[float]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def latency_ms(self) -> list[float]:
        return [statistics.median(times) for times in zip(*self.latencies, strict=True)]

    def cells(self) -> list[str]:
        label = LABELS[self.system]
        if not self.rates:
            blanks = len(headings(self.system.partition("_")[0])) - 2
            return [label, *["-"] * blanks, self.problem.splitlines()[0]]
        if self.system.startswith("latency_"):
            times = [f"{ms:,.1f}" for ms in self.latency_ms]
            return [label, f"{self.rate:,.0f}", *times, self.note]
        spread = f"{min(self.rates):,} - {max(self.rates):,}"
        ratio = "-" if self.ratio is None else f"{self.ratio:.2f}"
        memory = " / ".join(f"{size:.0f}" for size in self.rss_mb) or "-"
        return [label, f"{self.rate:,.0f}", ratio, spread, memory, self.note]


HEADINGS = ("system", "events/s", "ratio", "spread", "worker MB by quarter", "note")
LATENCY_HEADINGS = ("system", "results/s", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "note")


def headings(job: str) -> tuple[str, ...]:
    return LATENCY_HEADINGS if job.startswith("latency") else HEADINGS


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
                [r.latency_ms for r in of_job if r.system == name and r.latency_ms],
            )
        )
    return lines


def jobs_of(results: list[Result]) -> list[str]:
    """The jobs with a table of their own; Nexmark's queries share one."""
    jobs = dict.fromkeys(result.job for result in results)
    return [job for job in jobs if not nexmark.is_nexmark(job)]


def nexmark_rows(results: list[Result]) -> list[list[str]]:
    """The rows of Nexmark's table; none if no query was run."""
    found = [result for result in results if nexmark.is_nexmark(result.job)]
    rates: nexmark.Rates = {}
    for result in found:
        if not result.problem:
            rates.setdefault((result.job, result.system), []).append(result.events_per_s)
    memory = {(r.job, r.system): r.worker_rss_mb for r in found if r.worker_rss_mb}
    problems = {(r.job, r.system): r.problem for r in found if r.problem}
    return list(nexmark.rows(rates, memory, problems)) if found else []


def nexmark_sizes(setting: Setting) -> str:
    """What Nexmark's queries were given."""
    sizes = {s.sentence() for job, s in setting.sizes.items() if nexmark.is_nexmark(job)}
    return "; or ".join(sorted(sizes))


def print_tables(results: list[Result], setting: Setting) -> None:
    console = Console(width=max(140, Console().width))
    console.print(f"headrace benchmark, {setting.seconds} s in all", highlight=False)
    for job in jobs_of(results):
        title = f"[bold]{job}: {TITLES[job]}[/]\n[dim]{setting.sizes[job].sentence()}"
        table = Table(title=title, title_justify="left", title_style="")
        for heading in headings(job):
            table.add_column(heading, justify="left" if heading in ("system", "note") else "right")
        for line in lines_of(results, job):
            table.add_row(*line.cells())
        console.print(table)
    if lines := nexmark_rows(results):
        table = Table(title=f"{nexmark.TITLE}\n[dim]{nexmark_sizes(setting)}", title_style="")
        for heading in nexmark.HEADINGS:
            table.add_column(heading, justify="left" if heading == "query" else "right")
        for cells in lines:
            table.add_row(*cells)
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
        names = headings(job)
        rule = ["---", *["---:"] * (len(names) - 2), "---"]
        text += [f"| {' | '.join(names)} |", f"| {' | '.join(rule)} |"]
        text += [f"| {' | '.join(line.cells())} |" for line in lines_of(results, job)]
        if job == "continuous":
            text += ["", "![latency and throughput by buffer timeout](continuous-latency.svg)"]
        if job == "cep":
            text += ["", "![state of the pattern by events](cep-state.svg)"]
    if lines := nexmark_rows(results):
        text += ["", f"## {nexmark.TITLE}", "", f"{nexmark_sizes(setting)}.", ""]
        rule = ["---", *["---:"] * (len(nexmark.HEADINGS) - 1)]
        text += [f"| {' | '.join(cells)} |" for cells in (nexmark.HEADINGS, rule, *lines)]
    text += ["", NOTES]
    (folder / "benchmarks.md").write_text("\n".join(text))
    draw(results, folder / "benchmarks.svg")
    draw_curve(results, folder / "continuous-latency.svg")
    draw_state(results, folder / "cep-state.svg")


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
- The ad campaigns are compared with PySpark on the same topic. Spark's Kafka connector is a jar
  that PyPI does not have; what there is is a reader by hand on Spark's Python data source API and
  confluent-kafka (`benchmarks/systems/spark_kafka_source.py`), all else in the JVM. On files it has
  no broker and no Python beside it: that row is what the JVM alone can do.
- Jobs that take minutes and compare nothing (large-values, savepoint, recovery) run once.
- *worker MB by quarter* is the resident set of the largest Python worker at a quarter, half, three
  quarters and the end of a run: a flat row means that memory does not grow with events.
- *continuous*: both modes by the clock of their sink, from the warm-up to the last record.
- *latency* counts from the moment an event is due by an even schedule of 10,000 events/s: an engine
  that holds its source up does not hide it so. With windows it is that of the newest event of a
  window, and a window of 10 ms has to end first. The note has the best settings found.
- *Nexmark*: the same events for all, in Parquet; parallelism 2. Flink gets them in one file a
  subtask, since it takes files in any order and would drop what is late; its rate is the difference
  of a long and a short job in a warm JVM. The texts of the queries are the same for Flink and
  headrace, row by row (no mini-batch): `benchmarks/nexmark/queries`. Where Nexmark has a UDF (q14)
  this has an expression, where it has a lookup (q13), a temporal join. headrace runs the same
  statements in both of its modes: micro-batches, and continuous mode with a checkpoint a second,
  whose clock stops when the last checkpoint is stored.
- PyFlink reads the rows from CSV with Flink's Java source, since its Parquet format needs jars
  that PyFlink does not ship. The bare loop has no engine, no exchange and no durability: it is the
  ceiling for one process, not a competitor.
"""


def plots() -> Any:
    """Matplotlib, made to write the same file for the same numbers."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "headrace"
    from matplotlib import pyplot as plt

    return plt


def draw(results: list[Result], file: Path) -> None:
    """Draws one panel of bars a job; the whisker is the spread over runs."""
    plt = plots()
    jobs = [job for job in jobs_of(results) if not job.startswith("latency")]
    if not jobs:
        return
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


def draw_curve(results: list[Result], file: Path) -> None:
    """Draws what a buffer timeout costs in latency and gains in throughput."""
    lines = {line.system: line for line in lines_of(results, "continuous")}
    points = [
        (timeout, line)
        for timeout in BUFFER_TIMEOUTS
        if (line := lines.get(f"headrace_buffer_{timeout}")) is not None and line.latencies
    ]
    if not points:
        return
    plt = plots()
    figure, panel = plt.subplots(figsize=(8, 4))
    rates = [line.rate for _, line in points]
    for index, (name, colour) in enumerate((("p50", "#d1495b"), ("p99", "#8d99ae"))):
        times = [line.latency_ms[index] for _, line in points]
        panel.plot(times, rates, marker="o", color=colour, label=name)
        for (timeout, _), ms, rate in zip(points, times, rates, strict=True):
            text = timeout if timeout == "full" else f"{timeout} ms"
            panel.annotate(text, (ms, rate), textcoords="offset points", xytext=(4, 6), fontsize=8)
    panel.set_xscale("log")
    panel.set_ylim(bottom=0)
    panel.set_title("continuous mode by buffer timeout", loc="left", fontsize=10)
    panel.set_xlabel("latency in ms at 10,000 events/s")
    panel.set_ylabel("events/s at full speed")
    panel.yaxis.set_major_formatter("{x:,.0f}")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def draw_state(results: list[Result], file: Path) -> None:
    """Draws how much state a pattern has, after how many events."""
    points = next((r.state_bytes for r in results if r.system == "headrace_cep_columns"), [])
    if not points:
        return
    plt = plots()
    figure, panel = plt.subplots(figsize=(8, 3))
    events, sizes = zip(*points, strict=True)
    panel.plot([count / 1e6 for count in events], [size / 1e6 for size in sizes], color="#d1495b")
    panel.set_ylim(bottom=0)
    panel.set_xlabel("million events")
    panel.set_ylabel("MB of state")
    panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
