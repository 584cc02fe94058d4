"""Cutting batches: nothing lost, nothing beyond the limit, nobody starved."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.generator.number_seq import NumberSequenceSource
from headrace.datastream.connectors.python_source import PythonSource
from headrace.errors import ConnectorError
from headrace.hosts.admission import (
    cut_range,
    initial_position,
    latest_position,
    next_offsets,
    next_position,
    share_fairly,
    spread_evenly,
    stored_offset,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNTED = NumberSequenceSource(0, 0)  # its offsets are whole numbers
WAITING = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 1000), max_size=6)


@given(WAITING, st.integers(0, 3000), st.integers(0, 10))
def test_shares_use_the_limit_and_no_more_than_there_is(
    waiting: dict[str, int], limit: int, turn: int
) -> None:
    taken = share_fairly(waiting, limit, turn=turn)
    assert taken.keys() == waiting.keys()
    assert all(0 <= taken[name] <= waiting[name] for name in waiting)
    assert sum(taken.values()) == min(limit, sum(waiting.values()))


def test_what_a_small_split_does_not_need_goes_to_the_others() -> None:
    assert share_fairly({"a": 10, "b": 1000, "c": 1000}, 100) == {"a": 10, "b": 45, "c": 45}


def test_a_limit_below_the_number_of_splits_feeds_all_of_them_in_turn() -> None:
    offsets, fed = dict.fromkeys("abc", 0), set()
    for _ in range(12):
        following = next_offsets(COUNTED, offsets, dict.fromkeys("abc", 100), 1)
        fed |= {split for split in offsets if following[split] > offsets[split]}
        offsets = following
    assert fed == set("abc")


def test_offsets_come_in_sorted_order_because_spark_compares_text() -> None:
    assert list(next_offsets(COUNTED, {"b": 1, "a": 2}, {"a": 5}, None)) == ["a", "b"]
    assert next_offsets(COUNTED, {"b": 1, "a": 2}, {"a": 5}, None) == {"a": 5, "b": 1}


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(1, 9), st.integers(1, 1000))
def test_pieces_cover_the_range_in_order(start: int, count: int, pieces: int, least: int) -> None:
    cut = list(cut_range(start, start + count, pieces, at_least=least))
    assert cut[0][0] == start
    assert cut[-1][1] == start + count
    assert all(one[1] == two[0] for one, two in pairwise(cut))
    assert len(cut) == 1 or all(high - low >= least for low, high in cut)


# --- offsets that are no numbers -----------------------------------------------------------------


class Shards(PythonSource):
    """Offsets are texts or whatever the test says; nothing is known about distances."""

    def __init__(self, latest: dict[str, Any]) -> None:
        self.latest = latest

    def splits(self) -> list[str]:
        return list(self.latest)

    def initial_offset(self, split: str) -> Any:
        return "TRIM_HORIZON"

    def latest_offset(self, split: str, start: Any) -> Any:
        return self.latest[split]

    def read(self, split: str, start: Any, end: Any) -> Iterator[Any]:
        yield from ()


def test_offsets_without_distances_are_taken_as_they_come() -> None:
    source = Shards({"b": "b7", "a": "a1"})
    start = initial_position(source)
    assert start == {"a": "TRIM_HORIZON", "b": "TRIM_HORIZON"}
    latest = latest_position(source, start)
    assert next_position(source, start, latest, 100) == {"a": "a1", "b": "b7"}
    assert next_position(source, start, latest, None) == {"a": "a1", "b": "b7"}
    assert next_position(source, latest, latest, 100) == latest


def test_a_limit_below_the_number_of_splits_feeds_all_shards_in_the_end() -> None:
    source, start = Shards({}), {"a": "0", "b": "0", "c": "0"}
    for number in range(1, 200):
        start = next_position(source, start, dict.fromkeys("abc", str(number)), 1)
    assert all(int(offset) > 100 for offset in start.values())


def test_a_new_split_is_known_before_it_is_read() -> None:
    source = Shards({"a": ["s1", 4], "new": ["s1", 2]})
    latest = latest_position(source, {"a": ["s1", 1]})
    following = next_position(source, {"a": ["s1", 1]}, latest, None)
    assert following == {"a": ["s1", 4], "new": "TRIM_HORIZON"}
    latest = latest_position(source, following)
    assert next_position(source, following, latest, None) == {"a": ["s1", 4], "new": ["s1", 2]}


def test_a_split_that_is_gone_keeps_its_place() -> None:
    source = Shards({"a": "a2"})
    start = {"a": "a1", "gone": "g5"}
    following = next_position(source, start, latest_position(source, start), 10)
    assert following == {"a": "a2", "gone": "g5"}


def test_an_offset_is_what_comes_back_from_a_checkpoint() -> None:
    offset = stored_offset(COUNTED, "0", {"line": (1, 2), "file": "x"})
    assert offset == {"file": "x", "line": [1, 2]}
    assert list(offset) == ["file", "line"]
    assert stored_offset(COUNTED, "0", 2**70) == 2**70


@pytest.mark.parametrize("offset", [object(), {1, 2}, float("nan"), b"bytes"])
def test_an_offset_that_cannot_be_stored_is_refused(offset: Any) -> None:
    with pytest.raises(ConnectorError, match=r"of split 'a' .* cannot be stored"):
        latest_position(Shards({"a": offset}), {"a": "x"})


def test_a_split_that_shrank_is_refused() -> None:
    class Shrunk(Shards):
        def records_between(self, split: str, start: Any, end: Any) -> int:
            return int(end[1:]) - int(start[1:])

    with pytest.raises(ConnectorError, match=r"ends at offset a3, .* already read up to a5"):
        latest_position(Shrunk({"a": "a3"}), {"a": "a5"})


def test_only_ranges_of_numbers_are_cut() -> None:
    assert list(cut_range("a", "b", 4, at_least=1)) == [("a", "b")]


def test_ranges_are_spread_so_that_tasks_have_the_same_to_do() -> None:
    sizes = [(50, "a"), (10, "b"), (40, "c"), (20, "d")]
    assert spread_evenly(sizes, 2) == [["a", "b"], ["c", "d"]]
    assert spread_evenly([(5, "a"), (5, "b"), (5, "c"), (5, "d")], 2) == [["a", "c"], ["b", "d"]]
    assert spread_evenly([(5, "a")], 4) == [["a"]]
    assert spread_evenly([], 4) == []
