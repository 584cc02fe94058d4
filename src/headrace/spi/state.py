"""What an operator declares about its states, and how a layout stores them.

    StateSpec   one state of an operator, or a family of them: its name, its layout, whose it is
    Layout      how the entries of a state lie in pages: how they leave a store, and come back

From the two follow savepoints, rescaling, `headrace state read` and whether a step keeps anything.
An operator with a layout of its own defines it beside itself and registers it:

    class Counters(Layout): ...
    register_layout(Counters("counters"))

    class MyOperator(KeyedOperator):
        def state_specs(self):
            return (*super().state_specs(), StateSpec("totals", "counters"))

Next: runtime/state/layouts.py (tables, and where headrace's other layouts are),
runtime/state/declared.py (how declarations are stored), runtime/savepoint/entries.py (who asks)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from headrace.errors import InvalidArgumentError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.api.state import StateDescriptor
    from headrace.common.opaque import Key, Namespace, StateValue

__all__ = [
    "CLOCK",
    "Layout",
    "ListedPages",
    "PageStore",
    "StateScope",
    "StateSpec",
    "Target",
    "register_layout",
    "registered_layouts",
]

StateScope = Literal["keyed", "broadcast", "union", "subtask"]
"""Whose the entries of a state are, which is also where they go when a job is rescaled.

keyed: the key's; with the key to the subtask that gets it.
broadcast: shared; all subtasks have the same, and so will all new ones.
union: the subtask's; every new subtask is given those of all old ones.
subtask: the subtask's, for as long as its job is not rescaled: they are in no savepoint.
"""


class PageStore(Protocol):
    """Durable bytes of one subtask, by name; written state becomes visible with the batch."""

    def get(self, key: bytes) -> bytes | None:
        """The stored content, or None."""
        ...

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The stored contents of several keys, sooner than one after the other."""
        ...

    def put(self, key: bytes, content: bytes) -> None:
        """Store or replace."""
        ...

    def delete(self, key: bytes) -> None:
        """Remove; unknown keys are ignored."""
        ...


class ListedPages(PageStore, Protocol):
    """The pages of a subtask that were taken out of a checkpoint: they also tell their names."""

    def __iter__(self) -> Iterator[bytes]:
        """The names, sorted."""
        ...


@dataclass(frozen=True, slots=True)
class StateSpec:
    """One state of an operator, or a family of states whose names are known at run time only.

    Attributes:
        name: its path within the operator, such as ``timers/event``. One that ends with a slash
            stands for all states below it: ``user/`` for those that functions ask for.
        layout: the name of a registered `Layout`; None for what is in no savepoint.
        scope: whose the entries are.
        kind: value, list, map, reducing, aggregating or broadcast, where `descriptor` is given.
        descriptor: the user's, for states whose type is known before the operator is open.
        home: the module that registers the layout, for processes that do not have the program.
    """

    name: str
    layout: str | None
    scope: StateScope = "keyed"
    kind: str | None = field(default=None, compare=False)
    descriptor: StateDescriptor | None = field(default=None, compare=False)
    home: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if (self.layout is None) != (self.scope == "subtask"):
            raise InvalidArgumentError(
                f"state {self.name!r} has layout {self.layout!r} and scope {self.scope!r}",
                fix="give a layout to states that belong in savepoints, and only to these",
            )

    @property
    def is_family(self) -> bool:
        """Whether it stands for all states below its name."""
        return self.name.endswith("/")

    def member_of(self, path: str, *, spread: bool) -> str | None:
        """The name of the state that a page belongs to; None if it is none of this one's.

        Args:
            path: the page's, within its operator and up to the first zero byte.
            spread: whether the layout has names of its own below that of the state.
        """
        if not self.is_family:
            mine = path == self.name or (spread and path.startswith(f"{self.name}/"))
            return self.name if mine else None
        if not path.startswith(self.name):
            return None
        below = path.removeprefix(self.name)
        return self.name + (below.split("/", 1)[0] if spread else below)


# What every task keeps of each of its operators: how far event time had come at its inputs.
CLOCK = StateSpec("watermark", "clock", "union")


class Target(ABC):
    """Takes the entries of one state into the store of a subtask."""

    @abstractmethod
    def put(self, key: Key, namespace: Namespace, value: StateValue) -> None:
        """Take an entry."""

    def add(self, key: Key, namespace: Namespace, part: StateValue) -> None:
        """Take the next part of an entry that left in parts."""
        raise StateError("the savepoint holds parts of something that is neither a list nor a map")

    @abstractmethod
    def flush(self) -> None:
        """Write what was taken so far; more may follow."""


class Layout(ABC):
    """How the entries of a state lie in the pages of a subtask.

    Everything of a state lies under names that begin with ``<operator>/<state>``, followed by a
    zero byte; a layout that is `spread` may also have a slash and more there.
    """

    spread: ClassVar[bool] = False
    """Whether there are names below that of the state, as those of buckets of timers."""

    columns: tuple[str, ...] = ()
    """What tables call the parts of a namespace; the names of what `cells` gives."""

    has_values: ClassVar[bool] = True
    """Whether an entry is more than its key and namespace."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def entries(
        self, store: ListedPages, name: str
    ) -> Iterator[tuple[Key | Namespace | StateValue, ...]]:
        """All entries as (key, namespace, value), in any order.

        One that is large may leave in parts, one after the other: (key, namespace, part of the
        list or map, number of its first item).

        Args:
            store: to read.
            name: ``<operator>/<state>``.
        """

    @abstractmethod
    def target(self, store: PageStore, name: str) -> Target:
        """Takes entries back, from whatever subtasks they come."""

    def cells(self, namespace: Namespace) -> tuple[StateValue, ...]:
        """The cells of a namespace in a table, one for each of `columns`."""
        return (namespace,) if self.columns else ()


_layouts: dict[str, Layout] = {}


def register_layout(layout: Layout) -> None:
    """Let states have a layout; a module calls it once for each that it defines."""
    _layouts[layout.name] = layout


def registered_layouts() -> dict[str, Layout]:
    """The layouts of the modules that this process has imported, by name."""
    return _layouts
