"""A program on a real cluster: a standalone master and two workers, all on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

from headrace.control.registry import JobRegistry
from patience import PATIENCE_S, wait_until
from standalone import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.cluster

PROGRAM = '''
"""Runs on the cluster whose master is the first argument; writes below the second."""

import os
import sys

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.functions import MapFunction, ProcessWindowFunction
from headrace.datastream.window import TumblingEventTimeWindows
from pricing import price_of

SALE = Types.ROW_NAMED(["shop", "at", "price"], [Types.STRING(), Types.LONG(), Types.LONG()])
TOTAL = Types.ROW_NAMED(
    ["shop", "start", "total", "pid"],
    [Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()],
)


class Total(ProcessWindowFunction):
    def process(self, key, context, elements):
        total = sum(sale.price for sale in elements)
        executor = os.getppid()  # the daemon of Python workers: one an executor
        yield (key, context.window().start, total, executor)


def main(master, out, mode, cores, ready_ratio="1.0"):
    configuration = Configuration()
    settings = {
        "spark.master": master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "headrace.execution.mode": mode,
        "spark.executor.cores": cores,
        "spark.cores.max": str(2 * int(cores)),
        "spark.scheduler.minRegisteredResourcesRatio": ready_ratio,
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "execution.checkpointing.dir": f"{out}/checkpoint",
        "source.max-records-per-batch": "500",
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("1 s").with_timestamp_assigner(
        lambda sale, _: sale.at
    )
    sales = [(f"shop {n % 7}", n * 100, price_of(n)) for n in range(1000)]
    stream = env.from_collection(sales, SALE).map(lambda sale: sale, SALE)
    keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda sale: sale.shop)
    windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(50)))
    windows.process(Total(), TOTAL).sink_to(FileSink.parquet(f"{out}/totals")).uid("totals")
    (
        stream.map(lambda sale: (sale.shop, price_of(sale.price)), output_type=Types.TUPLE(
            [Types.STRING(), Types.LONG()]
        ))
        .key_by(lambda pair: pair[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .sink_to(FileSink.json(f"{out}/running"))
        .uid("running")
    )
    env.execute("shops")


if __name__ == "__main__":
    main(*sys.argv[1:])
'''


def price_of(number: int) -> int:
    """The same as in the module beside the program."""
    return number * 3 + 1


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core each; a test may kill them."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.parametrize(("mode", "cores"), [("micro-batch", 1), ("continuous", 2)])
def test_a_program_on_two_executors_gives_the_right_windows_and_sums(
    mode: str, cores: int, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Cluster(tmp_path_factory.mktemp("cluster"), cores=cores) as cluster:
        runs_on_both_executors(cluster, mode, cores, tmp_path)


def test_a_continuous_job_that_starts_before_any_worker_waits_for_them(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Issue 24, B6b: it ended at once, with 'this job needs 4 slots ... and Spark has 0'."""
    with Cluster(tmp_path_factory.mktemp("cluster"), workers=0, cores=2) as cluster:
        # Spark itself waits for nobody, as by default
        script = start(cluster, "continuous", 2, tmp_path, "0.0")
        registry = JobRegistry(tmp_path / "home" / "jobs")
        try:
            waits_for = told_to_wait(registry, script)
            assert waits_for.endswith("needed, 0 there")
            for name in ("worker1", "worker2"):
                cluster.start_worker(name)
            check(cluster, script, tmp_path)
        finally:
            script.kill()
        [record] = registry.all()
    assert (record.state, record.restarts, record.waits_for) == ("FINISHED", 0, None)


def told_to_wait(registry: JobRegistry, script: subprocess.Popen[str]) -> str:
    """What a job says that it waits for, once it does."""

    def told() -> str | None:
        assert script.poll() is None, script.communicate()[1][-5000:]
        return next((record.waits_for for record in registry.all() if record.waits_for), None)

    return wait_until(told, "it does not say that it waits", every_s=0.1) or ""


def runs_on_both_executors(cluster: Cluster, mode: str, cores: int, tmp_path: Path) -> None:
    check(cluster, start(cluster, mode, cores, tmp_path), tmp_path)


