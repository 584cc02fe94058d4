"""What a stored state says about itself: its kind and types, written once, checked when reopened.

Stored as JSON beside the state's pages, so that state can be read without the program that wrote it
and a program that declares another type is told so before it reads a value; or the values are
converted.  Next: evolution.py
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from headrace.common.type_json import Json, to_json, type_text
from headrace.errors import StateError
from headrace.runtime.pages.large import LargeTable
from headrace.runtime.pages.table import PagedTable
from headrace.runtime.state.evolution import changed_type, convert_table

if TYPE_CHECKING:
    from headrace.api.state import StateDescriptor
    from headrace.common.typeinfo import TypeInformation
    from headrace.runtime.pages.store import PageStore

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Recorded:
    """The kind and types of one state.

    Attributes:
        kind: value, list, map, reducing, aggregating or broadcast.
        type: of the value; of a list's items; of a map as a whole; of the accumulator.
        ttl: whether each value is kept with the time it was last touched.
        key_type: of the stream's keys, where it is declared.
    """

    kind: str
    type: Json
    ttl: bool = False
    key_type: Json | None = None

    @staticmethod
    def of(
        descriptor: StateDescriptor, kind: str, key_type: TypeInformation | None = None
    ) -> Recorded:
        """What a descriptor declares, in a stream whose keys have a type."""
        return Recorded(
            kind,
            to_json(descriptor.type_info),
            descriptor.ttl_config is not None,
            None if key_type is None else to_json(key_type),
        )

    @property
    def in_parts(self) -> bool:
        """Whether large values of this state are stored in parts."""
        return self.kind in ("list", "map")

    def to_bytes(self) -> bytes:
        """The stored form."""
        return json.dumps({"version": _VERSION, **asdict(self)}).encode()

    @staticmethod
    def from_bytes(content: bytes) -> Recorded:
        """Back from the stored form."""
        fields = json.loads(content)
        version = fields.pop("version")
        if version != _VERSION:
            raise StateError(
                f"the description of a stored state has version {version}, which is not known",
                fix="restore with the version of headrace that wrote it, or from a savepoint",
            )
        return Recorded(**fields)

    def __str__(self) -> str:
        return f"{self.kind} of {type_text(self.type)}{' with TTL' if self.ttl else ''}"


def record_key(table: str) -> bytes:
    """The name that a state's description is stored under."""
    return table.encode() + b"\0s"


def recorded_in(store: PageStore, table: str) -> Recorded | None:
    """What the state behind a table's name says about itself; None if it holds nothing yet."""
    content = store.get(record_key(table))
    return None if content is None else Recorded.from_bytes(content)


class StateRecords:
    """The descriptions of an operator's states: checked when declared, written with the state."""

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self._declared: dict[str, tuple[str, Recorded]] = {}  # by table
        self._stored: set[str] = set()

    def declare(self, table: str, name: str, declared: Recorded) -> None:
        """A program uses a state.

        Raises:
            StateError: it does so in two ways, or other than the stored state was written.
        """
        if table not in self._declared:
            self._declared[table] = (name, declared)
            self._compare(table)
            return
        known = self._declared[table][1]
        if known != declared:
            raise StateError(
                f"state {name!r} is declared twice with different types: {known} and {declared}",
                fix="give the two states different names",
            )

    def declared(self) -> dict[str, Recorded]:
        """What the program said of its states, by table."""
        return {table: recorded for table, (_, recorded) in self._declared.items()}

    def forget(self) -> None:
        """The store may hold other states than before."""
        self._stored.clear()
        for table in self._declared:
            self._compare(table)

    def _compare(self, table: str) -> None:
        stored = recorded_in(self._store, table)
        if stored is None:
            return
        name, declared = self._declared[table]
        if (
            stored.kind != declared.kind
            or stored.ttl != declared.ttl
            or declared.type not in (stored.type, "pickled")
            or declared.key_type not in (stored.key_type, None)
        ):
            self._convert(table, name, stored, declared)
        self._stored.add(table)

    def _convert(self, table: str, name: str, stored: Recorded, declared: Recorded) -> None:
        """Make the stored values those of the declared type; a batch that fails undoes it."""
        operator = table.removesuffix(f"/{name}").rpartition("/")[0]
        convert = changed_type(operator, name, stored, declared)
        if convert is not None:
            # a table of its own: the one that the program uses has read nothing yet
            pages = (LargeTable if stored.in_parts else PagedTable)(self._store, table)
            convert_table(pages, stored.kind, convert, expires=stored.ttl)
            pages.forget()
        self._store.put(record_key(table), declared.to_bytes())

    def write(self, table: str) -> None:
        """Something is stored in a table now."""
        if table not in self._stored and table in self._declared:
            self._store.put(record_key(table), self._declared[table][1].to_bytes())
            self._stored.add(table)
