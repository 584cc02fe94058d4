"""Which page an entry lies in: extendible hashing.

The low bits of a key's hash index a list of page numbers. A page that grows past its limit splits
in two by one more bit; two small sisters become one again.

    2 bits      pages
    00 ──────────────┐
    10 ──────────┐   └──▶ page 0 (depth 2)
    01 ──┬──▶ page 1      ...
    11 ──┘   (depth 1)
"""

from __future__ import annotations

from typing import Any

_MAX_DEPTH = 30
_PLACES_PER_PAGE = 16


class Directory:
    """Page numbers by hash. Also numbers everything else of a table that is stored by number."""

    def __init__(self) -> None:
        # survives restart; written by split and join
        self.places = [0]
        self.depths = {0: 0}
        self.next_number = 1
        # differs from what is stored
        self.dirty = False

    def stored_form(self) -> tuple[Any, ...]:
        """What the store keeps: plain numbers."""
        return self.places, self.depths, self.next_number

    def restore(self, stored: Any) -> None:
        """Take over what `stored_form` gave."""
        self.places, self.depths, self.next_number = stored

    def page_of(self, hashed: int) -> int:
        """The number of the page of a hash."""
        return self.places[hashed & (len(self.places) - 1)]

    def new_number(self) -> int:
        """A number that nothing stored has."""
        number = self.next_number
        self.next_number += 1
        self.dirty = True
        return number

    def may_split(self, number: int) -> bool:
        """Whether a page may split: a few large entries must not make the list of places huge."""
        depth = self.depths[number]
        return depth < _MAX_DEPTH and 1 << depth <= _PLACES_PER_PAGE * len(self.depths)

    def split(self, number: int) -> tuple[int, int]:
        """Give half of a page's hashes to a new page: the bit that tells, and the new number."""
        depth = self.depths[number]
        bit = 1 << depth
        sister = self.new_number()
        if len(self.places) < 2 * bit:
            self.places = self.places * 2
        first = self.places.index(number) & (bit - 1)
        for place in range(first | bit, len(self.places), 2 * bit):
            self.places[place] = sister
        self.depths[number] = self.depths[sister] = depth + 1
        return bit, sister

    def sister_of(self, number: int) -> int | None:
        """The page that could take this one's hashes over."""
        depth = self.depths[number]
        if depth == 0:
            return None
        sister = self.places[self.places.index(number) ^ (1 << (depth - 1))]
        return sister if self.depths[sister] == depth else None

    def join(self, number: int, sister: int) -> None:
        """Give all hashes of a page to its sister."""
        bit = 1 << (self.depths[number] - 1)
        first = self.places.index(number) & (2 * bit - 1)
        for place in range(first, len(self.places), 2 * bit):
            self.places[place] = sister
        self.depths[sister] -= 1
        del self.depths[number]
        while len(self.places) >> max(self.depths.values()) > 1:
            self.places = self.places[: len(self.places) // 2]
        self.dirty = True