def start(
    cluster: Cluster, mode: str, cores: int, tmp_path: Path, *more: str
) -> subprocess.Popen[str]:
    """The program on the cluster."""
    (tmp_path / "shops.py").write_text(PROGRAM)
    (tmp_path / "pricing.py").write_text("def price_of(number):\n    return number * 3 + 1\n")
    (tmp_path / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "shops.py", cluster.url, str(tmp_path / "out"), mode, str(cores), *more],
        cwd=tmp_path,
        env={
            **os.environ,
            "TMPDIR": str(tmp_path / "tmp"),
            "HEADRACE_HOME": str(tmp_path / "home"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check(cluster: Cluster, script: subprocess.Popen[str], tmp_path: Path) -> None:
    """It ends well, and its files have the right answers, of both executors."""
    try:
        _, errors = script.communicate(timeout=PATIENCE_S)
    finally:
        script.kill()
    assert script.returncode == 0, errors[-5000:]
    assert list((tmp_path / "tmp").glob("headrace-*")) == []

    sales = [(f"shop {n % 7}", n * 100, price_of(n)) for n in range(1000)]
    expected: dict[tuple[str, int], int] = {}
    for shop, at, price in sales:
        window = shop, at - at % 50_000
        expected[window] = expected.get(window, 0) + price
    files = [str(file) for file in (tmp_path / "out" / "totals").glob("[!._]*.parquet")]
    rows = ds.dataset(files).to_table().to_pylist()
    assert {(row["shop"], row["start"]): row["total"] for row in rows} == expected
    assert len(rows) == len(expected) == 14

    highest: dict[str, int] = {}
    lines = 0
    for file in (tmp_path / "out" / "running").glob("[!._]*.json"):
        for line in file.open():
            shop, total = json.loads(line).values()
            highest[shop] = max(highest.get(shop, 0), total)
            lines += 1
    assert lines == 1000
    assert highest == {
        f"shop {s}": sum(price_of(price_of(n)) for n in range(s, 1000, 7)) for s in range(7)
    }

    assert len({row["pid"] for row in rows}) == 2  # both executors fired windows
    known = cluster.status()
    assert known is not None
    assert [app["name"] for app in known["completedapps"]] == ["headrace"]


LOSING = '''
"""Rebalances lines; in the last batch a reducer with all its input ends the other worker."""

import os
import signal
import sys
import time
from pathlib import Path

from headrace.common import Configuration, Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.connectors.files.source import FileSource
from headrace.formats.file_format import StreamFormat
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.functions import MapFunction

LAST = "2"


def parent(pid):
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def executor():
    """The JVM above the daemon of this Python worker."""
    return parent(os.getppid())


class Tell(MapFunction):
    """Leaves word of who runs which task; in the last batch each executor has to run one."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def open(self, context):
        self.subtask = context.get_index_of_this_subtask()

    def map(self, line):
        batch = line[0]
        (self.folder / f"{batch}-{self.subtask}-{executor()}-{os.getpid()}").touch()
        deadline = time.monotonic() + 60
        while batch == LAST and len(readers(self.folder)) < 2:
            if time.monotonic() > deadline:
                raise TimeoutError("one executor was given both tasks")
            time.sleep(0.01)
        return line


def readers(folder):
    return {int(word.name.split("-")[2]) for word in folder.glob(f"{LAST}-*")}


class EndOther(MapFunction):
    """Kills the other executor, once, and its worker first, which would start another."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def map(self, line):
        if line.startswith(f"{LAST}/"):
            try:
                (self.folder / "killed").touch(exist_ok=False)
            except FileExistsError:
                return line
            (other,) = readers(self.folder) - {executor()}
            for pid in (parent(other), other):
                os.kill(pid, signal.SIGKILL)
        return line


def main(master, out):
    configuration = Configuration()
    settings = {
        "spark.master": master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        # Spark would notice that a task sent something else, and fail the job: the first of these
        # is of no use without the others
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
        "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
        "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "false",
        # as on two machines: what a lost executor wrote cannot be read from its disk any more
        "spark.shuffle.readHostLocalDisk": "false",
        "spark.shuffle.io.retryWait": "1s",
        "source.max-files-per-batch": "2",
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(4)
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{out}/in")
    lines = env.from_source(files.build(), None, "lines").map(Tell(f"{out}/seen"), Types.STRING())
    last = lines.rebalance().map(EndOther(f"{out}/seen"), Types.STRING())
    last.sink_to(FileSink.json(f"{out}/lines")).uid("lines")
    env.execute("lines")


if __name__ == "__main__":
    main(*sys.argv[1:])
'''

# How many lines a source task reads in each batch. However two processes share the first two
# batches out between them, they have read numbers of lines that differ modulo the four subtasks
# behind: a round robin that goes on over batches stands elsewhere in each of them.
LINES = [1, 2, 8]


def pasts_of_the_task_that_ran_again(seen: Path) -> list[int]:
    """How many lines each process that ran it in the last batch had read for it before."""
    words = [tuple(map(int, word.name.split("-"))) for word in seen.glob("[0-9]*")]
    pasts: dict[int, dict[int, int]] = {}
    for batch, subtask, _, process in sorted(words, reverse=True):
        if batch == len(LINES) - 1:
            pasts.setdefault(subtask, {})[process] = 0
        elif process in pasts[subtask]:
            pasts[subtask][process] += LINES[batch]
    (twice,) = [found for found in pasts.values() if len(found) == 2]
    return list(twice.values())


def test_a_source_task_that_runs_again_on_another_executor_sends_the_same(
    cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "lines.py").write_text(LOSING)
    out = tmp_path / "out"
    for folder in ("in", "seen"):
        (out / folder).mkdir(parents=True)
    written = []
    for batch, count in enumerate(LINES):
        for half in range(2):
            lines = [f"{batch}/{half}/{number}" for number in range(count)]
            file = out / "in" / f"{batch}{half}.txt"
            file.write_text("\n".join(lines))
            os.utime(file, (10 * batch + half + 1, 10 * batch + half + 1))
            written += lines
    script = subprocess.run(
        [sys.executable, "lines.py", cluster.url, str(out)],
        cwd=tmp_path,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert script.returncode == 0, script.stderr[-5000:]
    one, other = pasts_of_the_task_that_ran_again(out / "seen")
    assert one % 4 != other % 4
    found = [
        json.loads(line) for file in (out / "lines").glob("[!._]*.json") for line in file.open()
    ]
    assert sorted(found) == sorted(written)
