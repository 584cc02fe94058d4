"""The connector kit finds what is wrong with a sink, and has nothing to say about a right one."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from headrace.datastream.connectors.sink import (
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.errors import StateError, TypeMismatchError
from headrace.spi.python_source import PythonSource
from headrace.testing.connectors import SinkContract, SinkDriver, SourceContract

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Words(Sink):
    """Numbers in SQLite, exactly once: staged in files, with the batch id in one transaction."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return StageInFile(self.folder, context)

    def create_committer(self, context: CommitterContext) -> Committer:
        return InsertOnce(self.folder, context)


class StageInFile(SinkWriter):
    def __init__(self, folder: Path, context: WriterContext) -> None:
        name = f"{context.job_id}.{context.sink_uid}.{context.batch_id}.{context.attempt}"
        self.file = folder / f"{name}.{context.subtask_index}.staged"
        self.numbers: list[int] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        for value in values:
            if not isinstance(value, int):
                raise self.refusal(value)
        self.numbers += values

    def refusal(self, value: Any) -> Exception:
        return TypeMismatchError(
            f"{value!r} is no number", where="table numbers", fix="map the records to int"
        )

    def prepare_commit(self) -> list[Any]:
        self.file.write_text("".join(f"{n}\n" for n in self.numbers))
        return [self.file]

    def abort(self) -> None:
        self.file.unlink(missing_ok=True)


class InsertOnce(Committer):
    def __init__(self, folder: Path, context: CommitterContext) -> None:
        self.folder = folder
        self.sink = (context.job_id, context.sink_uid)
        self.db = sqlite3.connect(folder / "numbers.db", check_same_thread=False)
        with self.db:
            self.db.execute("CREATE TABLE IF NOT EXISTS numbers (n)")
            self.db.execute("CREATE TABLE IF NOT EXISTS done (job, sink, batch)")

    def commit(self, batch_id: int, committables: list[Path]) -> None:
        with self.db:
            newest = self.newest()
            if newest > batch_id:
                raise self.gone_back(batch_id, newest)
            if newest < batch_id:
                self.note(batch_id)
                self.insert(committables)
        self.sweep(batch_id)

    def newest(self) -> int:
        query = "SELECT COALESCE(MAX(batch), -1) FROM done WHERE job = ? AND sink = ?"
        return int(self.db.execute(query, self.sink).fetchone()[0])

    def gone_back(self, batch_id: int, newest: int) -> Exception:
        return StateError(
            f"batch {batch_id} comes after {newest}", where="table done", fix="start anew"
        )

    def note(self, batch_id: int) -> None:
        self.db.execute("INSERT INTO done VALUES (?, ?, ?)", [*self.sink, batch_id])

    def insert(self, files: list[Path]) -> None:
        rows = [[int(line)] for file in files for line in file.read_text().splitlines()]
        self.db.executemany("INSERT INTO numbers VALUES (?)", rows)

    def sweep(self, batch_id: int) -> None:
        for file in self.folder.glob(f"{self.sink[0]}.{self.sink[1]}.*.staged"):
            if int(file.name.split(".")[2]) <= batch_id:
                file.unlink()

    def close(self) -> None:
        self.db.close()


class WordsContract(SinkContract):
    kills = 100

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path

    def make_sink(self) -> Sink:
        return Words(self.path)

    def stored(self) -> list[int]:
        if not (self.path / "numbers.db").exists():
            return []
        with closing(sqlite3.connect(self.path / "numbers.db")) as db:
            return [n for (n,) in db.execute("SELECT n FROM numbers")]

    def bad_records(self) -> list[Any]:
        return ["four"]

    def leftovers(self, job: SinkDriver) -> list[str]:
        return [file.name for file in self.path.glob(f"{job.job_id}.*.staged")]


class TestARightSink(WordsContract):
    """Defined in a test file, and exactly once."""


