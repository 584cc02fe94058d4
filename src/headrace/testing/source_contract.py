"""What every source written in Python promises, as tests that pytest runs for any such source.

In: a subclass that says how to make the source and which records it has.  Out: a test for each
promise of spi/python_source.py.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import cloudpickle

from headrace.data.codec import codec_for
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.spi.python_source import PythonSource

__all__ = ["SourceContract"]

Range = tuple[str, int, int]


class SourceContract(ABC):
    """Tests of a source: subclass it in a test file, name the class ``Test...``, and run pytest.

    Example:
        >>> from headrace.datastream.connectors.number_seq import NumberSequenceSource
        >>> class TestNumbers(SourceContract):                            # doctest: +SKIP
        ...     def make_source(self):
        ...         return NumberSequenceSource(1, 9)
        ...
        ...     def expected(self):
        ...         return list(range(1, 10))
    """

    # --- what a subclass says ----------------------------------------------------------------

    @abstractmethod
    def make_source(self) -> PythonSource:
        """A source whose records are there already; each call describes the same one."""

    @abstractmethod
    def expected(self) -> list[Any]:
        """Its records, split by split, each in order."""

    def bad_sources(self) -> list[Callable[[], Any]]:
        """Calls that must be refused: wrong arguments, input that cannot be read."""
        return []

    # --- the promises ------------------------------------------------------------------------

    def test_the_description_travels(self) -> None:
        """A source is pickled before the job starts, and again for the tasks of every batch."""
        with _opened(_copy(self.make_source())) as source:
            _copy(source)
            found = _read_all(_worker(source), _ranges(source))
            self._expect(found, "a copy that was made after `open`")

    def test_a_range_gives_the_same_records_every_time(self) -> None:
        """After a failure a batch is read again, maybe in another process."""
        with _opened(self.make_source()) as source:
            ranges = _ranges(source)
            once, again = (_read_all(_worker(source), ranges) for _ in range(2))
            self._expect(once, "all ranges")
            assert again == once, f"the same ranges gave {again} after {once}"

    def test_batches_may_be_cut_anywhere(self) -> None:
        """The size of a batch, and so the number of records of a task, is not the source's."""
        with _opened(self.make_source()) as source:
            for size in (1, 2, 3, 7):
                ranges = [piece for r in _ranges(source) for piece in _pieces(r, size)]
                self._expect(_read_all(_worker(source), ranges), f"{size} offsets a batch")

    def test_an_empty_range_has_no_records(self) -> None:
        """A split that has nothing new may still be part of a batch."""
        with _opened(self.make_source()) as source:
            for split, start, end in _ranges(source):
                for offset in {start, end}:
                    found = _read(_worker(source), split, offset, offset)
                    assert found == [], f"[{offset}, {offset}) of {split!r} has {found}"

    def test_a_restart_goes_on_from_any_offset(self) -> None:
        """A new driver knows nothing but the offsets of the checkpoint."""
        with _opened(self.make_source()) as source:
            ranges = _ranges(source)
            middle: dict[str, Any] = {split: (start + end) // 2 for split, start, end in ranges}
            before = {s: _read(_worker(source), s, start, middle[s]) for s, start, _ in ranges}
            source.commit(middle)
        with _opened(self.make_source()) as restored:
            assert set(middle) <= set(restored.splits()), "splits keep their names"
            found: list[Any] = []
            for split in restored.splits():
                start: Any = middle.get(split, restored.initial_offset(split))
                end = restored.latest_offset(split, start)
                found += [*before.get(split, []), *_read(_worker(restored), split, start, end)]
        self._expect(found, "a run that stopped in the middle, and the run after it")

    def test_offsets_only_grow(self) -> None:
        """`latest_offset` is asked before every batch, and never waits."""
        with _opened(self.make_source()) as source:
            for split, start, end in _ranges(source):
                again = source.latest_offset(split, start)
                assert start <= end <= again, f"{split!r}: from {start} to {end}, then {again}"
                assert source.latest_offset(split, end) >= end

    def test_a_bounded_source_ends(self) -> None:
        """Otherwise a job that reads it would never finish."""
        with _opened(self.make_source()) as source:
            if source.is_bounded():
                ends = {split: end for split, _, end in _ranges(source)}
                assert source.is_exhausted(ends), f"read up to {ends} and not exhausted"

    def test_bad_input_is_told(self) -> None:
        """A refusal says what, where and how to fix it."""
        for make in self.bad_sources():
            try:
                made = make()
            except HeadraceError as error:
                assert error.message
                assert error.fix, f"refused, but without a fix: {error}"
            else:
                raise AssertionError(f"{made!r} was taken")

    # --- shared ------------------------------------------------------------------------------

    def _expect(self, found: list[Any], why: str) -> None:
        expected = self.expected()
        assert found == expected, f"{why}: {expected} expected, {found} found"


@contextmanager
def _opened(source: PythonSource) -> Iterator[PythonSource]:
    source.open()
    try:
        yield source
    finally:
        source.close()


def _copy(source: PythonSource) -> PythonSource:
    copied: PythonSource = pickle.loads(cloudpickle.dumps(source))
    return copied


def _worker(source: PythonSource) -> PythonSource:
    """The object that reads: a copy in a worker, unless the source reads on the driver."""
    return source if source.reads_on_driver else _copy(source)


def _ranges(source: PythonSource) -> list[Range]:
    """Everything that can be read now."""
    found = []
    for split in source.splits():
        start = source.initial_offset(split)
        found.append((split, start, source.latest_offset(split, start)))
    return found


def _pieces(whole: Range, size: int) -> list[Range]:
    split, start, end = whole
    return [(split, at, min(at + size, end)) for at in range(start, end, size)]


def _read_all(source: PythonSource, ranges: list[Range]) -> list[Any]:
    return [record for split, start, end in ranges for record in _read(source, split, start, end)]


def _read(source: PythonSource, split: str, start: int, end: int) -> list[Any]:
    """The records of a range, from columns where the source has them."""
    columns = source.read_columns(split, start, end)
    if columns is None:
        return list(source.read(split, start, end))
    codec = codec_for(source.produced_type())
    return [record for batch in columns for record in codec.decode(batch)]
