"""Measures every system and prints one table.  In: options.  Out: table, docs/benchmarks.md, plot.

Each system runs in a process of its own, one after the other; runs of the systems alternate, so
that a slow minute of the machine hits all of them.  Next: systems/*.py, then report.py
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import data
import report
from kafka_data import Servers
from nexmark import inputs as nexmark_inputs
from nexmark.jars import parquet_jars
from nexmark.table import JOBS as NEXMARK_JOBS
from nexmark.table import PYSPARK_JOBS as NEXMARK_PYSPARK_JOBS
from nexmark.table import STATELESS_JOBS as NEXMARK_STATELESS_JOBS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


@dataclass(frozen=True)
class System:
    """A script, and what must be there to run it."""

    name: str
    script: str
    jobs: tuple[str, ...]
    variant: str = ""
    needs: str = ""
    python: str = sys.executable
    # one of how many events it gets: a steady rate shows sooner than the end of a slow run
    share: int = 1
    in_quick: bool = True
    # reads from Kafka, the same events from a file, or nothing: what `--data` is then
    reads: str = "events"


def pyflink_python() -> str:
    """The interpreter of PyFlink's environment, or "" when there is none."""
    named = os.environ.get("HEADRACE_ORACLE_PYTHON", "")
    beside = ROOT / ".venv-oracle" / "bin" / "python"
    return named or (str(beside) if beside.exists() else "")


