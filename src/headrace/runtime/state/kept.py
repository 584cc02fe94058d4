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
from headrace.runtime.state.size import SizedStore, StateSize, store_sizes, stored_sizes

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
        self._sizes: dict[str, int] = {}  # as they are stored

    def store_of(self, uid: str, specs: Iterable[StateSpec]) -> PageStore:
        """The store of an operator that keeps these states; what it writes is noticed."""
        self._specs[uid] = tuple(specs)
        self._is_new |= self._declared.declare(uid, self._specs[uid])
        self._stores[uid] = NoticingStore(
            self._store,
            uid,
            lambda path: self._declared.state_of(uid, path),
            keeps=bool(self._specs[uid]),
        )
        return self._stores[uid]

    def size_of(self, uid: str) -> StateSize | None:
        """How much an operator keeps; None if it keeps nothing."""
        store = self._stores.get(uid)
        return store.size if store is not None and store.keeps else None

    def reload(self) -> None:
        """The store may hold other states than before, and what was told may not have arrived."""
        self._declared = DeclaredStates.of(self._store)
        declared = [self._declared.declare(uid, specs) for uid, specs in self._specs.items()]
        self._is_new = any(declared)
        self._sizes = stored_sizes(self._store)
        for uid, store in self._stores.items():
            store.forget(self._sizes.get(uid, 0))

    def write(self) -> None:
        """Say what the store holds, for those who read it without the program."""
        if self._is_new:
            self._declared.write(self._store)
            self._is_new = False
        sizes = {uid: store.size.total_bytes for uid, store in self._stores.items() if store.keeps}
        if sizes != self._sizes:
            store_sizes(self._store, sizes)
            self._sizes = sizes

    def take_news(self) -> dict[str, dict[str, JsonObject]]:
        """What was stored for the first time since the last call: operator, state, its types."""
        news = {uid: store.take_news() for uid, store in self._stores.items()}
        return {uid: states for uid, states in news.items() if states}


class NoticingStore(SizedStore):
    """A SizedStore that notices which states are in it.

    Args:
        store: of the task.
        uid: of the operator.
        state_of: the state that a page belongs to, by its path within the operator.
        keeps: whether the operator declares any state.
    """

    def __init__(
        self,
        store: PageStore,
        uid: str,
        state_of: Callable[[str], StateSpec],
        *,
        keeps: bool = True,
    ) -> None:
        super().__init__(store)
        self.keeps = keeps
        self._uid = uid
        self._state_of = state_of
        self._seen: set[bytes] = set()  # tables
        self._news: dict[str, JsonObject] = {}  # by state; empty if it says nothing of itself

    def put(self, key: bytes, content: bytes) -> None:
        """Store or replace."""
        table, _, rest = key.partition(b"\0")
        if table not in self._seen or rest == _RECORD:
            self._notice(table, content if rest == _RECORD else None)
        self.size.put(key, content)
        self._store.put(key, content)

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

    def forget(self, stored_bytes: int = 0) -> None:
        """What was told may not have arrived: notice everything again.

        Args:
            stored_bytes: how large the state is that is there now.
        """
        self._seen.clear()
        self._news.clear()
        self.size = StateSize(stored_bytes)