# What may be wrong with a sink, and the promise that it breaks.


class NeverNotes(InsertOnce):
    def note(self, batch_id: int) -> None:
        pass


class NotesInAnotherTransaction(InsertOnce):
    def insert(self, files: list[Path]) -> None:
        self.db.commit()
        super().insert(files)


class NotesTooLate(InsertOnce):
    def note(self, batch_id: int) -> None:
        pass

    def insert(self, files: list[Path]) -> None:
        super().insert(files)
        self.db.commit()
        with self.db:
            super().note(max(int(file.name.split(".")[2]) for file in files) if files else 0)


class ForgetsJobs(InsertOnce):
    def newest(self) -> int:
        return int(self.db.execute("SELECT COALESCE(MAX(batch), -1) FROM done").fetchone()[0])


class RemembersInMemoryOnly(InsertOnce):
    remembered = -1

    def newest(self) -> int:
        return self.remembered

    def note(self, batch_id: int) -> None:
        self.remembered = batch_id


class DropsWhatIsOlder(InsertOnce):
    def commit(self, batch_id: int, committables: list[Path]) -> None:
        if batch_id >= self.newest():
            super().commit(batch_id, committables)


class NeverSweeps(InsertOnce):
    def sweep(self, batch_id: int) -> None:
        pass


class SweepsOnlyItsOwn(InsertOnce):
    def commit(self, batch_id: int, committables: list[Path]) -> None:
        super().commit(batch_id, committables)
        for file in committables:
            file.unlink(missing_ok=True)

    def sweep(self, batch_id: int) -> None:
        pass


class OneFileForAllSubtasks(StageInFile):
    def __init__(self, folder: Path, context: WriterContext) -> None:
        super().__init__(folder, context)
        self.file = folder / f"{context.job_id}.{context.sink_uid}.{context.batch_id}.0.staged"


class WritesAtOnce(StageInFile):
    def prepare_commit(self) -> list[Any]:
        with closing(sqlite3.connect(self.file.parent / "numbers.db")) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS numbers (n)")
            db.executemany("INSERT INTO numbers VALUES (?)", [[n] for n in self.numbers])
        return []


class RefusesWithoutAFix(StageInFile):
    def refusal(self, value: Any) -> Exception:
        return TypeMismatchError(f"{value!r} is no number", where="table numbers")


class TakesAnything(StageInFile):
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.numbers += [value for value in values if isinstance(value, int)]


class DropsAbortedTwice(StageInFile):
    def abort(self) -> None:
        self.file.unlink()


BROKEN = [
    (NeverNotes, "test_a_batch_that_comes_twice_changes_nothing"),
    (NeverNotes, "test_a_crash_after_the_commit"),
    (NotesInAnotherTransaction, "test_a_process_that_is_killed_in_its_commit"),
    (NotesTooLate, "test_a_process_that_is_killed_in_its_commit"),
    (ForgetsJobs, "test_jobs_and_sinks_keep_apart"),
    (RemembersInMemoryOnly, "test_a_batch_that_comes_twice_changes_nothing"),
    (DropsWhatIsOlder, "test_a_batch_older_than_the_newest_is_refused"),
    (NeverSweeps, "test_what_dead_attempts_staged_is_swept"),
    (NeverSweeps, "test_a_crash_before_the_commit"),
    (SweepsOnlyItsOwn, "test_what_dead_attempts_staged_is_swept"),
    (OneFileForAllSubtasks, "test_another_number_of_writers"),
    (WritesAtOnce, "test_a_batch_is_visible_as_a_whole_and_not_before_its_commit"),
    (RefusesWithoutAFix, "test_bad_records_are_told_and_nothing_is_lost"),
    (TakesAnything, "test_bad_records_are_told_and_nothing_is_lost"),
    (DropsAbortedTwice, "test_an_attempt_that_is_aborted_leaves_nothing"),
]