KEYED = ("reduce", "state")
LATENCY = ("latency", "latency-windows")
SYSTEMS = (
    System("pyspark_tws", "pyspark_tws.py", KEYED),
    System("headrace", "headrace_keyed.py", KEYED, variant="dataframe"),
    System("headrace_sink", "headrace_keyed.py", KEYED, variant="discarding", in_quick=False),
    System("pyflink", "pyflink_keyed.py", KEYED, python=pyflink_python(), share=4, in_quick=False),
    System("bytewax", "bytewax_keyed.py", KEYED, needs="bytewax"),
    System("bare_loop", "bare_loop.py", KEYED),
    System("pyspark_native", "pyspark_native.py", ("native",)),
    System("headrace_native", "headrace_native.py", ("native",)),
    System("headrace_native_pair", "native_pair.py", ("native",), in_quick=False),
    System("pyspark_window", "pyspark_window.py", ("window",)),
    System("headrace_window_columns", "headrace_window.py", ("window",), variant="columns"),
    System("pyspark_window_tws", "pyspark_window_tws.py", ("window",)),
    System("headrace_window_python", "headrace_window.py", ("window", "sliding"), variant="python"),
    System("headrace_window_sliding", "headrace_window.py", ("sliding",), variant="sliding"),
    System("headrace_10k", "headrace_scale.py", ("scale",), variant="10k"),
    System("headrace_1m", "headrace_scale.py", ("scale",), variant="1m"),
    System("headrace_hot", "headrace_scale.py", ("scale",), variant="hot"),
    System("pyspark_floor", "floor.py", ("floor",), variant="pyspark"),
    System("headrace_floor", "floor.py", ("floor",), variant="headrace"),
    System("headrace_first_result", "first_result.py", ("first-result",)),
    System("headrace_memory", "headrace_checkpoint.py", ("checkpoint",), variant="memory"),
    System("headrace_disk", "headrace_checkpoint.py", ("checkpoint",), variant="disk"),
    System("headrace_large_values", "headrace_large_state.py", ("large-values",)),
    System("headrace_savepoint", "headrace_large_state.py", ("savepoint",)),
    System("kafka_bare", "kafka_bare.py", ("kafka-source",), needs="orjson", reads="topic"),
    System("headrace_kafka", "headrace_kafka.py", ("kafka-source",), reads="topic"),
    System("pyspark_ads", "pyspark_ads.py", ("kafka-ads",), reads="ad files"),
    System("pyspark_ads_kafka", "pyspark_ads_kafka.py", ("kafka-ads",), reads="topic"),
    System("headrace_ads", "headrace_kafka.py", ("kafka-ads",), reads="topic"),
    System("headrace_ads_sql", "headrace_kafka.py", ("kafka-ads",), variant="sql", reads="topic"),
    System("headrace_ads_continuous", "headrace_ads_continuous.py", ("kafka-ads",), reads="topic"),
    System(
        "headrace_ads_sql_continuous",
        "headrace_ads_continuous.py",
        ("kafka-ads",),
        variant="sql",
        reads="topic",
    ),
    System(
        "pyflink_ads",
        "pyflink_ads.py",
        ("kafka-ads",),
        python=pyflink_python(),
        share=8,
        in_quick=False,
        reads="topic and jar",
    ),
    System("latency_continuous", "headrace_latency.py", LATENCY, "continuous", reads="nothing"),
    System("latency_micro_batch", "headrace_latency.py", LATENCY, "micro-batch", reads="nothing"),
    System("latency_pyspark", "pyspark_latency.py", LATENCY, "tws", reads="nothing"),
    System("latency_pyspark_native", "pyspark_latency.py", LATENCY, "native", reads="nothing"),
    System(
        "latency_pyflink",
        "pyflink_latency.py",
        LATENCY,
        python=pyflink_python(),
        in_quick=False,
        reads="nothing",
    ),
    System(
        "headrace_micro_batch", "headrace_continuous.py", ("continuous",), "micro-batch", share=4
    ),
    System("headrace_checkpoint_10", "headrace_continuous.py", ("continuous",), "checkpoint-10"),
    System("headrace_checkpoint_60", "headrace_continuous.py", ("continuous",), "checkpoint-60"),
    *(
        System(
            f"headrace_buffer_{timeout}",
            "headrace_continuous.py",
            ("continuous",),
            f"buffer-{timeout}",
            share=4,
        )
        for timeout in report.BUFFER_TIMEOUTS
    ),
    System("headrace_idle", "headrace_continuous.py", ("continuous",), "idle", reads="nothing"),
    System("headrace_recovery", "headrace_recovery.py", ("recovery",), reads="nothing"),
    System("headrace_alone", "headrace_control.py", ("control",), "alone"),
    System("headrace_polled", "headrace_control.py", ("control",), "polled"),
    System("headrace_history", "headrace_control.py", ("control",), "history", reads="nothing"),
    System(
        "headrace_at_least_once",
        "headrace_kafka.py",
        ("kafka-sink",),
        variant="at_least_once",
        reads="topic",
    ),
    System(
        "headrace_exactly_once",
        "headrace_kafka.py",
        ("kafka-sink",),
        variant="exactly_once",
        reads="topic",
    ),
    *(
        System(f"sql_group_by_{variant}", "sql_group_by.py", ("sql-group-by",), variant)
        for variant in ("row-by-row", "mini-batch", "end-to-end")
    ),
    *(
        System(f"headrace_cep_{variant}", "headrace_cep.py", ("cep",), variant)
        for variant in ("j1", "functions", "columns")
    ),
    *(
        System(
            f"pyflink_cep_{variant}",
            "pyflink_cep.py",
            ("cep",),
            variant,
            python=pyflink_python(),
            share=share,
            in_quick=False,
        )
        for variant, share in (("python", 8), ("sql", 16))
    ),
    System("sql_windows", "nexmark_headrace.py", ("sql-windows",), "q5", reads="nexmark"),
    System("nexmark_headrace", "nexmark_headrace.py", NEXMARK_JOBS, reads="nexmark"),
    System(
        "nexmark_headrace_mini_batch",
        "nexmark_headrace.py",
        ("nexmark-q17",),
        "mini-batch",
        reads="nexmark",
    ),
    System(
        "nexmark_headrace_continuous",
        "nexmark_headrace.py",
        NEXMARK_JOBS,
        "continuous",
        in_quick=False,
        reads="nexmark",
    ),
    System("nexmark_pyspark", "nexmark_pyspark.py", NEXMARK_PYSPARK_JOBS, reads="nexmark"),
    *(
        System(
            f"nexmark_flink_{backend}",
            "nexmark_flink.py",
            NEXMARK_JOBS,
            variant=backend,
            python=pyflink_python(),
            share=2,
            in_quick=False,
            reads="nexmark lanes",
        )
        for backend in ("heap", "rocksdb")
    ),
)


