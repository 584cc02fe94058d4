"""State that expires: V5.3 and V5.4 of docs/semantics.md, and storage that really shrinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types
from headrace.datastream.functions import AggregateFunction
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.runtime.pages.store import DictStore
from headrace.runtime.state.provider import StateProvider

if TYPE_CHECKING:
    from headrace.datastream.state import StateDescriptor

Update = StateTtlConfig.UpdateType
Visibility = StateTtlConfig.StateVisibility


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class Setup:
    """A provider with a clock that the test moves."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = DictStore()
        self.restart()

    def restart(self) -> None:
        self.provider = StateProvider(self.store, "op", self.clock)

    def state(self, descriptor: StateDescriptor, key: Any = "k", **options: Any) -> Any:
        builder = StateTtlConfig.new_builder("100 ms")
        if "update" in options:
            builder.set_update_type(options["update"])
        if "visibility" in options:
            builder.set_state_visibility(options["visibility"])
        descriptor.enable_time_to_live(builder.build())
        self.provider.scope.set(key)
        return self.provider.of(descriptor)


@pytest.fixture
def setup() -> Setup:
    return Setup()


def value() -> ValueStateDescriptor:
    return ValueStateDescriptor("v", Types.INT())


def test_a_value_is_gone_exactly_ttl_after_the_write(setup: Setup) -> None:
    state = setup.state(value())
    state.update(7)
    setup.clock.now = 99
    assert state.value() == 7
    setup.clock.now = 100
    assert state.value() is None


def test_an_expired_value_can_be_shown_once(setup: Setup) -> None:
    state = setup.state(value(), visibility=Visibility.ReturnExpiredIfNotCleanedUp)
    state.update(7)
    setup.clock.now = 150
    assert [state.value(), state.value()] == [7, None]


def test_reads_prolong_life_only_if_asked_to(setup: Setup) -> None:
    state = setup.state(value(), update=Update.OnReadAndWrite)
    state.update(7)
    seen = []
    for setup.clock.now in (60, 120, 210, 310):
        seen.append(state.value())
    assert seen == [7, 7, 7, None]


def test_list_items_expire_one_by_one(setup: Setup) -> None:
    state = setup.state(ListStateDescriptor("l", Types.STRING()))
    state.add("x")
    setup.clock.now = 60
    state.add("y")
    setup.clock.now = 120
    assert list(state.get()) == ["y"]


def test_map_entries_expire_one_by_one_and_is_empty_does_not_look(setup: Setup) -> None:
    state = setup.state(MapStateDescriptor("m", Types.STRING(), Types.INT()))
    state.put("a", 1)
    setup.clock.now = 60
    state.put("b", 2)
    setup.clock.now = 120
    assert not state.contains("a")
    assert dict(state.items()) == {"b": 2}
    setup.clock.now = 500
    assert not state.is_empty()
    assert list(state.keys()) == []
    assert state.is_empty()


def test_reducing_and_aggregating_state_start_anew_after_expiry(setup: Setup) -> None:
    reducing = setup.state(ReducingStateDescriptor("r", lambda a, b: a + b, Types.INT()))
    aggregating = setup.state(AggregatingStateDescriptor("g", Total(), Types.INT()))
    for state in (reducing, aggregating):
        state.add(1)
    setup.clock.now = 50
    for state in (reducing, aggregating):
        state.add(2)
        assert state.get() == 3
    setup.clock.now = 150
    for state in (reducing, aggregating):
        state.add(5)
        assert state.get() == 5


def test_entries_nobody_reads_again_leave_the_storage(setup: Setup) -> None:
    descriptor = value()
    for number in range(5000):
        setup.state(descriptor, key=f"key-{number}").update(number)
    setup.provider.flush()
    full = sum(map(len, setup.store.content.values()))
    setup.clock.now = 1000
    for _ in range(40):
        setup.state(descriptor, key="other").update(1)
        setup.provider.flush()
    assert sum(map(len, setup.store.content.values())) < full / 20


def test_expiry_survives_a_restart(setup: Setup) -> None:
    setup.state(value()).update(7)
    setup.provider.flush()
    setup.restart()
    setup.clock.now = 99
    assert setup.state(value()).value() == 7
    setup.restart()
    setup.clock.now = 100
    assert setup.state(value()).value() is None


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b
