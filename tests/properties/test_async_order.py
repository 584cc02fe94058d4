"""Whatever the order in which requests end, ordered_wait and unordered_wait keep theirs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.datastream import AsyncFunction
from headrace.runtime.async_io.order import AsyncRequest, BetweenWatermarks, InOrder, Mark
from headrace.testing import Harness

if TYPE_CHECKING:
    from headrace.data.records import Records

# A stream: True is a record, False a watermark; and numbers that choose what ends next.
STREAMS = st.lists(st.booleans(), max_size=30)
CHOICES = st.lists(st.integers(0, 1000), min_size=60, max_size=60)
W = "W"


def segments(shape: list[Any]) -> list[list[Any]]:
    """What stands between watermarks, in any order."""
    found: list[list[Any]] = [[]]
    for item in shape:
        if item == W:
            found.append([])
        else:
            found[-1].append(item)
    return [sorted(segment) for segment in found]


# --- the order alone: requests begin and end in any interleaving ---------------------------------


def played(kind: Any, stream: list[bool], choices: list[int]) -> tuple[list[Any], list[Any], Any]:
    """What went in and what came out, and the order, when requests end between the beginnings."""
    out: list[Any] = []
    ends: list[Any] = []
    order = kind(lambda item: out.append(W if isinstance(item, Mark) else item.value))
    running: list[AsyncRequest] = []
    came: list[Any] = []
    chosen = iter(choices)
    for number, is_record in enumerate(stream):
        if is_record:
            running.append(AsyncRequest(number, None))
            order.add(running[-1])
        else:
            order.add_mark(Mark(number, ""))
        came.append(number if is_record else W)
        if running and next(chosen) % 2:
            ends.append(running.pop(next(chosen) % len(running)))
            order.complete(ends[-1])
        assert order.size == sum(item != W for item in came) - sum(item != W for item in out)
    for request in sorted(running, key=lambda _: next(chosen)):
        ends.append(request)
        order.complete(request)
    assert order.size == 0
    return came, out, ends


@given(STREAMS, CHOICES)
def test_in_order_gives_the_input_back(stream: list[bool], choices: list[int]) -> None:
    came, out, _ = played(InOrder, stream, choices)
    assert out == came


@given(STREAMS, CHOICES)
def test_between_watermarks_nothing_crosses_one(stream: list[bool], choices: list[int]) -> None:
    came, out, _ = played(BetweenWatermarks, stream, choices)
    assert segments(out) == segments(came)


@given(st.integers(0, 20), CHOICES)
def test_without_watermarks_results_leave_as_they_end(count: int, choices: list[int]) -> None:
    _, out, ends = played(BetweenWatermarks, [True] * count, choices)
    assert out == [request.value for request in ends]


# --- the operator: requests end in a given order, in a real event loop ---------------------------


class Conducted(AsyncFunction[int, int]):
    """Answers when all records have been asked about, in the order that the test gives."""

    def __init__(self, order: list[int]) -> None:
        self.order = order

    async def open(self, runtime_context: Any) -> None:
        loop = asyncio.get_running_loop()
        self.answers = {value: loop.create_future() for value in self.order}
        self.missing = set(self.order)

    async def async_invoke(self, value: int) -> list[int]:
        self.missing.discard(value)
        if not self.missing:
            asyncio.get_running_loop().call_soon(self.answer_all)
        result: list[int] = await self.answers[value]
        return result

    def answer_all(self) -> None:
        for value in self.order:
            self.answers[value].set_result([value])


class Story:
    """Records and watermarks as they come out."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def accept(self, records: Records) -> None:
        self.told += records.values

    def watermark(self, timestamp: int) -> None:
        self.told.append(W)


@pytest.mark.parametrize("ordered", [True, False])
@given(data=st.data(), stream=st.lists(st.booleans(), max_size=12))
def test_an_operator_keeps_its_order_for_any_order_of_answers(
    data: st.DataObject, stream: list[bool], ordered: bool
) -> None:
    records = [number for number, is_record in enumerate(stream) if is_record]
    ends = data.draw(st.permutations(records))
    function = Conducted(ends)
    with Harness.for_async_function(function, ordered=ordered, capacity=20) as harness:
        story: Any = Story()
        harness.operator.output.main.append(story)
        came: list[Any] = []
        for number, is_record in enumerate(stream):
            if is_record:
                harness.process_element(number, timestamp=number)
            else:
                harness.process_watermark(number)
            came.append(number if is_record else W)
        harness.end_of_batch()
        assert all(value == time for value, time in harness.timestamped_output)
        assert harness.watermarks == [n for n, is_record in enumerate(stream) if not is_record]
        if ordered:
            assert story.told == came
        else:
            assert segments(story.told) == segments(came)
            if W not in came:
                assert story.told == ends