@pytest.mark.parametrize(("fault", "promise"), BROKEN)
def test_a_broken_sink_is_found(fault: Any, promise: str, tmp_path: Path) -> None:
    class Broken(Words):
        def create_writer(self, context: WriterContext) -> SinkWriter:
            make = fault if issubclass(fault, SinkWriter) else StageInFile
            return make(self.folder, context)

        def create_committer(self, context: CommitterContext) -> Committer:
            make = fault if issubclass(fault, Committer) else InsertOnce
            return make(self.folder, context)

    class Contract(WordsContract):
        def make_sink(self) -> Sink:
            return Broken(self.path)

    suite = Contract()
    suite.path = tmp_path
    with pytest.raises((AssertionError, FileNotFoundError, StateError)):
        getattr(suite, promise)()


def test_a_sink_that_cannot_travel_is_found(tmp_path: Path) -> None:
    class Contract(WordsContract):
        def make_sink(self) -> Sink:
            sink = Words(self.path)
            sink.lock = threading.Lock()  # type: ignore[attr-defined]
            return sink

    suite = Contract()
    suite.path = tmp_path
    with pytest.raises(TypeError, match="pickle"):
        suite.test_the_description_travels()


def test_a_commit_that_fails_by_itself_is_told(tmp_path: Path) -> None:
    class LosesFile(StageInFile):
        def prepare_commit(self) -> list[Any]:
            return [self.file]

    class Lossy(Words):
        def create_writer(self, context: WriterContext) -> SinkWriter:
            return LosesFile(self.folder, context)

    job = SinkDriver(Lossy(tmp_path))
    with pytest.raises(AssertionError, match="failed by itself: FileNotFoundError"):
        job.run_and_die(0, [1], after_lines=1 << 60)


# sources


class Squares(PythonSource):
    """Two splits of squares."""

    def splits(self) -> list[str]:
        return ["even", "odd"]

    def latest_offset(self, split: str, start: int) -> int:
        return 5

    def read(self, split: str, start: int, end: int) -> Iterator[int]:
        first = 0 if split == "even" else 1
        return ((2 * n + first) ** 2 for n in range(start, end))


class SquaresContract(SourceContract):
    source: type[PythonSource] = Squares

    def make_source(self) -> PythonSource:
        return self.source()

    def expected(self) -> list[Any]:
        return [n * n for first in (0, 1) for n in range(first, 10, 2)]


class TestARightSource(SquaresContract):
    """Defined in a test file."""


class ReadsOnce(Squares):
    reads_on_driver = True

    def __init__(self) -> None:
        self.read_before: set[tuple[str, int]] = set()

    def read(self, split: str, start: int, end: int) -> Iterator[int]:
        if (split, start) not in self.read_before:
            self.read_before.add((split, start))
            yield from super().read(split, start, end)


class ReadsFromTheStart(Squares):
    def read(self, split: str, start: int, end: int) -> Iterator[int]:
        return super().read(split, 0, end - start)


class ReadsTooFar(Squares):
    def read(self, split: str, start: int, end: int) -> Iterator[int]:
        return super().read(split, start, max(end, start + 1))


class GoesBack(Squares):
    def latest_offset(self, split: str, start: int) -> int:
        return 5 - start


@pytest.mark.parametrize(
    ("source", "promise"),
    [
        (ReadsOnce, "test_a_range_gives_the_same_records_every_time"),
        (ReadsFromTheStart, "test_batches_may_be_cut_anywhere"),
        (ReadsFromTheStart, "test_a_restart_goes_on_from_any_offset"),
        (ReadsTooFar, "test_an_empty_range_has_no_records"),
        (GoesBack, "test_offsets_only_grow"),
    ],
)
def test_a_broken_source_is_found(source: type[PythonSource], promise: str) -> None:
    suite = SquaresContract()
    suite.source = source
    with pytest.raises(AssertionError):
        getattr(suite, promise)()
