"""What continuous mode costs and gains: the job `state` at full speed, and a job without work.

Variants: `micro-batch` and `checkpoint-<seconds>` run the job `state` on the same files, the latter
in continuous mode.  `buffer-<ms>` (`buffer-full` never sends what is not full) runs the job
`latency` first and then `state`, both with that buffer timeout.  `idle` is a source without
events: the share of one core that all processes of the job take.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable

import headrace_latency
from headrace_keyed import build, events_of
from headrace_latency import EVENT, Count
from latency import EPOCH_S, PARALLELISM, RATE, let_run, summary
from measure import arguments, cpu_seconds, report, spark_session

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.connectors.discarding import DiscardingSink
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.spi.sink import Committer, SinkWriter

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from headrace.spi.sink import CommitterContext, WriterContext

LATENCY_S, LATENCY_WARMUP_S = 60, 30  # for one point of the curve
IDLE_S, SETTLE_S = 20, 10
SLICE_S = 0.1


class CountingSink(DiscardingSink):
    """Drops records, and tells when they came: tasks run on, so no batch has a duration."""

    def __init__(self, slices: list[tuple[float, int]]) -> None:
        self.slices = slices

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Counter()

    def create_committer(self, context: CommitterContext) -> Committer:
        return _Slices(self.slices)


class _Counter(SinkWriter):
    """How many records came by when, in slices of time."""

    def __init__(self) -> None:
        self.slices: list[tuple[float, int]] = []
        self.records, self.until = 0, 0.0

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._count(len(values))

    def write_arrow(self, batch: Any, timestamps: list[int] | None) -> bool:
        self._count(batch.num_rows)
        return True

    def _count(self, records: int) -> None:
        self.records += records
        now = time.time()
        if now > self.until:
            self._cut(now)

    def _cut(self, now: float) -> None:
        self.slices.append((now, self.records))
        self.records, self.until = 0, now + SLICE_S

    def prepare_commit(self) -> list[Any]:
        if self.records:
            self._cut(time.time())
        return [self.slices]

    def abort(self) -> None:
        pass


class _Slices(Committer):
    def __init__(self, slices: list[tuple[float, int]]) -> None:
        self.slices = slices

    def commit(self, batch_id: int, committables: list[Any]) -> None:
        for slices in committables:
            self.slices.extend(slices)


def steady_rate(slices: list[tuple[float, int]], warmup_events: int) -> tuple[int, float]:
    """(all records, records a second behind the warm-up)."""
    done, steady_after, steady_from = 0, 0, 0.0
    for now, records in sorted(slices):
        done += records
        if not steady_from and done >= warmup_events:
            steady_from, steady_after = now, done
    return done, (done - steady_after) / (max(slices)[0] - steady_from)


def continuous(scratch: Path, **settings: str) -> Configuration:
    configuration = Configuration()
    for key, value in {
        "headrace.execution.mode": "continuous",
        "execution.checkpointing.dir": str(scratch / f"job-{time.time_ns()}"),
        "spark.local.dir": str(scratch / "local"),
        "spark.driver.memory": "4g",
        **settings,
    }.items():
        configuration.set_string(key, value)
    return configuration


def environment(scratch: Path, **settings: str) -> StreamExecutionEnvironment:
    configuration = continuous(scratch, **settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    return env


def full_speed(options: argparse.Namespace, env: StreamExecutionEnvironment) -> dict[str, Any]:
    """The job `state` over all files; by the clock of its sink in both modes."""
    slices: list[tuple[float, int]] = []
    began = time.perf_counter()
    build("state", events_of(env, options.data)).sink_to(CountingSink(slices))
    env.execute("state")
    done, rate = steady_rate(slices, options.warmup_events)
    if done != options.events:
        raise SystemExit(f"{done} of {options.events} events came out")
    return {
        "events": done,
        "seconds": round(time.perf_counter() - began, 3),
        "events_per_s": round(rate),
    }


def run_micro_batch(options: argparse.Namespace) -> None:
    spark = spark_session(options.scratch)
    env = environment(options.scratch, **{"headrace.execution.mode": "micro-batch"})
    report(system="headrace_micro_batch", job=options.job, **full_speed(options, env))
    spark.stop()


def run_checkpoint(options: argparse.Namespace, seconds: str) -> None:
    interval = {"execution.checkpointing.interval": f"{seconds} s"}
    found = full_speed(options, environment(options.scratch, **interval))
    report(system=f"headrace_checkpoint_{seconds}", job=options.job, **found)


def run_buffer(options: argparse.Namespace, timeout: str) -> None:
    """One point of the curve."""
    short = min(1.0, options.events / 1_000_000)  # a quick run is quick here as well
    options.latency = type(options)(
        events=round(RATE * LATENCY_S * short), warmup_events=round(RATE * LATENCY_WARMUP_S * short)
    )
    arrivals, _ = headrace_latency.run(
        "latency",
        f"continuous-{timeout}-{headrace_latency.TICK_MS}-200",
        options.scratch,
        lambda arrivals: let_run(options.latency, arrivals),
    )
    latency_ms = summary(options.latency, arrivals)["latency_ms"]
    interval = "-1 ms" if timeout == "full" else f"{timeout} ms"
    settings = {
        "execution.buffer-timeout.interval": interval,
        "execution.checkpointing.interval": f"{EPOCH_S} s",
    }
    found = full_speed(options, environment(options.scratch, **settings))
    report(
        system=f"headrace_buffer_{timeout}",
        job=options.job,
        latency_ms=latency_ms,
        note=f"p50 {latency_ms[0]:.1f} ms, p99 {latency_ms[1]:.1f} ms at {RATE:,} events/s",
        **found,
    )


def run_idle(options: argparse.Namespace) -> None:
    env = environment(options.scratch)
    nothing = DataGeneratorSource(
        lambda index: (index, 0.0), None, RateLimiterStrategy.per_second(1e-6), EVENT
    )
    events = env.from_source(nothing, WatermarkStrategy.no_watermarks(), "nothing")
    counted = events.key_by(lambda event: event[0], key_type=Types.LONG())
    counted.process(Count(), EVENT).add_sink(lambda event: None)
    with env.execute_async("idle"):
        time.sleep(SETTLE_S)
        before = cpu_seconds(os.getpid())
        time.sleep(IDLE_S)
        after = cpu_seconds(os.getpid())
    shares = {
        kind: 100 * (seconds - before.get(kind, 0.0)) / IDLE_S for kind, seconds in after.items()
    }
    report(
        system="headrace_idle",
        job=options.job,
        events=0,
        seconds=IDLE_S,
        events_per_s=0,
        note=f"{sum(shares.values()):.1f} % of one core over {IDLE_S} s: "
        + ", ".join(f"{kind} {share:.1f}" for kind, share in shares.items()),
    )


def main() -> None:
    options = arguments()
    kind, _, number = options.variant.partition("-")
    if kind == "micro":
        run_micro_batch(options)
    elif kind == "checkpoint":
        run_checkpoint(options, number)
    elif kind == "buffer":
        run_buffer(options, number)
    elif kind == "idle":
        run_idle(options)
    else:
        raise SystemExit("--variant micro-batch, checkpoint-<s>, buffer-<ms> or idle")


if __name__ == "__main__":
    main()
