"""RAND, RAND_INTEGER and UUID.

With a seed the numbers are Java's, in the order of the records that a worker sees.

In: seeds and bounds.  Out: numbers.  Next: scalars/functions/entry.py
"""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.scalars.functions.entry import BoundCall, FunctionEntry
from headrace.scalars.functions.rules import INT, nothing, one_of, takes

if TYPE_CHECKING:
    from headrace.scalars.functions.entry import RowBody

_MULTIPLIER, _MASK = 0x5DEECE66D, (1 << 48) - 1


class JavaRandom:
    """java.util.Random: the same numbers for the same seed."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def bits(self, count: int) -> int:
        """The next bits, as a number without a sign."""
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK
        return self._state >> (48 - count)

    def double(self) -> float:
        """Between 0 and 1."""
        return float((self.bits(26) << 27) + self.bits(27)) / float(1 << 53)

    def below(self, bound: int) -> int:
        """From 0 to less than a bound.

        Raises:
            ValueError: the bound is not positive.
        """
        if bound <= 0:
            message = f"the bound {bound} is not positive"
            raise ValueError(message)
        if bound & -bound == bound:
            return (bound * self.bits(31)) >> 31
        while True:
            found = self.bits(31)
            value = found % bound
            if found - value + (bound - 1) < 1 << 31:
                return value


def _rand(call: BoundCall) -> RowBody:
    if not call.arguments:
        return random.random
    seeded: dict[int, JavaRandom] = {}

    def run(seed: int) -> float:
        return seeded.setdefault(seed, JavaRandom(seed)).double()

    return run


def _rand_integer(call: BoundCall) -> RowBody:
    if len(call.arguments) == 1:
        fresh = JavaRandom(random.getrandbits(48))
        return fresh.below
    seeded: dict[int, JavaRandom] = {}

    def run(seed: int, bound: int) -> int:
        return seeded.setdefault(seed, JavaRandom(seed)).below(bound)

    return run


ENTRIES = (
    FunctionEntry(
        name="RAND",
        category="arithmetic",
        doc="A number between 0 and 1.",
        forms=("RAND()", "RAND(seed)"),
        rule=one_of(nothing(t.DoubleType()), takes(INT, gives=t.DoubleType())),
        row_of=_rand,
        deterministic=False,
    ),
    FunctionEntry(
        name="RAND_INTEGER",
        category="arithmetic",
        doc="A whole number from 0 to less than a bound.",
        forms=("RAND_INTEGER(bound)", "RAND_INTEGER(seed, bound)"),
        rule=takes(INT, INT, needs=1, gives=t.IntType()),
        row_of=_rand_integer,
        deterministic=False,
    ),
    FunctionEntry(
        name="UUID",
        category="arithmetic",
        doc="A new universally unique identifier.",
        forms=("UUID()",),
        rule=nothing(t.CharType(36)),
        row=lambda: str(uuid.uuid4()),
        deterministic=False,
    ),
)
