"""How long continuous mode is away with a large state: a killed worker, a killed driver.

A job fills `--events` keys with 1,000 bytes of state each (1,000,000: 1 GB), then changes some of
them, at an even rate.  Once all of it is in a checkpoint, one Python worker of the keyed stage is
killed with -9; the clock stops at the first result of a worker that was not there before.  Then
the same with the whole driver, its JVM included, from the moment the driver is started again.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable

from headrace_continuous import environment
from headrace_large_state import STATE_BYTES, kill_driver, size_mb, wait_until
from measure import arguments, report

from headrace.common import Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.state import ValueStateDescriptor

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.datastream import RuntimeContext

DRIVER = "driver"
CHANGES_PER_S = 1_000
EPOCH_S = 10


class FillThenChange(RateLimiterStrategy):
    """All keys as fast as they go, and an even rate behind them."""

    def __init__(self, keys: int) -> None:
        self.keys = keys
        self.changes = RateLimiterStrategy.per_second(CHANGES_PER_S)

    def permitted(self, start: int) -> int:
        return self.keys if start < self.keys else self.changes.permitted(start)

    def describe(self) -> str:
        return f"{self.keys} at once, then {self.changes.describe()}"


class Remember(KeyedProcessFunction):
    """Changes the state of a key; tells which process did, once all keys are there."""

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def open(self, runtime_context: RuntimeContext) -> None:
        blob = Types.PRIMITIVE_ARRAY(Types.BYTE())
        self.state = runtime_context.get_state(ValueStateDescriptor("blob", blob))

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        is_new = self.state.value() is None
        self.state.update(hashlib.shake_128(value.to_bytes(8, "little")).digest(STATE_BYTES))
        if value >= self.keys:
            if is_new:
                raise AssertionError(f"key {value % self.keys} is lost")
            yield os.getpid()


def run_driver(options: argparse.Namespace) -> None:
    """Runs until it is killed; a line in a file tells of each new process that gives results."""
    keys, seen = options.events, set()

    def note(pid: int) -> None:
        if pid not in seen:
            seen.add(pid)
            with (options.scratch / "seen").open("a") as file:
                file.write(f"{time.time()} {pid}\n")

    env = environment(
        options.scratch,
        **{
            "execution.checkpointing.dir": str(options.scratch / "job"),
            "execution.checkpointing.interval": f"{EPOCH_S} s",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "0 s",
            "restart-strategy.fixed-delay.attempts": "10",
        },
    )
    source = DataGeneratorSource.vectorized(
        lambda index: index, None, FillThenChange(keys), type_info=Types.LONG()
    )
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "keys").uid("keys")
    # the changes visit keys of all pages, not neighbours
    keyed = events.key_by(lambda number: number * 7_919 % keys, key_type=Types.LONG())
    changed = keyed.process(Remember(keys), Types.LONG()).uid("remember")
    changed.add_sink(note).uid("note")
    env.execute("recovery")


def start_driver(options: argparse.Namespace) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--job", options.job, "--variant", DRIVER]
    command += ["--data", str(options.data), "--scratch", str(options.scratch)]
    command += ["--events", str(options.events), "--warmup-events", "0"]
    return subprocess.Popen(command, stdout=sys.stderr, start_new_session=True)


def seen(scratch: Path) -> list[tuple[float, int]]:
    """(when it was first heard of, process id) of all that gave results."""
    file = scratch / "seen"
    lines = file.read_text().splitlines() if file.exists() else []
    return [(float(at), int(pid)) for at, pid in map(str.split, lines)]


def wait_for_epoch(scratch: Path, driver: subprocess.Popen[bytes]) -> None:
    """Until an epoch that began after now is written."""
    folder = scratch / "job" / "continuous" / "epochs"

    def newest() -> int:
        return max((int(file.stem) for file in folder.glob("*.done")), default=-1)

    # one may be on its way now
    target = newest() + 2
    wait_until(lambda: newest() >= target, driver)


def main() -> None:
    options = arguments()
    if options.variant == DRIVER:
        run_driver(options)
        return
    scratch = options.scratch
    began = time.time()
    driver = start_driver(options)
    try:
        wait_until(lambda: len(seen(scratch)) >= 2, driver)
        filled_s = seen(scratch)[0][0] - began
        wait_for_epoch(scratch, driver)
        before = len(seen(scratch))
        killed = time.time()
        os.kill(seen(scratch)[0][1], signal.SIGKILL)
        wait_until(lambda: len(seen(scratch)) > before, driver)
        worker_back_s = seen(scratch)[before][0] - killed
        wait_for_epoch(scratch, driver)
        kill_driver(driver)
        before = len(seen(scratch))
        started = time.time()
        driver = start_driver(options)
        wait_until(lambda: len(seen(scratch)) > before, driver)
        driver_back_s = seen(scratch)[before][0] - started
    finally:
        kill_driver(driver)
    report(
        system="headrace_recovery",
        job=options.job,
        events=options.events,
        seconds=round(time.time() - began, 3),
        events_per_s=round(options.events / filled_s),
        note=f"{options.events * STATE_BYTES / 1e6:,.0f} MB of state; first result "
        f"{worker_back_s:.1f} s after kill -9 of a worker, {driver_back_s:.1f} s after a new start "
        f"of a killed driver; checkpoint {size_mb(scratch / 'job'):,.0f} MB",
    )


if __name__ == "__main__":
    main()