@dataclass(frozen=True)
class Size:
    events: int
    rows_per_file: int
    warmup_events: int


FULL = Size(events=4_000_000, rows_per_file=200_000, warmup_events=800_000)
QUICK = Size(events=400_000, rows_per_file=50_000, warmup_events=200_000)
# two million that count; for windows some 100 s of event time, and they fire in every batch
HALF = Size(events=2_800_000, rows_per_file=200_000, warmup_events=800_000)
QUICK_HALF = Size(events=400_000, rows_per_file=50_000, warmup_events=100_000)
# batches without Python take a quarter of a second: 32 of them count, once the JVM is warm
NATIVE = Size(events=16_000_000, rows_per_file=200_000, warmup_events=3_200_000)
# Keys with 1,000 bytes of state each: 1 GB, in ten batches. A fifth of it is enough to tell MB/s.
LARGE_STATE = Size(events=1_000_000, rows_per_file=50_000, warmup_events=0)
FIFTH_OF_STATE = Size(events=200_000, rows_per_file=50_000, warmup_events=0)
# two files make a batch of 1,600,000, as large as those from Kafka
KAFKA = Size(events=8_000_000, rows_per_file=800_000, warmup_events=3_200_000)
# Spark's JVM compiles for half a minute, whoever uses it: half of the events are warm-up
ADS = Size(events=16_000_000, rows_per_file=800_000, warmup_events=8_000_000)
QUICK_KAFKA = Size(events=400_000, rows_per_file=50_000, warmup_events=100_000)
# a minute of warm-up and a minute that counts, at the rate of systems/latency.py
TWO_MINUTES = Size(events=1_200_000, rows_per_file=0, warmup_events=600_000)
TWENTY_SECONDS = Size(events=200_000, rows_per_file=0, warmup_events=100_000)
# more than a minute at a million a second, with at least one end of an epoch of 60 s
CONTINUOUS = Size(events=80_000_000, rows_per_file=200_000, warmup_events=8_000_000)
QUICK_CONTINUOUS = Size(events=1_600_000, rows_per_file=50_000, warmup_events=400_000)
QUICK_LARGE_STATE = Size(events=100_000, rows_per_file=50_000, warmup_events=0)
# Nexmark: a batch is 40 s of event time. Fifteen batches count, so that the one without events
# behind the last, which fires windows, has its share and no more.
NEXMARK = Size(events=8_000_000, rows_per_file=200_000, warmup_events=2_000_000)
# without state, batches are short: more of them
NEXMARK_STATELESS = Size(events=8_000_000, rows_per_file=200_000, warmup_events=3_200_000)
# long enough to see whether memory grows with events: 800 s of event time
SQL_WINDOWS = Size(events=8_000_000, rows_per_file=200_000, warmup_events=800_000)
NEXMARK_QUICK = Size(events=400_000, rows_per_file=50_000, warmup_events=200_000)
# Patterns: partial matches of a minute, 1.7 million events, are there before the clock starts; then
# it shows whether state grows with events.
PATTERNS = Size(events=10_000_000, rows_per_file=200_000, warmup_events=2_000_000)
SIZES = {
    "reduce": (FULL, QUICK),
    "state": (HALF, QUICK_HALF),
    "native": (NATIVE, QUICK),
    "window": (HALF, QUICK_HALF),
    "sliding": (HALF, QUICK_HALF),
    "scale": (HALF, QUICK_HALF),
    "floor": (FULL, QUICK),  # it makes its own batches
    "first-result": (QUICK, QUICK),  # three records of its own
    "checkpoint": (HALF, QUICK_HALF),
    "large-values": (LARGE_STATE, QUICK_LARGE_STATE),
    "savepoint": (FIFTH_OF_STATE, QUICK_LARGE_STATE),
    "latency": (TWO_MINUTES, TWENTY_SECONDS),
    "latency-windows": (TWO_MINUTES, TWENTY_SECONDS),
    "continuous": (CONTINUOUS, QUICK_CONTINUOUS),
    "recovery": (LARGE_STATE, QUICK_LARGE_STATE),
    "control": (HALF, QUICK_HALF),
    "kafka-source": (KAFKA, QUICK_KAFKA),
    "kafka-ads": (ADS, QUICK_KAFKA),
    "kafka-sink": (KAFKA, QUICK_KAFKA),
    "sql-group-by": (FULL, QUICK),
    "sql-windows": (SQL_WINDOWS, NEXMARK_QUICK),
    "cep": (PATTERNS, QUICK_HALF),
    **{
        job: (NEXMARK_STATELESS if job in NEXMARK_STATELESS_JOBS else NEXMARK, NEXMARK_QUICK)
        for job in NEXMARK_JOBS
    },
}
JOBS = tuple(SIZES)
# jobs and systems that take minutes, and are not compared with anything
ONCE = (
    "large-values", "savepoint", "recovery", "headrace_idle", "sql-windows", *NEXMARK_JOBS,
)  # fmt: skip
# one word for all of Nexmark's queries
FAMILIES = {"nexmark": NEXMARK_JOBS}


