"""What every exactly-once sink promises, as tests that pytest runs for any sink.

In: a subclass that says how to make the sink and how to read what it wrote.  Out: a test for each
promise of spi/sink.py.  Next: sink_driver.py (plays the engine)
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import cloudpickle

from headrace.errors import HeadraceError
from headrace.testing.sink_driver import SinkDriver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.common.typeinfo import TypeInformation
    from headrace.spi.sink import Sink

__all__ = ["SinkContract"]


class SinkContract(ABC):
    """Tests of a sink: subclass it in a test file, name the class ``Test...``, and run pytest.

    Records are numbers to this suite: `record` makes one of a number, `stored` tells which numbers
    a reader of the target finds. Every test asks for a new sink. Servers and folders come from
    pytest's fixtures, through a fixture of the class with ``autouse=True``.

    A promise that a sink does not make is left out by name, with the reason beside it:
    ``test_a_process_that_is_killed_in_its_commit = None``.

    Example:
        >>> from headrace.datastream.connectors.file_system import FileSink
        >>> class TestJsonFiles(SinkContract):                            # doctest: +SKIP
        ...     @pytest.fixture(autouse=True)
        ...     def folder(self, tmp_path):
        ...         self.path = tmp_path
        ...
        ...     def make_sink(self):
        ...         return FileSink.json(str(self.path))
        ...
        ...     def record(self, n):
        ...         return {"n": n}
        ...
        ...     def stored(self):
        ...         files = self.path.glob("part-*")
        ...         return [json.loads(line)["n"] for f in files for line in f.open()]
    """

    type_info: ClassVar[TypeInformation | None] = None
    """Declared type of the records."""

    kills: ClassVar[int] = 20
    """After how many of the lines that a commit runs the process is killed, evenly spread; a number
    above the lines of your committer tries every one of them."""

    # --- what a subclass says ----------------------------------------------------------------

    @abstractmethod
    def make_sink(self) -> Sink:
        """A sink to a target that is empty; called once a test."""

    @abstractmethod
    def stored(self) -> Sequence[int]:
        """The numbers of the records that a reader of the target finds now, in any order."""

    def record(self, n: int) -> Any:
        """The record of a number; the number itself, unless a subclass says otherwise."""
        return n

    def bad_records(self) -> list[Any]:
        """Records that the sink must refuse; none by default."""
        return []

    def checkpoint_dir(self) -> str | None:
        """Where committers may keep their progress (``state_dir``); None for jobs without."""
        return None

    def leftovers(self, job: SinkDriver) -> Sequence[str]:
        """What is staged for a job and not committed: names of files, tables, keys."""
        return []

    # --- the promises ------------------------------------------------------------------------

    def test_the_description_travels(self) -> None:
        """A sink is pickled before the job starts, and again while it runs."""
        sink = self.make_sink()
        job = self._job(pickle.loads(cloudpickle.dumps(sink)))
        job.run(0, self._records(0, 2))
        job.sink = pickle.loads(cloudpickle.dumps(job.sink))
        job.run(1, self._records(2, 4))
        self._expect(range(4), "a copied description writes what the original would")

    def test_a_batch_is_visible_as_a_whole_and_not_before_its_commit(self) -> None:
        """Writers stage, committers publish."""
        job = self._job()
        staged = job.stage(0, self._records(0, 5), self._records(5, 7))
        self._expect([], "what is staged is not visible")
        job.committer.commit(0, staged)
        self._expect(range(7), "the batch is visible after its commit")

    def test_a_batch_that_comes_twice_changes_nothing(self) -> None:
        """The first commit of a batch id decides; whatever comes later with it is dropped."""
        job = self._job()
        job.run(0, self._records(0, 3))
        staged = job.stage(1, self._records(3, 6))
        job.committer.commit(1, staged)
        job.committer.commit(1, staged)
        self._expect(range(6), "the same committables again")
        job.run(1, self._records(3, 6))
        self._expect(range(6), "the same records from another attempt")
        job.restart()
        job.run(1, self._records(3, 6))
        self._expect(range(6), "the same records after a restart")
        job.run(1, self._records(3, 9))
        self._expect(range(6), "other records under the same batch id")
        job.run(2, self._records(6, 8))
        self._expect(range(8), "the next batch is written")
        self._expect_clean(job)

    def test_a_crash_before_the_commit(self) -> None:
        """Staged, and then the driver died: the batch comes again from other attempts."""
        job = self._job()
        job.run(0, self._records(0, 2))
        job.stage(1, self._records(2, 5), self._records(5, 6))
        job.crash()
        job.run(1, self._records(2, 5), self._records(5, 6))
        self._expect(range(6), "a batch whose first attempts were lost")
        self._expect_clean(job)

    def test_a_process_that_is_killed_in_its_commit(self) -> None:
        """Whenever it dies, nothing is lost or there twice, and the retry completes the batch."""
        job = self._job()
        lines = job.run_and_die(0, *self._parts(0), after_lines=1 << 60)
        for batch, after in enumerate(_spread(lines, self.kills), start=1):
            parts = self._parts(batch)
            job.run_and_die(batch, *parts, after_lines=after)
            before, now = 6 * batch, sorted(self.stored())
            assert now == sorted(set(now)), f"killed after {after} lines, a record is there twice"
            assert set(range(before)) <= set(now), f"killed after {after} lines, records are gone"
            job.run(batch, *parts)
            self._expect(range(before + 6), f"killed after {after} lines, then tried again")
        self._expect_clean(job)

    def test_a_batch_older_than_the_newest_is_refused(self) -> None:
        """Its checkpoint has gone back in time, and its records may be others: none are dropped."""
        job = self._job()
        for batch in range(3):
            job.run(batch, self._records(2 * batch, 2 * batch + 2))
        job.restart()
        with _told("a batch older than the newest"):
            job.run(1, self._records(7, 9))
        job.restart()
        job.run(3, self._records(6, 7))
        self._expect(range(7), "what was there, and the next batch")

    def test_a_crash_after_the_commit(self) -> None:
        """Committed, and then the driver died before it could note it."""
        job = self._job()
        job.run(0, self._records(0, 4))
        job.crash()
        job.run(0, self._records(0, 4))
        job.run(1, self._records(4, 5))
        self._expect(range(5), "a batch that was committed by a driver that died")
        self._expect_clean(job)

    def test_an_attempt_that_is_aborted_leaves_nothing(self) -> None:
        """A subtask that fails takes its staged records along; aborting twice is harmless."""
        job = self._job()
        job.run(0, self._records(0, 2))
        writer = job.writer(1)
        writer.write(self._records(2, 9), None)
        writer.abort()
        writer.abort()
        job.writer(1).abort()
        self._expect(range(2), "an aborted attempt is not visible")
        job.run(1, self._records(2, 4))
        self._expect(range(4), "the attempt after it")
        self._expect_clean(job)

    def test_what_dead_attempts_staged_is_swept(self) -> None:
        """Attempts that nobody aborted: lost executors, speculation, a driver that died."""
        job = self._job()
        job.stage(0, self._records(0, 3))
        kept = job.stage(0, self._records(0, 3))
        job.stage(0, self._records(0, 3))
        job.committer.commit(0, kept)
        self._expect(range(3), "one attempt of three")
        self._expect_clean(job)
        job.stage(1, self._records(3, 4))
        job.crash()
        job.run(1, self._records(3, 4))
        self._expect(range(4), "the attempt of a new driver")
        self._expect_clean(job)

    def test_another_number_of_writers(self) -> None:
        """A job may be restored with more or fewer subtasks, also for the batch that it repeats."""
        job = self._job()
        job.run(0, self._records(0, 4))
        job.run(1, self._records(4, 6), [], self._records(6, 9))
        job.crash()
        job.run(1, self._records(4, 7), self._records(7, 9))
        self._expect(range(9), "a repeated batch with fewer writers")
        job.stage(2, self._records(9, 11), self._records(11, 12))
        job.crash()
        job.run(2, self._records(9, 10), *([n] for n in self._records(10, 12)), [])
        self._expect(range(12), "a staged batch that comes again from more writers")
        self._expect_clean(job)

    def test_batches_without_records(self) -> None:
        """Most batches of a quiet stream: no committables at all, or empty ones."""
        job = self._job()
        job.run(0, [], [])
        job.committer.commit(1, [])
        job.run(2, self._records(0, 1))
        job.committer.commit(3, [])
        job.run(3, self._records(1, 2))
        self._expect(range(1), "batch 3 was committed without records, so they come too late")

    def test_jobs_and_sinks_keep_apart(self) -> None:
        """Batch ids count for one sink of one job only."""
        job = self._job()
        job.run(0, self._records(0, 2))
        other_sink = self._job(job.sink, job_id=job.job_id, uid="other")
        other_sink.run(0, self._records(2, 3))
        other_job = self._job(job.sink)
        waiting = other_job.stage(0, self._records(3, 5))
        job.run(1, self._records(5, 6))
        other_job.committer.commit(0, waiting)
        self._expect(range(6), "batch 0 of three writers of one target")

    def test_bad_records_are_told_and_nothing_is_lost(self) -> None:
        """A refusal says what, where and how to fix it, and the batch can come again."""
        job = self._job()
        job.run(0, self._records(0, 2))
        for bad in self.bad_records():
            with _told(bad):
                job.run(1, self._records(2, 4), [*self._records(4, 5), bad])
            self._expect(range(2), f"nothing of a batch with {bad!r}")
            job.restart()
        job.run(1, self._records(2, 4), self._records(4, 5))
        self._expect(range(5), "the batch without its bad record")
        self._expect_clean(job)

    # --- shared ------------------------------------------------------------------------------

    def _job(
        self, sink: Sink | None = None, *, job_id: str | None = None, uid: str = "out"
    ) -> SinkDriver:
        job = SinkDriver(sink or self.make_sink(), job_id=job_id, uid=uid, type_info=self.type_info)
        folder = self.checkpoint_dir()
        if folder is not None:
            job.state_dir = f"{folder}/{job.job_id}/sinks/{uid}"
        return job

    def _records(self, start: int, end: int) -> list[Any]:
        return [self.record(n) for n in range(start, end)]

    def _parts(self, batch: int) -> tuple[list[Any], list[Any]]:
        """Six records of a batch, in two subtasks."""
        start = 6 * batch
        return self._records(start, start + 4), self._records(start + 4, start + 6)

    def _expect(self, numbers: Sequence[int], why: str) -> None:
        found = sorted(self.stored())
        assert found == list(numbers), f"{why}: {list(numbers)} expected, {found} found"

    def _expect_clean(self, job: SinkDriver) -> None:
        left = list(self.leftovers(job))
        assert not left, f"left behind after the commit: {left}"
        job.restart()


def _spread(lines: int, points: int) -> list[int]:
    """Moments of a commit, evenly; its first and its last line among them."""
    steps = max(1, points - 1)
    return sorted({1 + (lines - 1) * n // steps for n in range(points)})


@contextmanager
def _told(bad: Any) -> Iterator[None]:
    try:
        yield
    except HeadraceError as error:
        assert error.message, f"{bad!r} is refused without a message"
        assert error.where, f"{bad!r} is refused, but without a where: {error}"
        assert error.fix, f"{bad!r} is refused, but without a fix: {error}"
    else:
        raise AssertionError(f"{bad!r} was taken")
