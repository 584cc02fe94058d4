"""Cutting batches: nothing lost, nothing beyond the limit, nobody starved."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.generator.number_seq import NumberSequenceSource
from headrace.hosts.admission import cut_range, next_offsets, share_fairly

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
