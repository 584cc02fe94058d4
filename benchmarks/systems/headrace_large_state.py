"""How headrace gets on with a large state: two jobs.

`large-values`: a job builds up `--events` keys with 1,000 bytes of state each (1,000,000: 1 GB) in
ten batches, then changes a tenth of them a batch; its driver is killed with -9 and started again,
and the clock runs from that start to the first batch that is committed.  Three bars: the tenth
batch takes at most 1.5 times the second, the checkpoint is at most 2.5 times the state, and the job
is back within 20 s.  `savepoint`: a savepoint of the same state, and a job restored from it, in
MB/s of savepoint files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

os.environ["PYSPARK_PYTHON"] = sys.executable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import arguments, report, spark_session

from headrace.common import Configuration, Types
from headrace.connectors.discarding import DiscardingSink
from headrace.control.savepoints import read_savepoint
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat
from headrace.datastream.state import ValueStateDescriptor

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from headrace.common import JobClient
    from headrace.datastream import RuntimeContext

STATE_BYTES = 1_000  # of one key; no two bytes alike, so that nothing is compressed away
BATCHES = 10  # of new keys; two files make a batch
CHANGING_BATCHES = 5
PATIENCE_S = 3_600.0
DRIVER = "driver"  # the variant that `large-values` starts, kills and starts again
TENTH_TO_SECOND, CHECKPOINT_TO_STATE, BACK_S = 1.5, 2.5, 20.0


class Key(NamedTuple):
    key: int
    turn: int


class Remember(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        blob = Types.PRIMITIVE_ARRAY(Types.BYTE())
        self.state = runtime_context.get_state(ValueStateDescriptor("blob", blob))

    def process_element(self, value: Key, ctx: Any) -> Iterator[int]:
        if self.state.value() is None or value.turn:
            name = value.key.to_bytes(8, "little") + value.turn.to_bytes(8, "little")
            self.state.update(hashlib.shake_128(name).digest(STATE_BYTES))
        yield value.key


def write_keys(folder: Path, keys: int, changing_batches: int = 0) -> None:
    """Source files with every key once, then files with a random tenth of the keys each."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(7)
    batches = [(0, part) for part in np.array_split(random.permutation(keys), BATCHES)]
    for turn in range(1, changing_batches + 1):
        batches.append((turn, random.choice(keys, keys // BATCHES, replace=False)))
    for number, (turn, batch) in enumerate(batches):
        for half, part in enumerate(np.array_split(batch, 2)):
            write_file(folder, f"part-{number:05d}-{half}", part, turn)


def write_file(folder: Path, name: str, keys: np.ndarray, turn: int = 0) -> None:
    table = pa.table({"key": keys, "turn": np.full(len(keys), turn)})
    pq.write_table(table, folder / f".{name}")
    (folder / f".{name}").rename(folder / f"{name}.parquet")


def start(scratch: Path, checkpoint: Path, savepoint: str | None = None) -> JobClient:
    """The job that remembers, on what its source folder holds and on what comes later."""
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", str(checkpoint))
    configuration.set_string("spark.driver.memory", "4g")
    configuration.set_string("spark.local.dir", str(scratch / "local"))
    if savepoint is not None:
        configuration.set_string("execution.state-recovery.path", savepoint)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    source = FileSource.for_bulk_file_format(
        ParquetColumnarRowInputFormat(Key), str(scratch / "in")
    )
    source.monitor_continuously("100 ms").set_option("maxFilesPerTrigger", "2")
    keyed = env.from_source(source.build(), None, "keys").uid("keys")
    remembered = keyed.key_by(lambda event: event.key, key_type=Types.LONG()).process(Remember())
    remembered.uid("remember").sink_to(DiscardingSink()).uid("nowhere")
    return env.execute_async("remember")


def committed(checkpoint: Path) -> int:
    """How many batches the checkpoint holds."""
    commits = [file.name for file in (checkpoint / "query" / "commits").glob("[0-9]*")]
    return 1 + max((int(name) for name in commits if name.isdigit()), default=-1)


def wait_until(
    condition: Callable[[], bool], driver: subprocess.Popen[bytes] | None = None
) -> None:
    deadline = time.perf_counter() + PATIENCE_S
    while not condition():
        if driver is not None and driver.poll() is not None:
            raise SystemExit(f"the driver ended with {driver.returncode}")
        if time.perf_counter() > deadline:
            raise SystemExit(f"it took more than {PATIENCE_S:.0f} s")
        time.sleep(0.01)


def size_mb(folder: Path) -> float:
    found = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # a running job clears up
            found += file.stat().st_size if file.is_file() else 0
    return round(found / 1e6, 1)


class Watch:
    """What a checkpoint directory shows while its job runs: batches, and how large it becomes.

    Looked at from outside, since a job keeps the marks of its last batches only.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._began: dict[int, float] = {}
        self._ended: dict[int, float] = {}
        self.largest_mb = 0.0

    def look(self) -> int:
        """Note what is new; how many batches are committed."""
        query = self._checkpoint / "query"
        for folder, seen in (("offsets", self._began), ("commits", self._ended)):
            for file in (query / folder).glob("[0-9]*"):
                number = int(file.name)
                if number not in seen:
                    with contextlib.suppress(FileNotFoundError):  # cleared away meanwhile
                        seen[number] = file.stat().st_mtime
                        self.largest_mb = max(self.largest_mb, size_mb(self._checkpoint))
        return 1 + max(self._ended, default=-1)

    def batch_seconds(self, batches: int) -> list[float]:
        """How long the first batches took, from their offsets being written to their commits."""
        return [self._ended[n] - self._began[n] for n in range(batches)]


# --- large values, and recovery with them -------------------------------------------------------


def start_driver(options: argparse.Namespace) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--job", "large-values", "--variant", DRIVER]
    command += ["--data", str(options.data), "--scratch", str(options.scratch)]
    command += ["--events", str(options.events), "--warmup-events", "0"]
    return subprocess.Popen(command, stdout=sys.stderr, start_new_session=True)


def run_driver(options: argparse.Namespace) -> None:
    """Runs until it is killed; in a Spark that headrace starts, as users have it."""
    client = start(options.scratch, options.scratch / "job")
    client.get_job_execution_result().result()


def kill_driver(driver: subprocess.Popen[bytes]) -> None:
    """Python, the JVM and the workers: they share the driver's session, not its group."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == driver.pid:
                os.kill(int(folder.name), signal.SIGKILL)
        except (OSError, ValueError):  # it has ended meanwhile
            continue
    driver.wait()


def measure_large_values(options: argparse.Namespace) -> None:
    write_keys(options.scratch / "in", options.events, CHANGING_BATCHES)
    checkpoint = options.scratch / "job"
    batches = BATCHES + CHANGING_BATCHES
    watch = Watch(checkpoint)
    driver = start_driver(options)
    try:
        wait_until(lambda: watch.look() >= BATCHES, driver)
        filled_mb = size_mb(checkpoint)
        wait_until(lambda: watch.look() >= batches, driver)
        kill_driver(driver)
        changed_mb = size_mb(checkpoint)
        took = watch.batch_seconds(batches)
        before = committed(checkpoint)
        write_file(options.scratch / "in", "after", np.arange(min(options.events, 1_000)))
        began = time.perf_counter()
        driver = start_driver(options)
        wait_until(lambda: committed(checkpoint) > before, driver)
        back_s = time.perf_counter() - began
    finally:
        kill_driver(driver)
    state_mb = options.events * STATE_BYTES / 1e6
    growth, share = took[BATCHES - 1] / took[1], max(filled_mb, changed_mb) / state_mb
    report(
        system="headrace_large_values",
        job="large-values",
        events=options.events,
        seconds=round(sum(took), 3),
        events_per_s=round(options.events / sum(took[:BATCHES])),
        batch_ms=[round(seconds * 1000) for seconds in took],
        note=f"{state_mb:,.0f} MB of state; tenth batch {growth:.2f} of the second "
        f"({took[BATCHES - 1]:.1f} s, {took[1]:.1f} s; {verdict(growth, TENTH_TO_SECOND)}); "
        f"checkpoint {share:.2f} of the state ({verdict(share, CHECKPOINT_TO_STATE)}; "
        f"{filled_mb / state_mb:.2f} after new keys, {changed_mb / state_mb:.2f} after changes, "
        f"{watch.largest_mb / state_mb:.2f} at its largest); back after "
        f"{back_s:.1f} s ({verdict(back_s, BACK_S)}). Batches that change a tenth: "
        f"{', '.join(f'{seconds:.1f}' for seconds in took[BATCHES:])} s",
    )


def verdict(found: float, bar: float) -> str:
    return f"bar {bar:g}: {'met' if found <= bar else 'MISSED'}"


# --- savepoints ----------------------------------------------------------------------------------


def measure_savepoint(options: argparse.Namespace) -> None:
    scratch = options.scratch
    write_keys(scratch / "in", options.events)
    spark = spark_session(scratch)
    client = start(scratch, scratch / "job")
    wait_until(lambda: committed(scratch / "job") >= BATCHES)
    began = time.perf_counter()
    location = client.stop_with_savepoint(False, str(scratch / "savepoints")).result()
    saved_s = time.perf_counter() - began
    megabytes = read_savepoint(location).bytes / 1e6
    write_file(scratch / "in", "after", np.arange(min(options.events, 1_000)))
    began = time.perf_counter()
    restored = start(scratch, scratch / "restored", location)
    seeded_s = time.perf_counter() - began  # the state is in its new checkpoint
    before = committed(scratch / "restored")
    wait_until(lambda: committed(scratch / "restored") > before)
    first_batch_s = time.perf_counter() - began
    restored.cancel().result()
    report(
        system="headrace_savepoint",
        job="savepoint",
        events=options.events,
        seconds=round(saved_s + first_batch_s, 3),
        events_per_s=round(options.events / saved_s),
        note=f"saved {megabytes:,.0f} MB in {saved_s:.1f} s = {megabytes / saved_s:.1f} MB/s, "
        f"restored in {seeded_s:.1f} s = {megabytes / seeded_s:.1f} MB/s, first batch after "
        f"{first_batch_s:.1f} s",
    )
    spark.stop()


def main() -> None:
    options = arguments()
    if options.variant == DRIVER:
        run_driver(options)
    elif options.job == "large-values":
        measure_large_values(options)
    elif options.job == "savepoint":
        measure_savepoint(options)
    else:
        raise SystemExit("--job large-values or savepoint")


if __name__ == "__main__":
    main()
