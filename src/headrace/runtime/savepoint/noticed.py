"""A store of one operator that notices which states are in it, so that the driver can be told.

In: the pages that an operator writes.  Out: new states with what they say of themselves, once.
Next: runtime/task.py sends them along with a batch, control/state_names.py keeps them
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from headrace.runtime.state.declared import DeclaredStates
from headrace.runtime.state.recorded import Recorded, record_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.common.opaque import JsonObject
    from headrace.runtime.pages.store import PageStore
    from headrace.spi.state import StateSpec

_RECORD = record_key("").removeprefix(b"\0")


class NoticingStore:
    """A PageStore that passes everything on.

    Args:
        store: of the task.
        uid: of the operator.
        specs: the states that the operator declares.
    """

    def __init__(self, store: PageStore, uid: str, specs: Iterable[StateSpec]) -> None:
        self.get = store.get
        self.get_many = store.get_many
        self.delete = store.delete
        self._put = store.put
        self._uid = uid
        self._declared = DeclaredStates()
        self._declared.declare(uid, specs)
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
        state = self._declared.state_of(self._uid, table.decode().removeprefix(f"{self._uid}/"))
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