def size_of(job: str, *, quick: bool) -> Size:
    """How many events a job gets."""
    full, small = SIZES[job]
    return small if quick else full


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small, once, writes no page")
    parser.add_argument("--runs", type=int, default=None, help="runs of each system (3; quick: 1)")
    parser.add_argument("--only", default="", help="comma-separated systems or jobs")
    parser.add_argument(
        "--jobs", default="", help=f"comma-separated: {', '.join(JOBS)}; nexmark for all of its"
    )
    wanted = parser.parse_args()
    if not wanted.jobs:
        # the quick form must stay below three minutes
        few = "reduce,native,nexmark-q1,nexmark-q5"
        asked = _names(wanted.only) & set(JOBS)
        wanted.jobs = few if wanted.quick and not asked else ",".join(JOBS)
    return wanted


def _names(words: str) -> set[str]:
    """The systems and jobs of a comma-separated list."""
    found = [word for word in words.split(",") if word]
    return {name for word in found for name in FAMILIES.get(word, (word,))}


def missing(system: System) -> str:
    """Why a system cannot run here, or ""."""
    if not system.python:
        return "PyFlink's environment is not there (make oracle)"
    if system.needs and importlib.util.find_spec(system.needs) is None:
        return f"{system.needs} is not installed for this Python"
    return ""


def input_of(system: System, job: str, size: Size, folder: Path, servers: Servers) -> list[str]:
    """The arguments that name a system's input; it is made when it is first needed."""
    if system.reads == "events":
        return ["--data", str(data_of(system, size, folder))]
    if system.reads == "nothing":
        return ["--data", str(folder)]
    if system.reads.startswith("nexmark"):
        return nexmark_input(system, size, folder)
    if system.reads == "ad files":
        files = servers.ad_files(size.events, size.rows_per_file)
        return ["--data", str(files), "--redis", servers.redis()]
    jar = servers.flink_connector() if system.reads == "topic and jar" else folder
    return ["--data", str(jar), *servers.topic_arguments(job, size.events)]


def nexmark_input(system: System, size: Size, folder: Path) -> list[str]:
    """The same events for all: in files one after the other, or for Flink in one file a subtask."""
    if system.reads == "nexmark":
        made = nexmark_inputs.events_of(
            folder, events=size.events, rows_per_file=size.rows_per_file
        )
        batch = size.rows_per_file * data.FILES_PER_BATCH
        sizes = ["--batch", str(batch), "--rows-per-file", str(size.rows_per_file)]
        return ["--data", str(made), *sizes]
    made = nexmark_inputs.lanes_of(folder, events=size.events, warmup_events=size.warmup_events)
    jars = ",".join(map(str, parquet_jars()))
    start = str(nexmark_inputs.START_EVENTS)
    return ["--data", str(made), "--jars", jars, "--start-events", start]


