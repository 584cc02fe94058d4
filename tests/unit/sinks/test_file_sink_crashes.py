"""Whatever operation the process dies at, a retry gives every record exactly once."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs as pafs

from headrace.common.typeinfo import Types
from headrace.connectors.files import manifest
from headrace.connectors.files.committer import MANIFESTS_KEPT, FileCommitter
from headrace.connectors.files.manifest import (
    CommitPlanner,
    CompactionRules,
    RollingRules,
    SinkPlaces,
)
from headrace.connectors.files.sink_options import BucketAssigner, RollingPolicy
from headrace.connectors.files.writer import FileWriter
from headrace.datastream.connectors.sink import WriterContext
from headrace.errors import ConnectorError, StateError
from headrace.formats.writer_factories import JsonLines, ParquetWriters
from headrace.io.storage import Storage
from unit.sinks.crashing_fs import CrashingHandler

if TYPE_CHECKING:
    from collections.abc import Iterator

LAYOUT = SinkPlaces("job", "sink")
SUBTASKS = 2
ROW = Types.ROW_NAMED(["batch", "n"], [Types.INT(), Types.INT()])


@dataclass(frozen=True)
class Setup:
    """One way to run the sink."""

    parquet: bool = False
    compaction: CompactionRules | None = None
    part_size: int = 30
    copy_moves: bool = False
    merge_threads: int = 1
    rolling: RollingRules | None = None


class Job:
    """A driver and its workers; `run` goes on from the first batch the engine has no record of."""

    def __init__(self, root: Path, setup: Setup, batches: list[int]) -> None:
        self.root = root
        self.setup = setup
        self.batches = batches
        self.done = 0  # the engine's own log: batches that need no retry
        self.attempts = 0
        self.now_ms = 0

    def clock(self) -> int:
        """Ten seconds later whenever somebody looks."""
        self.now_ms += 10_000
        return self.now_ms

    def run(self, handler: CrashingHandler) -> None:
        storage = Storage(handler.filesystem(), str(self.root))
        committer = self.committer(storage)
        while self.done < len(self.batches):
            committables: list[Any] = []
            for subtask in range(SUBTASKS):
                committables += self.write(storage, self.done, subtask)
            # The driver gets them in any order.
            committer.commit(self.done, committables[::-1])
            self.done += 1
        committer.end_of_input()

    def committer(self, storage: Storage) -> FileCommitter:
        writers = self.writers()
        setup = self.setup
        planner = CommitPlanner(
            LAYOUT, suffix=".out", compaction=setup.compaction, rolling=setup.rolling
        )
        return FileCommitter(
            storage,
            planner,
            writers.merge_files(),
            merge_threads=setup.merge_threads,
            clock=self.clock,
            success_name="_SUCCESS",
        )

    def write(self, storage: Storage, batch: int, subtask: int) -> list[Any]:
        self.attempts += 1
        attempt = f"try{self.attempts}"
        context = WriterContext(subtask, SUBTASKS, attempt, "job", "sink", batch, ROW)
        writer = FileWriter(
            storage,
            context,
            self.writers(),
            BucketAssigner.of(lambda r: "even" if r[1] % 2 == 0 else ""),
            RollingPolicy.default_rolling_policy(self.setup.part_size),
        )
        records = [(batch, n) for n in range(self.batches[batch]) if n % 4 // 2 == subtask]
        for start in range(0, len(records), 2):
            writer.write(records[start : start + 2], None)
        return writer.prepare_commit()

    def writers(self) -> JsonLines | ParquetWriters:
        return ParquetWriters() if self.setup.parquet else JsonLines()

    def expected(self) -> Counter[tuple[int, int]]:
        return Counter((b, n) for b, count in enumerate(self.batches) for n in range(count))

    def visible(self) -> Counter[tuple[int, int]]:
        """What a reader finds that skips hidden folders, as Spark, pyarrow and Flink do."""
        return Counter(
            (row["batch"], row["n"])
            for file in visible_files(self.root)
            for row in (read_parquet(file) if self.setup.parquet else read_json(file))
        )


def visible_files(root: Path) -> Iterator[Path]:
    for file in sorted(root.rglob("*")):
        hidden = any(part[0] in "_." for part in file.relative_to(root).parts)
        if file.is_file() and not hidden:
            yield file


def read_json(file: Path) -> list[dict[str, int]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def read_parquet(file: Path) -> list[dict[str, int]]:
    table: list[dict[str, int]] = pq.read_table(file).to_pylist()
    return table


def assert_nothing_is_left_over(root: Path) -> None:
    for file in visible_files(root):
        assert (file.parent / "_SUCCESS").exists()
    hidden = root / LAYOUT.folder
    left = [f for name in ("staging", "pending", "merging") for f in (hidden / name).glob("*")]
    assert left == []
    names = sorted(file.name for file in hidden.iterdir() if file.is_file())
    assert len(names) <= MANIFESTS_KEPT + 1
    assert any(name.startswith("batch-") for name in names)


SETUPS = {
    "json": Setup(),
    "json, object store": Setup(copy_moves=True),
    "compact by count": Setup(compaction=CompactionRules(commits_threshold=2)),
    "compact by size": Setup(compaction=CompactionRules(size_threshold=150), copy_moves=True),
    "compact at the end": Setup(compaction=CompactionRules(size_threshold=1 << 30)),
    "parts over epochs": Setup(rolling=RollingRules(10_000, 20_000, 20_000)),
    "parts over epochs, object store": Setup(
        rolling=RollingRules(200, 15_000, 60_000), copy_moves=True
    ),
    "parts over epochs, folded": Setup(rolling=RollingRules(10_000, 1_000_000, 1_000_000)),
    "parquet parts over epochs": Setup(
        parquet=True, part_size=1 << 20, rolling=RollingRules(1 << 20, 15_000, 60_000)
    ),
    "compact parquet": Setup(
        parquet=True, part_size=1 << 20, compaction=CompactionRules(commits_threshold=2)
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _fold_few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "FOLDED_AT_ONCE", 2)
        yield


@contextlib.contextmanager
def fast_folder() -> Iterator[Path]:
    """A folder in memory where there is such a thing: thousands of small files are written."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def fast_path() -> Iterator[Path]:
    with fast_folder() as folder:
        yield folder


