"""What the scripts of all systems share: arguments, clocks, the one line of JSON.

Only the standard library is imported at the top: PyFlink's environment has little else.
Steady state: the first `--warmup-events` events (JVM start, code generation, Python workers) are
left out.  Systems with micro-batches report whole batches; the others note the time when they
pass the mark.  The clock of the steady state stops when the last event has been processed.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

# how long jobs with event time wait for records that are out of order; data.py stays below
DISORDER_MS = 100
FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def arguments() -> argparse.Namespace:
    """The arguments that run.py gives to every system."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--warmup-events", type=int, required=True)
    parser.add_argument("--variant", default="")
    # the Kafka jobs only
    parser.add_argument("--kafka", default="")
    parser.add_argument("--topic", default="")
    parser.add_argument("--out-topic", default="")
    parser.add_argument("--redis", default="")
    # Nexmark only
    parser.add_argument("--batch", type=int, default=400_000)
    parser.add_argument("--rows-per-file", type=int, default=200_000)
    parser.add_argument("--start-events", type=int, default=0)
    parser.add_argument("--jars", default="")
    return parser.parse_args()


def report(**fields: Any) -> None:
    """Prints the result; run.py reads the last line of the output."""
    print(json.dumps(fields), flush=True)


class Stopwatch:
    """Total time, and the time since the warm-up mark was passed, for systems without batches."""

    def __init__(self, warmup_events: int) -> None:
        self.warmup_events = warmup_events
        self.started = time.perf_counter()
        self.steady_from: float | None = None
        self.steady_after = 0

    def passed(self, events: int) -> None:
        """Notes that `events` events are done by now."""
        if self.steady_from is None and events >= self.warmup_events:
            self.steady_from = time.perf_counter()
            self.steady_after = events

    def result(self, events: int) -> dict[str, Any]:
        now = time.perf_counter()
        steady_from = self.steady_from or self.started
        return {
            "seconds": round(now - self.started, 3),
            "events_per_s": round((events - self.steady_after) / (now - steady_from)),
        }


# --------------------------------------------------------------------------------------- Spark


