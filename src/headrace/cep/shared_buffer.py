"""The events of partial matches, each kept once, however many partial matches share it.

    events   number ─▶ [event, timestamp, how often it is referred to]
    nodes    number ─▶ [stage, number of the event, node before or -1, how often referred to]

A partial match knows its last node; the way back to the first one is its events.  Partial matches
with the same beginning share its nodes.  Plain lists and dictionaries: they are what is stored.
In and out: cep/nfa.py
"""

from __future__ import annotations

from typing import Any

NO_NODE = -1

# positions in a node
_STAGE, _EVENT, _BEFORE, _REFERENCES = range(4)


class SharedBuffer:
    """The events of one key.

    Attributes:
        events: by number; numbers rise in the order in which the automaton sees events.
        nodes: by number.
        next_number: of the next event or node.
    """

    __slots__ = ("events", "next_number", "nodes")

    def __init__(
        self,
        events: dict[int, list[Any]] | None = None,
        nodes: dict[int, list[Any]] | None = None,
        next_number: int = 0,
    ) -> None:
        self.events = {} if events is None else events
        self.nodes = {} if nodes is None else nodes
        self.next_number = next_number

    def add_event(self, event: Any, timestamp: int) -> int:
        """Keep an event until `release_event`, and as long as a node refers to it; its number."""
        number = self.next_number
        self.next_number = number + 1
        self.events[number] = [event, timestamp, 1]
        return number

    def release_event(self, number: int) -> None:
        """The step that added an event is over, or a node of it is gone."""
        event = self.events[number]
        event[2] -= 1
        if event[2] == 0:
            del self.events[number]

    def add_node(self, stage: str, event: int, before: int) -> int:
        """A stage takes an event behind another node; nobody refers to the new node yet."""
        number = self.next_number
        self.next_number = number + 1
        self.nodes[number] = [stage, event, before, 0]
        self.events[event][2] += 1
        if before != NO_NODE:
            self.nodes[before][_REFERENCES] += 1
        return number

    def hold(self, node: int) -> None:
        """A partial match refers to a node."""
        if node != NO_NODE:
            self.nodes[node][_REFERENCES] += 1

    def release(self, node: int) -> None:
        """A partial match lets go of a node; what nobody refers to is gone."""
        nodes = self.nodes
        while node != NO_NODE:
            entry = nodes[node]
            entry[_REFERENCES] -= 1
            if entry[_REFERENCES] > 0:
                return
            del nodes[node]
            self.release_event(entry[_EVENT])
            node = entry[_BEFORE]

    def path(self, node: int) -> list[tuple[str, int]]:
        """(stage, number of the event) from the first event to this node."""
        found: list[tuple[str, int]] = []
        nodes = self.nodes
        while node != NO_NODE:
            stage, event, node, _ = nodes[node]
            found.append((stage, event))
        found.reverse()
        return found

    def event(self, number: int) -> Any:
        """The event with a number."""
        return self.events[number][0]

    def timestamp(self, number: int) -> int:
        """When it happened."""
        timestamp: int = self.events[number][1]
        return timestamp

    def __len__(self) -> int:
        return len(self.events)