def run_with_crashes(job: Job, crashes: list[tuple[int, bool]]) -> None:
    """Lets the job die once for each crash, then lets it finish, checking readers in between."""
    for crash_at, before in crashes:
        handler = CrashingHandler(crash_at=crash_at, before=before, copy_moves=job.setup.copy_moves)
        try:
            job.run(handler)
        except ConnectorError:
            seen = job.visible()
            assert max(seen.values(), default=1) == 1, "a reader saw a record twice"
    job.run(CrashingHandler(copy_moves=job.setup.copy_moves))
    assert job.visible() == job.expected()
    assert_nothing_is_left_over(job.root)


@pytest.mark.parametrize("name", SETUPS)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_crash_at_every_single_operation(name: str, before: bool, fast_path: Path) -> None:
    setup = SETUPS[name]
    batches = [3, 0, 4]
    probe = CrashingHandler(copy_moves=setup.copy_moves)
    Job(fast_path / "probe", setup, batches).run(probe)
    assert probe.operations > 40
    for crash_at in range(probe.operations):
        root = fast_path / str(crash_at)
        run_with_crashes(Job(root, setup, batches), [(crash_at, before)])
        shutil.rmtree(root)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(SETUPS)),
    batches=st.lists(st.integers(0, 12), min_size=1, max_size=5),
    crashes=st.lists(st.tuples(st.integers(0, 120), st.booleans()), max_size=6),
)
def test_any_series_of_crashes(
    name: str, batches: list[int], crashes: list[tuple[int, bool]]
) -> None:
    with fast_folder() as root:
        run_with_crashes(Job(root, SETUPS[name], batches), crashes)


def test_a_retry_with_other_content_keeps_the_first_decision(tmp_path: Path) -> None:
    job = Job(tmp_path, Setup(), [6])
    storage = Storage(pafs.LocalFileSystem(), str(tmp_path))
    first = [c for subtask in range(2) for c in job.write(storage, 0, subtask)]
    job.committer(storage).commit(0, first)
    before = {file: file.read_bytes() for file in visible_files(tmp_path)}
    job.batches = [9]
    retry = [c for subtask in range(2) for c in job.write(storage, 0, subtask)]
    job.committer(storage).commit(0, retry)
    assert {file: file.read_bytes() for file in visible_files(tmp_path)} == before
    assert_nothing_is_left_over(tmp_path)


