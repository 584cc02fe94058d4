"""The states of a task: what its operators may keep, and what they have kept so far.

    operators declare ─▶ KeptStates ─┬─▶ beside the pages: their layouts, for who reads them
    pages are written ─▶             └─▶ news for the driver: names and types, for states.json

The news follow from the declarations: a page is of the state that the list beside it says.
In: declarations, and every page that an operator writes.
Next: runtime/state/declared.py, control/state_names.py
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from headrace.runtime.state.declared import DeclaredStates
from headrace.runtime.state.recorded import Recorded, record_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.common.opaque import JsonObject
    from headrace.runtime.pages.store import PageStore
    from headrace.spi.state import StateSpec

_RECORD = record_key("").removeprefix(b"\0")


class KeptStates:
    """All states of one task.

    Args:
        store: of the task.
    """

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self._specs: dict[str, tuple[StateSpec, ...]] = {}  # by operator, as the program has it
        self._stores: dict[str, NoticingStore] = {}
        # what the store says, and what the program adds to it
        self._declared = DeclaredStates()
        self._is_new = False

    def store_of(self, uid: str, specs: Iterable[StateSpec]) -> PageStore:
        """The store of an operator that keeps these states; what it writes is noticed."""
        self._specs[uid] = tuple(specs)
        self._is_new |= self._declared.declare(uid, self._specs[uid])
        self._stores[uid] = NoticingStore(
            self._store, uid, lambda path: self._declared.state_of(uid, path)
        )
        return self._stores[uid]

    def reload(self) -> None:
        """The store may hold other states than before, and what was told may not have arrived."""
        self._declared = DeclaredStates.of(self._store)
        declared = [self._declared.declare(uid, specs) for uid, specs in self._specs.items()]
        self._is_new = any(declared)
        for store in self._stores.values():
            store.forget()

    def write(self) -> None:
        """Say what the store holds, for those who read it without the program."""
        if self._is_new:
            self._declared.write(self._store)
            self._is_new = False

    def take_news(self) -> dict[str, dict[str, JsonObject]]:
        """What was stored for the first time since the last call: operator, state, its types."""
        news = {uid: store.take_news() for uid, store in self._stores.items()}
        return {uid: states for uid, states in news.items() if states}


class NoticingStore:
    """A PageStore that passes everything on, and notices which states are in it.

    Args:
        store: of the task.
        uid: of the operator.
        state_of: the state that a page belongs to, by its path within the operator.
    """

    def __init__(self, store: PageStore, uid: str, state_of: Callable[[str], StateSpec]) -> None:
        self.get = store.get
        self.get_many = store.get_many
        self.delete = store.delete
        self._put = store.put
        self._uid = uid
        self._state_of = state_of
        self._seen: set[bytes] = set()  # tables
        self._news: dict[str, JsonObject] = {}  # by state; empty if it says nothing of itself

    def put(self, key: bytes, content: bytes) -> None:
        """Store or replace."""
        table, _, rest = key.partition(b"\0")
        if table not in self._seen or rest == _RECORD:
            self._notice(table, content if rest == _RECORD else None)
        self._put(key, content)

    def _notice(self, table: bytes, record: bytes | None) -> None:
        self._seen.add(table)
        state = self._state_of(table.decode().removeprefix(f"{self._uid}/"))
        if state.layout is not None:
            said = {} if record is None else asdict(Recorded.from_bytes(record))
            self._news[state.name] = said or self._news.get(state.name, {})

    def take_news(self) -> dict[str, JsonObject]:
        """What was noticed since the last call."""
        news, self._news = self._news, {}
        return news

    def forget(self) -> None:
        """What was told may not have arrived: notice everything again."""
        self._seen.clear()
        self._news.clear()