def data_of(system: System, size: Size, folder: Path) -> Path:
    """The folder with that many events."""
    with_csv = system.name == "pyflink"
    kind = "csv" if with_csv else "parquet"
    events = folder / f"{kind}-{size.events}-{size.rows_per_file}"
    if not events.exists():
        data.write_events(
            events, events=size.events, rows_per_file=size.rows_per_file, with_csv=with_csv
        )
    return events


def run_once(system: System, job: str, size: Size, folder: Path, servers: Servers) -> report.Result:
    """Runs one system once; its last line of output is its result."""
    size = replace(
        size, events=size.events // system.share, warmup_events=size.warmup_events // system.share
    )
    scratch = Path(tempfile.mkdtemp(dir=folder))
    command = [system.python, str(HERE / "systems" / system.script), "--job", job]
    command += [*input_of(system, job, size, folder, servers), "--scratch", str(scratch)]
    command += ["--events", str(size.events), "--warmup-events", str(size.warmup_events)]
    command += ["--variant", system.variant]
    environ = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
    environ.pop("PYSPARK_PYTHON", None)  # each system sets its own
    answer = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    shutil.rmtree(scratch, ignore_errors=True)
    if answer.returncode != 0:
        tail = "\n".join((answer.stdout + answer.stderr).strip().splitlines()[-15:])
        return report.Result(system.name, job, problem=f"failed: {tail}")
    line = json.loads(answer.stdout.strip().splitlines()[-1])
    return report.Result(
        system.name,
        job,
        events_per_s=line["events_per_s"],
        seconds=line["seconds"],
        batch_ms=line.get("batch_ms", []),
        worker_rss_mb=line.get("worker_rss_mb", []),
        latency_ms=line.get("latency_ms", []),
        state_bytes=line.get("state_bytes", []),
        note=line.get("note", ""),
    )


def chosen(wanted: argparse.Namespace) -> list[tuple[System, str]]:
    """The pairs of system and job to run, jobs together."""
    only, asked = _names(wanted.only), _names(wanted.jobs)
    jobs = [job for job in JOBS if job in asked]
    known = {system.name for system in SYSTEMS} | {job for s in SYSTEMS for job in s.jobs}
    if unknown := (only | asked) - known:
        raise SystemExit(
            f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}"
        )
    return [
        (system, job)
        for job in jobs
        for system in SYSTEMS
        if job in system.jobs and (not only or system.name in only or job in only)
        if system.in_quick or not wanted.quick
    ]


def setting_of(wanted: argparse.Namespace, runs: int, seconds: float) -> report.Setting:
    """What was run so far, in words."""
    sizes = {job: size_of(job, quick=wanted.quick) for _, job in chosen(wanted)}
    return report.Setting(
        sizes={
            job: report.JobSize(
                size.events, size.rows_per_file * data.FILES_PER_BATCH, size.warmup_events
            )
            for job, size in sizes.items()
        },
        keys=data.KEYS,
        runs=runs,
        seconds=round(seconds),
    )


def main() -> int:
    wanted = options()
    runs = wanted.runs or (1 if wanted.quick else 3)
    results: list[report.Result] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name, Servers(name) as servers:
        folder = Path(name)
        for run in range(runs):
            for system, job in chosen(wanted):
                if run > 0 and (job in ONCE or system.name in ONCE):
                    continue
                problem = missing(system)
                if problem:
                    results.append(report.Result(system.name, job, problem=problem))
                    continue
                print(f"run {run + 1} of {runs}: {job} on {system.name} ...", flush=True)
                size = size_of(job, quick=wanted.quick)
                results.append(run_once(system, job, size, folder, servers))
                print(f"  {results[-1].sentence()}", flush=True)
            setting = setting_of(wanted, run + 1, time.perf_counter() - began)
            if not wanted.quick and not wanted.only:
                # after every run, so that one that is cut off leaves what it has
                report.write_page(results, setting, ROOT / "docs")
    report.print_tables(results, setting)
    return 1 if any(result.problem.startswith("failed") for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
