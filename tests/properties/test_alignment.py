"""Whatever the splits hold, alignment reads all of it, and nobody runs further ahead than allowed.

Sources are bounded and plan one after the other, as hosts ask them; a round is an epoch.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from headrace.hosts.admission import initial_position, latest_position
from headrace.hosts.alignment import Board, SplitGate
from headrace.spi.host import AlignedSplit
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of every split the steps in event time from record to record; one may stand still, or leap.
STEPS = st.lists(st.sampled_from([0, 1, 3, 10, 1000]), max_size=25)
SOURCES = st.lists(st.lists(STEPS, min_size=1, max_size=3), min_size=1, max_size=3)


class Steps(PythonSource):
    def __init__(self, splits: list[list[int]]) -> None:
        self.times = {str(n): list(accumulate(steps)) for n, steps in enumerate(splits)}

    def splits(self) -> list[str]:
        return list(self.times)

    def latest_offset(self, split: str, start: int) -> int:
        return len(self.times[split])

    def read(self, split: str, start: int, end: int) -> Iterator[int]:
        return iter(self.times[split][start:end])

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


class Epochs:
    """Sources read side by side until nothing comes any more."""

    def __init__(self, sources: list[list[list[int]]], drift: int, limit: int) -> None:
        self.drift, self.limit = drift, limit
        self.board = Board(lambda: 0)
        self.sources = [Steps(splits) for splits in sources]
        self.gates = [SplitGate(self.board, s, f"s{n}") for n, s in enumerate(self.sources)]
        self.positions = [initial_position(source) for source in self.sources]

    def run(self) -> dict[str, list[int]]:
        """Plan all sources, then read: the times that came of each split."""
        read: dict[str, list[int]] = {}
        for number, (source, gate) in enumerate(zip(self.sources, self.gates, strict=True)):
            start = self.positions[number]
            end = gate.next_position(start, latest_position(source, start), self.limit)
            for split in end:
                if times := list(source.read(split, start[split], end[split])):
                    read[f"s{number}/{split}"] = times
            self.positions[number] = end
        reached = {name: AlignedSplit(max(t), self.drift, None) for name, t in read.items()}
        self.board.note({"group": reached} if reached else {})
        return read

    def unread(self) -> set[str]:
        """Splits that have records left."""
        return {
            f"s{number}/{split}"
            for number, source in enumerate(self.sources)
            for split, times in source.times.items()
            if self.positions[number][split] < len(times)
        }

    def marks(self) -> dict[str, int]:
        """How far each split is that was ever read."""
        marks = self.board.marks().get("group", {})
        return {name: mark.watermark for name, mark in marks.items()}


@given(SOURCES, st.sampled_from([0, 1, 5, 100]), st.integers(1, 8))
def test_everything_is_read_and_whoever_is_read_was_not_too_far_ahead(
    sources: list[list[list[int]]], drift: int, limit: int
) -> None:
    epochs = Epochs(sources, drift, limit)
    while epochs.unread():
        before = epochs.marks()
        read = epochs.run()
        assert read, "records wait, and nobody reads"
        # a split that ends in an epoch is not waited for by sources that plan it later
        waited_for = [before[name] for name in epochs.unread() & before.keys()]
        for name in read.keys() & before.keys():
            assert before[name] - min(waited_for, default=before[name]) <= drift
    assert epochs.run() == {}
