"""Entries for a savepoint that no job has written: state from a table, or from Python values.

In: pairs of key and value, and the state they are for.  Out: entries that fit its recorded type.
Next: state.py, runtime/savepoint/files.py
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from headrace.common.type_json import from_json
from headrace.common.typeinfo import (
    ClassTypeInfo,
    MapTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    _ElementTypeInfo,
)
from headrace.common.types import Row
from headrace.data.codec import DoesNotFit, codec_for
from headrace.errors import StateError
from headrace.runtime.key_groups import key_group_of
from headrace.runtime.savepoint.entries import EVERYWHERE, RECORDED, SavedEntry, declaration
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.runtime.state.recorded import Recorded

    Shape = Callable[[Any], Any]

_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class NewState:
    """A state that is written from outside of a job.

    Attributes:
        uid: of the operator.
        path: of the state within it, such as ``user/count``.
        width: the operator's max parallelism.
        recorded: kind and type.
        now_ms: when its values were touched, where they expire.
    """

    uid: str
    path: str
    width: int
    recorded: Recorded
    now_ms: int

    @property
    def spec(self) -> StateSpec:
        """Its layout: that of all states that functions declare."""
        shared = self.recorded.kind == "broadcast"
        return StateSpec(self.path, "table", "broadcast" if shared else "keyed")

    def description(self) -> SavedEntry:
        """The entry that tells kind and type."""
        return SavedEntry(self.uid, self.path, RECORDED, None, None, asdict(self.recorded))

    def descriptions(self) -> list[SavedEntry]:
        """The entries that tell kind, type and layout."""
        return [self.description(), declaration(self.uid, self.spec)]

    def entries(self, pairs: Iterable[tuple[Any, Any]]) -> Iterator[SavedEntry]:
        """Entries of keys and values; for a list the value is a list, for a map a dict.

        Raises:
            StateError: a value is not of the type of the state.
        """
        shared = self.spec.scope == "broadcast"
        declared = from_json(self.recorded.type)
        if shared and isinstance(declared, MapTypeInfo):
            declared = declared.value_type
        shape, rest = shaper(declared), iter(pairs)
        codec = codec_for(declared)
        while part := list(islice(rest, _AT_ONCE)):
            values = [shape(value) for _, value in part]
            if codec.schema is not None:
                self._check(codec.encode, part, values)
            for (key, _), value in zip(part, values, strict=True):
                group = EVERYWHERE if shared else key_group_of(key, self.width)
                stored = self._stamped(value) if self.recorded.ttl else value
                yield SavedEntry(self.uid, self.path, group, key, None, stored)

    def _check(
        self, encode: Callable[[list[Any]], Any], part: list[tuple[Any, Any]], values: list[Any]
    ) -> None:
        try:
            encode(values)
        except DoesNotFit as misfit:
            raise StateError(
                f"the value of key {part[misfit.index][0]!r} does not fit state {self.path!r} of "
                f"operator {self.uid!r}, which is {self.recorded}: {misfit}",
                fix="cast the column first, or give the state's type",
            ) from None

    def _stamped(self, value: Any) -> Any:
        if self.recorded.kind == "list":
            return [(self.now_ms, item) for item in value]
        if self.recorded.kind == "map":
            return {key: (self.now_ms, item) for key, item in value.items()}
        return (self.now_ms, value)


def shaper(info: TypeInformation) -> Shape:
    """Makes rows, which is what tables hold, the tuples and instances that a type declares."""
    if isinstance(info, TupleTypeInfo | ClassTypeInfo):
        parts = [shaper(field) for field in info.get_field_types()]
        make: Shape = tuple
        if isinstance(info, ClassTypeInfo):
            names, cls = info.get_field_names(), info.record_class
            make = lambda cells: cls(**dict(zip(names, cells, strict=True)))  # noqa: E731
        return lambda value: (
            make([part(cell) for part, cell in zip(parts, value, strict=True)])
            if isinstance(value, Row)
            else value
        )
    if isinstance(info, MapTypeInfo):
        key, item = shaper(info.key_type), shaper(info.value_type)
        return lambda value: (
            {key(k): item(v) for k, v in value.items()} if isinstance(value, dict) else value
        )
    if isinstance(info, _ElementTypeInfo):
        each = shaper(info.element_type)
        return lambda value: [each(item) for item in value] if isinstance(value, list) else value
    return lambda value: value
