"""Partial matches in the order in which they began, as Java's PriorityQueue holds them.

Matches of one event come out in the order of this array, not in that of a sorted list, so the
array must be the one that Java would have: a binary heap where equal ones stay behind, and where
dropping many means to close the gaps and to build the heap anew.  Python's heapq has another one.

An item is a tuple that begins with the number by which it is ordered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Item = tuple[Any, ...]


def push(heap: list[Item], item: Item) -> None:
    """Add an item behind its equals."""
    number = item[0]
    place = len(heap)
    heap.append(item)
    while place > 0:
        parent = (place - 1) >> 1
        above = heap[parent]
        if number >= above[0]:
            break
        heap[place] = above
        place = parent
    heap[place] = item


def pop(heap: list[Item]) -> Item:
    """Take the first item out."""
    first = heap[0]
    last = heap.pop()
    if heap:
        _sink(heap, 0, last)
    return first


def drop(heap: list[Item], is_unwanted: Callable[[Item], bool]) -> list[Item]:
    """Take out many at once; those that were, in the order of the array."""
    dropped = [item for item in heap if is_unwanted(item)]
    if dropped:
        heap[:] = [item for item in heap if not is_unwanted(item)]
        for place in range((len(heap) >> 1) - 1, -1, -1):
            _sink(heap, place, heap[place])
    return dropped


def _sink(heap: list[Item], place: int, item: Item) -> None:
    size = len(heap)
    half = size >> 1
    number = item[0]
    while place < half:
        child = 2 * place + 1
        below = heap[child]
        right = child + 1
        if right < size and below[0] > heap[right][0]:
            child, below = right, heap[right]
        if number <= below[0]:
            break
        heap[place] = below
        place = child
    heap[place] = item