@pytest.mark.parametrize("name", ["json", "compact by count", "compact at the end"])
def test_a_restart_does_not_bring_back_files_that_a_reader_took_away(
    name: str, tmp_path: Path
) -> None:
    job = Job(tmp_path, SETUPS[name], [6, 6])
    job.run(CrashingHandler())
    for file in list(visible_files(tmp_path)):
        file.unlink()
    job.done = 1  # the newest batch is repeated
    job.run(CrashingHandler())
    assert list(visible_files(tmp_path)) == []


def test_a_checkpoint_that_went_back_in_time_is_told(tmp_path: Path) -> None:
    job = Job(tmp_path, Setup(), [4, 4, 4])
    job.run(CrashingHandler())
    job.done = 0
    with pytest.raises(StateError, match="batch 0 is older than batch 2"):
        job.run(CrashingHandler())
    assert job.visible() == job.expected()


def test_two_jobs_in_one_folder_keep_apart(tmp_path: Path) -> None:
    job = Job(tmp_path, Setup(), [4])
    job.run(CrashingHandler())
    storage = Storage(pafs.LocalFileSystem(), str(tmp_path))
    other = SinkPlaces("another job", "sink")
    context = WriterContext(0, 1, "a", "another job", "sink", 0, ROW)
    writer = FileWriter(
        storage,
        context,
        JsonLines(),
        BucketAssigner.base_path_bucket_assigner(),
        RollingPolicy.on_checkpoint_rolling_policy(),
    )
    writer.write([(0, 99)], None)
    FileCommitter(storage, CommitPlanner(other)).commit(0, writer.prepare_commit())
    assert job.visible() == job.expected() + Counter({(0, 99): 1})


def test_manifests_do_not_pile_up(tmp_path: Path) -> None:
    job = Job(tmp_path, Setup(), [1] * 20)
    job.run(CrashingHandler())
    kept = sorted(file.name for file in (tmp_path / LAYOUT.folder).glob("*.json"))
    assert len(kept) == MANIFESTS_KEPT
    assert kept[-1] == "batch-0000000019.json"


def test_the_driver_refuses_files_it_cannot_see(tmp_path: Path) -> None:
    job = Job(tmp_path, Setup(), [4])
    storage = Storage(pafs.LocalFileSystem(), str(tmp_path))
    staged = job.write(storage, 0, 0)
    (tmp_path / staged[0].staged).unlink()
    with pytest.raises(ConnectorError, match="seen from the driver it is missing"):
        job.committer(storage).commit(0, staged)


def test_merges_may_run_in_threads(tmp_path: Path) -> None:
    setup = Setup(compaction=CompactionRules(commits_threshold=2), merge_threads=3)
    job = Job(tmp_path, setup, [9, 9, 9, 9])
    job.run(CrashingHandler())
    assert job.visible() == job.expected()
    assert all(file.name.startswith("compacted-") for file in visible_files(tmp_path))
    assert len(list(visible_files(tmp_path))) == 4  # two merges in each of two buckets


# --- two drivers of one job ----------------------------------------------------------------------


def test_a_driver_that_has_lost_the_job_decides_nothing_when_it_closes(tmp_path: Path) -> None:
    job = Job(tmp_path, Setup(compaction=CompactionRules(commits_threshold=3)), [1, 1, 1])
    storage = Storage(pafs.LocalFileSystem(), str(tmp_path))
    suspended, successor = job.committer(storage), job.committer(storage)
    for batch in (0, 1):
        suspended.commit(batch, job.write(storage, batch, 0))
    successor.commit(1, [])  # it was committed: the successor reads what is decided
    suspended.close()
    assert job.visible() == Counter()
    successor.commit(2, job.write(storage, 2, 0))
    assert job.visible() == job.expected()
    assert_nothing_is_left_over(tmp_path)


def test_what_another_driver_has_published_meanwhile_is_not_merged_again(tmp_path: Path) -> None:
    """It had the right when it looked, and was suspended before it acted."""
    job = Job(tmp_path, Setup(compaction=CompactionRules(commits_threshold=3)), [1, 1, 1])
    storage = Storage(pafs.LocalFileSystem(), str(tmp_path))
    suspended, successor = job.committer(storage), job.committer(storage)
    for batch in (0, 1):
        suspended.commit(batch, job.write(storage, batch, 0))
    successor.commit(1, [])
    suspended.end_of_input()
    successor.commit(2, job.write(storage, 2, 0))
    successor.end_of_input()
    assert job.visible() == job.expected()
    assert_nothing_is_left_over(tmp_path)
