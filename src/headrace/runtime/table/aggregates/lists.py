"""Aggregates that keep values: FIRST_VALUE, LAST_VALUE, LISTAGG, ARRAY_AGG, COLLECT, JSON's.

Where lines may be taken back, what is left is a list from which a value is taken where it stands
first, as in Flink.
In: ArgumentLines.  Next: runtime/table/aggregates/moments.py
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.errors import RecordError
from headrace.runtime.table.accumulators import LineAggregate, Running, objects
from headrace.runtime.table.aggregates.extremes import add_to_counts
from headrace.runtime.table.keying import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.data.columns import ColumnCodec
    from headrace.runtime.table.accumulators import ArgumentLines
    from headrace.runtime.table.segments import KeySegments


class InsertedFirst(LineAggregate):
    """FIRST_VALUE of lines that are never taken back; NULL is passed over."""

    keeps_states = True

    def create(self) -> Any:
        return None

    def accumulate(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        return arguments[0] if state is None else state

    def retract(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        raise AssertionError("an input that retracts has another form")

    def merge(self, state: Any, other: Any) -> Any:
        return other if state is None else state

    def value(self, state: Any) -> Any:
        return state


class InsertedLast(InsertedFirst):
    """LAST_VALUE of lines that are never taken back; NULL is passed over."""

    def accumulate(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        return state if arguments[0] is None else arguments[0]

    def merge(self, state: Any, other: Any) -> Any:
        return state if other is None else other

    def run(self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]) -> Running:
        # places of values: of each line, then of what segments begin with
        values = objects([*lines.values(0), *states])
        places = np.arange(lines.count)
        active = lines.active_with_value()
        if active is not None:
            places = np.maximum.accumulate(np.where(active, places, -1))
        begins = segments.spread(segments.starts)
        latest = np.where(places >= begins, places, lines.count + segments.ids)
        after = values[latest]
        ended = after[segments.ends].tolist()
        return Running(np.concatenate([after, values[lines.count :]]), None, ended)


class _Listed(LineAggregate):
    """What was there and was not taken back, in order; the state is a list."""

    skips_null = True

    def create(self) -> list[Any]:
        return []

    def item(self, arguments: tuple[Any, ...]) -> Any:
        """What is kept of a line."""
        return arguments[0]

    def accumulate(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        if arguments[0] is not None or not self.skips_null:
            state.append(self.item(arguments))
        return state

    def retract(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        if arguments[0] is not None or not self.skips_null:
            item = frozen(self.item(arguments))
            place = next((n for n, kept in enumerate(state) if frozen(kept) == item), None)
            if place is not None:
                del state[place]
        return state

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        return [*state, *other]


class ListedFirst(_Listed):
    """FIRST_VALUE of lines that may be taken back."""

    def value(self, state: list[Any]) -> Any:
        return state[0] if state else None


class ListedLast(_Listed):
    """LAST_VALUE of lines that may be taken back."""

    def value(self, state: list[Any]) -> Any:
        return state[-1] if state else None


class ArrayOfValues(_Listed):
    """ARRAY_AGG: of nothing it is NULL."""

    def __init__(self, result: ColumnCodec, *, skips_null: bool = False) -> None:
        super().__init__(result)
        self.skips_null = skips_null

    def value(self, state: list[Any]) -> Any:
        return list(state) if state else None


class JsonArrayOfValues(_Listed):
    """JSON_ARRAYAGG: its argument is JSON text already."""

    def __init__(self, result: ColumnCodec, *, skips_null: bool = True) -> None:
        super().__init__(result)
        self.skips_null = skips_null

    def item(self, arguments: tuple[Any, ...]) -> Any:
        return "null" if arguments[0] is None else arguments[0]

    def value(self, state: list[Any]) -> str:
        return f"[{','.join(state)}]"


class JoinedText(LineAggregate):
    """LISTAGG of lines that are never taken back.

    The state is the text; with a separator of its own for each line (the text, the last of them).

    Args:
        separator: where the call has none.
    """

    keeps_states = True

    def __init__(self, result: ColumnCodec, separator: str = ",") -> None:
        super().__init__(result)
        self.separator = separator

    def create(self) -> Any:
        return None

    def accumulate(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        text, *separator = arguments
        if text is None:
            return state
        if not separator:
            return text if state is None else f"{state}{self.separator}{text}"
        return self.merge(state, (text, separator[0]))

    def retract(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        raise AssertionError("an input that retracts has another form")

    def merge(self, state: Any, other: Any) -> Any:
        if state is None or other is None:
            return other if state is None else state
        if not isinstance(other, tuple):
            return f"{state}{self.separator}{other}"
        text, between = other
        return None if between is None else (f"{state[0]}{between}{text}", between)

    def value(self, state: Any) -> Any:
        return state[0] if isinstance(state, tuple) else state


class ListedText(_Listed):
    """LISTAGG of lines that may be taken back: [the separator of the last line, texts ...]."""

    def __init__(self, result: ColumnCodec, separator: str = ",") -> None:
        super().__init__(result)
        self.separator = separator

    def create(self) -> list[Any]:
        return [self.separator]

    def accumulate(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        if len(arguments) > 1 and arguments[0] is not None:
            state[0] = arguments[1]
        return super().accumulate(state, arguments)

    def retract(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        texts = super().retract(state[1:], arguments)
        return [state[0], *texts]

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        return [other[0], *state[1:], *other[1:]]

    def value(self, state: list[Any]) -> Any:
        separator, *texts = state
        return separator.join(texts) if texts and separator is not None else None


class Multiset(LineAggregate):
    """COLLECT: how often each value is there; of nothing it is empty."""

    def __init__(self, result: ColumnCodec) -> None:
        super().__init__(result)
        self._floats = pa.types.is_floating(result.arrow.key_type)

    def create(self) -> dict[Any, int]:
        return {}

    def accumulate(self, state: dict[Any, int], arguments: tuple[Any, ...]) -> dict[Any, int]:
        if arguments[0] is not None:
            add_to_counts(state, frozen(arguments[0]), 1)
        return state

    def retract(self, state: dict[Any, int], arguments: tuple[Any, ...]) -> dict[Any, int]:
        if arguments[0] is not None:
            add_to_counts(state, frozen(arguments[0]), -1)
        return state

    def merge(self, state: dict[Any, int], other: dict[Any, int]) -> dict[Any, int]:
        for key, count in other.items():
            add_to_counts(state, key, count)
        return state

    def value(self, state: dict[Any, int]) -> dict[Any, int]:
        if self._floats:
            return {float(key): count for key, count in state.items()}
        return dict(state)


class JsonObjectOfValues(LineAggregate):
    """JSON_OBJECTAGG: its second argument is JSON text already."""

    def __init__(self, result: ColumnCodec, *, skips_null: bool = False) -> None:
        super().__init__(result)
        self.skips_null = skips_null

    def create(self) -> dict[str, Any]:
        return {}

    def accumulate(self, state: dict[str, Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
        key, value = arguments
        if key in state:
            raise RecordError(
                f"JSON_OBJECTAGG has the key {key!r} twice in one group",
                fix="group by more columns, or choose one line for each key first",
            )
        if value is not None or not self.skips_null:
            state[key] = value
        return state

    def retract(self, state: dict[str, Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
        state.pop(arguments[0], None)
        return state

    def merge(self, state: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        for pair in other.items():
            state = self.accumulate(state, pair)
        return state

    def value(self, state: dict[str, Any]) -> str:
        pairs = (
            f"{json.dumps(key, ensure_ascii=False)}:{'null' if value is None else value}"
            for key, value in state.items()
        )
        return f"{{{','.join(pairs)}}}"


class SingleValue(LineAggregate):
    """The value of a subquery that must have one line: (value, how many lines)."""

    keeps_states = True

    def create(self) -> tuple[Any, int]:
        return (None, 0)

    def accumulate(self, state: tuple[Any, int], arguments: tuple[Any, ...]) -> tuple[Any, int]:
        if state[1] > 0:
            raise _more_than_one()
        return (arguments[0], state[1] + 1)

    def retract(self, state: tuple[Any, int], arguments: tuple[Any, ...]) -> tuple[Any, int]:
        if state[1] not in (0, 1):
            raise _more_than_one()
        return (None, state[1] - 1)

    def merge(self, state: tuple[Any, int], other: tuple[Any, int]) -> tuple[Any, int]:
        if state[1] + other[1] > 1:
            raise _more_than_one()
        return (other[0] if other[1] else state[0], state[1] + other[1])

    def value(self, state: tuple[Any, int]) -> Any:
        return state[0]


def _more_than_one() -> RecordError:
    return RecordError(
        "a subquery that stands for one value has more than one line",
        fix="use an aggregate such as MAX in it, LIMIT 1, or IN instead of =",
    )
