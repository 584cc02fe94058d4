"""Keys of a batch as numbers: each distinct key once, and for every record which one it has.

In: a column, or Python objects.  Out: `Codes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_MANY = 1 << 62


class Codes:
    """Lines as numbers of distinct keys.

    Args:
        numbers: for every line the place of its key in `keys`.
        count: how many keys there are.
        make: what gives the keys; they become Python objects only if somebody asks for them.
    """

    __slots__ = ("_keys", "_make", "count", "numbers")

    def __init__(
        self, numbers: NDArray[np.int64], count: int, make: Callable[[], list[Any]]
    ) -> None:
        self.numbers = numbers
        self.count = count
        self._make = make
        self._keys: list[Any] | None = None

    @property
    def keys(self) -> list[Any]:
        """Each key once, in the order in which they came first."""
        if self._keys is None:
            self._keys = self._make()
        return self._keys

    def with_more(self, other: Codes) -> Codes:
        """The codes of pairs of these keys and others of the same lines."""
        return codes_of_pairs([self, other])

    def firsts(self) -> NDArray[np.int64]:
        """For every key the place of its first line."""
        highest = np.maximum.accumulate(self.numbers)
        return np.flatnonzero(np.diff(highest, prepend=-1))


def codes_of_column(column: pa.Array, values: Callable[[pa.Array], list[Any]]) -> Codes:
    """The codes of a column; a null is a key as any other.

    Args:
        column: of values that Arrow can compare.
        values: the keys that a column of distinct values has.
    """
    encoded = column.dictionary_encode(null_encoding="encode")
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    distinct = encoded.dictionary
    return Codes(numbers, len(distinct), lambda: values(distinct))


def codes_of_values(values: list[Any]) -> Codes:
    """The codes of keys that are Python objects already."""
    places: dict[Any, int] = {}
    numbers = [places.setdefault(value, len(places)) for value in values]
    return Codes(np.array(numbers, dtype=np.int64), len(places), lambda: list(places))


def codes_of_pairs(parts: list[Codes]) -> Codes:
    """The codes of tuples, of the codes of their parts."""
    numbers, count = parts[0].numbers, parts[0].count
    places = [np.arange(count)]  # for each column which of its values each key has
    for part in parts[1:]:
        width = max(1, part.count)
        assert count * width < _MANY
        pairs = pa.array(numbers * width + part.numbers).dictionary_encode()
        numbers = pairs.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        found = pairs.dictionary.to_numpy(zero_copy_only=False)
        count = len(found)
        places = [*(before[found // width] for before in places), found % width]

    def keys() -> list[Any]:
        values = [
            map(part.keys.__getitem__, of_part.tolist())
            for part, of_part in zip(parts, places, strict=True)
        ]
        return list(zip(*values, strict=True))

    return Codes(numbers, count, keys)