def spark_session(scratch: Path) -> SparkSession:
    """The session of every Spark system, headrace included: same cores, memory and state store."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("headrace-bench")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "20000")
        # saves 80 ms of forks a batch on a local disk; headrace sets it for its own jobs
        .config("spark.sql.streaming.checkpointFileManagerClass", FILE_MANAGER)
        # saves 40 ms a call into Python (delayed acknowledgements); headrace sets it as well
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def read_events(spark: SparkSession, data: Path, *, files_per_batch: int = 2) -> DataFrame:
    """The events as a stream."""
    reader = spark.readStream.schema("key long, value double")
    return reader.option("maxFilesPerTrigger", files_per_batch).parquet(str(data / "parquet"))


def read_timed_events(spark: SparkSession, data: Path) -> DataFrame:
    """The events with their event time and a watermark on it, two files a batch."""
    schema = "key long, value double, ts long"
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 2)
    events = reader.parquet(str(data / "parquet")).selectExpr("*", "timestamp_millis(ts) as time")
    return events.withWatermark("time", f"{DISORDER_MS} milliseconds")


def run_to_noop(frame: DataFrame, scratch: Path) -> None:
    """Runs a stream to its end; the noop sink computes every row and drops it in the JVM."""
    query = (
        frame.writeStream.format("noop")
        .outputMode("append")
        .option("checkpointLocation", str(scratch / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def measure_query(
    options: argparse.Namespace,
    run: Callable[[], object],
    *,
    system: str,
    every_batch: bool = False,
    note: Callable[[], str] = str,
    more: Callable[[], dict[str, Any]] = dict,
) -> None:
    """Runs one Spark query to its end and reports its steady state from Spark's own progress.

    Args:
        options: of the script.
        run: starts the query and waits for its end.
        system: what to report it as.
        every_batch: count the time of batches without events as well: they fire windows.
        note: asked after the run.
        more: likewise, further fields of the report.
    """
    memory = WorkerMemory()
    began = time.perf_counter()
    with QueryCatcher() as queries, memory:
        run()
    seconds = time.perf_counter() - began
    everything = queries[0].recentProgress
    # Where workers read the files, Spark counts files; where a reader filters, what it lets pass.
    # Events are spread evenly over both.
    rows = rows_of_events(everything)
    weight = max(1.0, options.events / max(sum(rows), 1))
    progress = [
        (round(count * weight), batch)
        for count, batch in zip(rows, everything, strict=True)
        if count or every_batch
    ]
    done, steady_events, steady_ms = 0, 0, 0
    for count, batch in progress:
        if done >= options.warmup_events:
            steady_events += count
            steady_ms += batch["batchDuration"]
        done += count
    if done < options.events * 0.999:  # rounded, batch by batch
        raise SystemExit(f"only {done} of {options.events} events were processed")
    report(
        system=system,
        job=options.job,
        events=done,
        seconds=round(seconds, 3),
        events_per_s=round(steady_events / (steady_ms / 1000)),
        batch_ms=[batch["batchDuration"] for _, batch in progress],
        worker_rss_mb=memory.quarters(),
        note=note(),
        **more(),
    )


def rows_of_events(progress: list[Any]) -> list[int]:
    """The rows of each batch of the source that goes on longest, of those the first.

    Others are a small table beside the events, or headrace's own commands.
    """
    sources = zip(
        *([s["numInputRows"] for s in batch["sources"]] for batch in progress), strict=True
    )
    return list(max(sources, key=lambda rows: sum(1 for count in rows if count)))


class QueryCatcher:
    """Keeps hold of the query that somebody starts, in whatever session, to read its progress."""

    def __enter__(self) -> list[StreamingQuery]:
        from pyspark.sql.streaming.readwriter import DataStreamWriter

        self._writer, self._start = DataStreamWriter, DataStreamWriter.start
        caught: list[StreamingQuery] = []

        def start(writer: DataStreamWriter, *args: Any, **options: Any) -> StreamingQuery:
            caught.append(self._start(writer, *args, **options))
            return caught[-1]

        DataStreamWriter.start = start  # type: ignore[method-assign, assignment]
        return caught

    def __exit__(self, *_: object) -> None:
        self._writer.start = self._start  # type: ignore[method-assign]


# ------------------------------------------------------------------------------------ headrace


class Mark(NamedTuple):
    """A checkpoint: when its barrier went out, and what there was then."""

    triggered_ms: int
    done_ms: int  # when all behind the barrier was worked off and stored
    events: int  # that the sources have sent so far
    state_bytes: int


def checkpoints_of(jobs: Path) -> list[Mark]:
    """The checkpoints of the only job in a registry, as its driver tells them."""
    from headrace.control.registry import JobRegistry
    from headrace.control.views.reader import JobViews

    views = JobViews(JobRegistry(jobs))
    [job] = views.overview()
    marks, events = [], 0
    for checkpoint in reversed(views.checkpoints(job.job_id).history):
        events += checkpoint.records
        done_ms = checkpoint.triggered + checkpoint.duration_ms
        marks.append(Mark(checkpoint.triggered, done_ms, events, checkpoint.state_bytes))
    return marks


def measure_checkpoints(
    options: argparse.Namespace, jobs: Path, run: Callable[[], object], *, system: str, epoch: str
) -> None:
    """Runs one job in continuous mode to its end and reports its steady state.

    No batch has a duration there: the clock is that of the job's checkpoints, each of which tells
    how many records the source had sent when its barrier went out.  When it has been stored, these
    and no others are worked off; so the clock runs from the end of one checkpoint to that of the
    last.

    Args:
        options: of the script.
        jobs: the registry of the job, which keeps enough of its checkpoints.
        run: runs the job to its end.
        system: what to report it as.
        epoch: the time between two checkpoints, in words.
    """
    memory, began = WorkerMemory(), time.perf_counter()
    with memory:
        run()
    seconds = time.perf_counter() - began
    marks = checkpoints_of(jobs)
    if marks[-1].events != options.events:
        raise SystemExit(f"{marks[-1].events} of {options.events} events were read")
    first = next(mark for mark in marks if mark.events >= options.warmup_events)
    last = marks[-1]
    rate = (last.events - first.events) / (last.done_ms - first.done_ms) * 1000
    report(
        system=system,
        job=options.job,
        events=options.events,
        seconds=round(seconds, 3),
        events_per_s=round(rate),
        batch_ms=[later.triggered_ms - mark.triggered_ms for mark, later in pairwise(marks)],
        worker_rss_mb=memory.quarters(),
        note=f"{rate / 2:,.0f} events/s a core; a checkpoint every {epoch}",
    )


# --------------------------------------------------------------------------------------- memory


class WorkerMemory:
    """Samples the largest resident set among Python workers below this process (Linux only)."""

    def __init__(self) -> None:
        self._samples: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> WorkerMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def quarters(self) -> list[float]:
        """The largest worker in MB at the end of each quarter of the run; flat means no leak."""
        samples = self._samples
        if not samples:
            return []
        ends = [max(1, len(samples) * quarter // 4) for quarter in (1, 2, 3, 4)]
        return [round(samples[end - 1]) for end in ends]

    def _sample(self) -> None:
        while not self._stop.wait(0.25):
            sizes = [rss_mb(pid) for pid in descendants(os.getpid())]
            if any(sizes):
                self._samples.append(max(sizes))


def descendants(root: int) -> Iterator[int]:
    """The process ids below `root` that run Python."""
    return (pid for pid in all_descendants(root) if "python" in program_of(pid))


def all_descendants(root: int) -> Iterator[int]:
    """The process ids below `root`."""
    for task in Path(f"/proc/{root}/task").glob("*/children"):
        for pid in map(int, _read(task).split()):
            yield pid
            yield from all_descendants(pid)


def program_of(pid: int) -> str:
    return _read(Path(f"/proc/{pid}/cmdline")).split("\0")[0]


def cpu_seconds(root: int) -> dict[str, float]:
    """The CPU time of a driver so far, of its JVM, and of all Python below it."""
    found = {"driver": 0.0, "JVM": 0.0, "workers": 0.0}
    for pid in (root, *all_descendants(root)):
        kind = "driver" if pid == root else "JVM" if "java" in program_of(pid) else "workers"
        fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        if fields:
            found[kind] += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def rss_mb(pid: int) -> float:
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process has ended meanwhile
        return ""
