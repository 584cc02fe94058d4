"""The valve: one clock from the watermarks of many channels (rules W8 to W10)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.watermarks import ALL_CHANNELS, InputClocks, Valve

NAMES = {0: "left", 1: "right"}
IDS = {"left": 0, "right": 1}


def test_a_slow_channel_that_was_idle_is_left_out_until_it_catches_up() -> None:
    valve = Valve({0: 2})  # V1.2
    assert valve.update(0, "A", 10) is None
    assert valve.update(0, "B", 5) == 5
    assert valve.set_idle(0, "B") == 10
    assert valve.update(0, "A", 12) == 12
    assert valve.update(0, "B", 11) is None
    assert valve.update(0, "B", 13) is None
    assert valve.update(0, "A", 20) == 13


def test_a_returned_channel_that_is_behind_does_not_hold_the_others() -> None:
    valve = Valve({0: 2})
    valve.update(0, "A", 10)
    valve.update(0, "B", 5)
    assert valve.set_idle(0, "B") == 10
    assert valve.update(0, "B", 6) is None  # active again, but behind the clock
    assert valve.update(0, "A", 12) == 12
    assert valve.update(0, "B", 14) is None  # caught up: it counts again
    assert valve.update(0, "A", 20) == 14


def test_when_all_channels_are_idle_the_highest_watermark_counts() -> None:
    valve = Valve({0: 2})  # V1.3
    valve.update(0, "A", 10)
    assert valve.update(0, "B", 5) == 5
    assert valve.set_idle(0, "A") is None
    assert valve.set_idle(0, "B") == 10


def test_the_clock_waits_for_every_expected_channel() -> None:
    valve = Valve({0: 3})
    assert valve.update(0, "0", 7) is None
    assert valve.update(0, "1", 9) is None
    assert valve.update(0, "2", 8) == 7


def test_the_clock_waits_for_every_edge() -> None:
    valve = Valve({0: 1, 1: 0})
    assert valve.update(0, "0", 7) is None
    assert valve.update(1, "split", 5) == 5


def test_a_watermark_of_a_channel_never_goes_back() -> None:
    valve = Valve({0: 1})
    assert valve.update(0, "0", 7) == 7
    assert valve.update(0, "0", 5) is None
    assert valve.update(0, "0", 7) is None
    assert valve.update(0, "0", 8) == 8


def test_a_new_split_that_is_behind_holds_the_clock() -> None:
    valve = Valve({0: 0})
    assert valve.update(0, "a", 10) == 10
    assert valve.update(0, "b", 4) is None
    assert valve.update(0, "a", 20) is None
    assert valve.update(0, "b", 15) == 15


def test_the_end_of_input_closes_all_channels_known_or_not() -> None:
    valve = Valve({0: 3})
    valve.update(0, "0", 7)
    assert valve.update(0, ALL_CHANNELS, MAX_TIMESTAMP) == MAX_TIMESTAMP


def test_the_end_of_one_edge_leaves_the_other_in_charge() -> None:
    valve = Valve({0: 2, 1: 1})
    valve.update(0, ALL_CHANNELS, MAX_TIMESTAMP)
    assert valve.update(1, "0", 5) == 5
    assert valve.update(1, ALL_CHANNELS, MAX_TIMESTAMP) == MAX_TIMESTAMP


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-50, 50)), max_size=40))
def test_the_clock_is_the_minimum_of_the_channels_maxima_and_never_goes_back(
    script: list[tuple[str, int]],
) -> None:
    valve = Valve({0: 3})
    highest: dict[str, int] = {}
    last = MIN_TIMESTAMP
    for channel, watermark in script:
        highest[channel] = max(watermark, highest.get(channel, MIN_TIMESTAMP))
        risen = valve.update(0, channel, watermark)
        wanted = min(highest.values()) if len(highest) == 3 else MIN_TIMESTAMP
        assert risen == (wanted if wanted > last else None)
        last = max(last, wanted)
        assert valve.current == last


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1]),
            st.sampled_from("ab"),
            st.one_of(st.integers(0, 30), st.just("idle")),
        ),
        max_size=20,
    ),
    st.integers(0, 20),
)
def test_a_restored_valve_goes_on_as_if_nothing_had_happened(
    script: list[tuple[int, str, object]], cut: int
) -> None:
    def step(valve: Valve, edge: int, channel: str, what: object) -> int | None:
        if what == "idle":
            return valve.set_idle(edge, channel)
        assert isinstance(what, int)
        return valve.update(edge, channel, what)

    whole, part = Valve({0: 2, 1: 0}), Valve({0: 2, 1: 0})
    for place, (edge, channel, what) in enumerate(script):
        if place == cut:
            # numbers of edges change with the program, names do not
            restored = Valve({0: 2, 1: 0})
            restored.restore(part.snapshot(NAMES), IDS)
            part = restored
        assert step(whole, edge, channel, what) == step(part, edge, channel, what)


def test_a_valve_restored_to_before_the_end_waits_for_its_channels_again() -> None:
    valve = Valve({0: 2})
    valve.update(0, "0", 5)
    before = valve.snapshot(NAMES)
    valve.update(0, ALL_CHANNELS, MAX_TIMESTAMP)
    valve.restore(before, IDS)
    assert valve.current == MIN_TIMESTAMP
    assert valve.update(0, "0", 9) is None
    assert valve.update(0, "1", 7) == 7


def test_an_ended_edge_stays_ended_after_a_restart() -> None:
    valve = Valve({0: 2, 1: 1})
    valve.update(0, ALL_CHANNELS, MAX_TIMESTAMP)
    restored = Valve({0: 2, 1: 1})
    restored.restore(valve.snapshot(NAMES), IDS)
    assert restored.update(1, "0", 3) == 3


def test_an_edge_that_is_new_in_the_program_starts_empty() -> None:
    valve = Valve({0: 1})
    valve.update(0, "0", 9)
    restored = Valve({5: 1, 6: 1})
    restored.restore(valve.snapshot({0: "left"}), {"left": 5, "new": 6})
    assert restored.current == 9
    assert restored.update(6, "0", 20) is None  # the old edge is at 9
    assert restored.update(5, "0", 12) == 12


def test_an_input_is_idle_when_all_its_channels_are() -> None:
    valve = Valve({0: 2})
    valve.update(0, "A", 10)
    valve.update(0, "B", 5)
    valve.set_idle(0, "A")
    assert not valve.is_idle
    valve.set_idle(0, "B")
    assert bool(valve.is_idle)  # bool(), as mypy thinks that it still knows
    restored = Valve({0: 2})
    restored.restore(valve.snapshot(NAMES), IDS)
    assert restored.is_idle
    valve.update(0, "A", 3)  # behind the clock, but there
    assert not valve.is_idle


def test_an_input_whose_channels_have_not_all_spoken_is_not_idle() -> None:
    valve = Valve({0: 2})
    valve.set_idle(0, "A")
    assert not valve.is_idle


def test_a_channel_that_is_behind_keeps_the_clock_from_the_highest_watermark() -> None:
    valve = Valve({0: 3})
    for channel, watermark in (("A", 20), ("B", 5), ("C", 30)):
        valve.update(0, channel, watermark)
    valve.set_idle(0, "C")
    assert valve.set_idle(0, "B") == 20
    assert valve.update(0, "B", 6) is None  # active, and behind
    assert valve.set_idle(0, "A") is None
    assert valve.set_idle(0, "B") == 30


def test_of_two_inputs_an_idle_one_is_left_out_and_holds_the_clock_when_it_returns() -> None:
    clocks = InputClocks([MIN_TIMESTAMP] * 2)  # V1.2, as two inputs
    assert clocks.update(0, 10) is None
    assert clocks.update(1, 5) == 5
    assert clocks.set_idle(1) == 10
    assert clocks.update(1, 5) is None  # active again
    assert clocks.update(0, 12) is None
    assert clocks.update(1, 11) == 11
    assert clocks.update(1, 13) == 12
    assert clocks.update(0, 20) == 13


def test_when_both_inputs_are_idle_the_higher_watermark_counts() -> None:
    clocks = InputClocks([10, 5])
    assert clocks.current == 5
    assert clocks.set_idle(0) is None
    assert clocks.set_idle(1) == 10
    assert clocks.is_idle
    assert clocks.update(1, 7) is None
    assert not clocks.is_idle


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1]), st.one_of(st.integers(0, 30), st.just("idle"))),
        max_size=20,
    )
)
def test_the_clock_of_two_inputs_never_goes_back_and_waits_for_those_who_speak(
    script: list[tuple[int, object]],
) -> None:
    clocks = InputClocks([MIN_TIMESTAMP] * 2)
    watermarks, idle, last = [MIN_TIMESTAMP] * 2, set[int](), MIN_TIMESTAMP
    for number, what in script:
        if what == "idle":
            idle.add(number)
            risen = clocks.set_idle(number)
        else:
            assert isinstance(what, int)
            watermarks[number] = max(watermarks[number], what)
            idle.discard(number)
            risen = clocks.update(number, watermarks[number])
        active = [time for each, time in enumerate(watermarks) if each not in idle]
        wanted = min(active) if active else max(watermarks)
        assert risen == (wanted if wanted > last else None)
        last = max(last, wanted)
        assert clocks.current == InputClocks(watermarks, idle, last).current == last
