"""BATCH mode's sorting: every record once, keys whole, times in order, in memory and on disk."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Types
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.runtime import sorted_inputs
from headrace.runtime.key_selectors import Keying
from headrace.runtime.sorted_inputs import SortedInputs

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def operator(*keyings: Keying | None) -> Any:
    return SimpleNamespace(
        runtime=SimpleNamespace(keyings=keyings),
        held_inputs=lambda: frozenset(range(len(keyings) or 1)),
        keys=lambda records, number: keyings[number].keys(records),  # type: ignore[union-attr]
    )


def first(record: Any) -> Any:
    return record[0]


def groups(held: SortedInputs) -> list[tuple[list[tuple[int, Any, int | None]], bool]]:
    return [
        (
            [(number, *pair) for number, records in group for pair in records.pairs()],
            complete,
        )
        for group, complete in held.groups()
    ]


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_inputs, "GROUP_RECORDS", 5)


records_of_inputs = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9)), min_size=1, max_size=8),
    ),
    max_size=12,
)


@given(records_of_inputs, st.sampled_from([1, 200, 1 << 30]), st.booleans())
def test_groups_hold_every_record_once_with_keys_whole_and_times_in_order(
    parts: list[tuple[int, list[tuple[str, int]]]], memory: int, typed: bool
) -> None:
    held = SortedInputs(operator(Keying(first), Keying(first)), memory)
    codec = codec_for(PAIR)
    given_in: list[tuple[int, Any, int]] = []
    for number, pairs in parts:
        times = [time for _, time in pairs]
        values = [(key, len(given_in) + place) for place, (key, _) in enumerate(pairs)]
        records = Records(values, times)
        if typed:
            records = Records(timestamps=times, batch=codec.encode(values), codec=codec)
        held.add(number, records, 100)
        given_in += [(number, v, t) for v, t in zip(values, times, strict=True)]

    found = groups(held)

    flat = [record for group, _ in found for record in group]
    assert sorted(flat) == sorted(given_in)
    done: set[str] = set()  # keys of groups that were complete
    open_keys: set[str] = set()
    for group, complete in found:
        keys = {value[0] for _, value, _ in group}
        assert not keys & done
        open_keys |= keys
        if complete:
            done |= open_keys
            open_keys = set()
    assert not open_keys
    for key in done:
        of_key = [(time, value[1]) for _, value, time in flat if value[0] == key]
        assert of_key == sorted(of_key)  # by time, then as they came


def test_a_key_with_very_many_records_comes_in_parts_and_is_complete_at_the_last() -> None:
    for memory in (1, 1 << 30):
        held = SortedInputs(operator(Keying(first)), memory)
        for number in range(40):
            held.add(0, Records([("k", number)]), 100)
        found = groups(held)
        assert len(found) > 2
        assert [complete for _, complete in found] == [False] * (len(found) - 1) + [True]
        assert [value[1] for group, _ in found for _, value, _ in group] == list(range(40))


@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_an_input_without_keys_keeps_the_order_of_arrival_and_its_timestamps(memory: int) -> None:
    held = SortedInputs(operator(), memory)
    given_in = [("x", 9), ("y", 3), ("z", 5)]
    for value, time in given_in:
        held.add(0, Records([value], [time]), 100)
    flat = [(value, time) for group, _ in groups(held) for _, value, time in group]
    assert flat == given_in


@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_records_without_timestamps_stay_without(memory: int) -> None:
    held = SortedInputs(operator(Keying(first)), memory)
    held.add(0, Records([("a", 1), ("b", 2)]), 100)
    held.add(0, Records([("a", 3)]), 100)
    assert {time for group, _ in groups(held) for _, _, time in group} == {None}


def test_nothing_in_is_nothing_out() -> None:
    assert groups(SortedInputs(operator(Keying(first)), 1)) == []
