"""COUNT, SUM, $SUM0 and AVG.

Sums have the type of their column and wrap as Java's do; averages sum whole numbers in 64 bits,
others as doubles, decimals in 38 digits.  A state is a count, or (sum, count of values).
In: ArgumentLines.  Next: runtime/table/aggregates/extremes.py
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.runtime.table.accumulators import LineAggregate, Running, objects
from headrace.runtime.table.vectors import EXACT, may_overflow, to_decimal, to_unscaled
from headrace.scalars.casting.numbers import to_float32

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.data.columns import ColumnCodec
    from headrace.runtime.table.accumulators import ArgumentLines
    from headrace.runtime.table.segments import KeySegments

    Array = NDArray[Any]

_LARGEST_SUM = 10**38


class LineCount(LineAggregate):
    """COUNT: of lines, or of those in which no argument is NULL."""

    keeps_states = True

    state_types = (pa.int64(),)

    def create(self) -> int:
        return 0

    def accumulate(self, state: int, arguments: tuple[Any, ...]) -> int:
        return state if None in arguments else state + 1

    def retract(self, state: int, arguments: tuple[Any, ...]) -> int:
        return state if None in arguments else state - 1

    def merge(self, state: int, other: int) -> int:
        return state + other

    def value(self, state: int) -> int:
        return state

    def run(self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]) -> Running:
        initial = np.array([state or 0 for state in states], dtype=np.int64)
        after = running_count(lines, segments, initial)
        ended = after[segments.ends].tolist()
        return Running(np.concatenate([after, initial]), None, ended)


def running_count(lines: ArgumentLines, segments: KeySegments, initial: Array) -> Array:
    """How many values there were up to each line."""
    active, signs = lines.active_with_value(), lines.signs()
    steps: Array
    if signs is None:
        steps = np.ones(lines.count, dtype=np.int64) if active is None else active.astype(np.int64)
    else:
        steps = signs if active is None else signs * active
    return segments.totals(steps, initial)


class SumStates(Sequence[Any]):
    """States (sum, count), which become tuples only where somebody looks at them."""

    def __init__(self, sums: Array, counts: Array) -> None:
        self.sums = sums
        self.counts = counts

    def __len__(self) -> int:
        return len(self.sums)

    def __iter__(self) -> Iterator[Any]:
        return zip(self.sums.tolist(), self.counts.tolist(), strict=True)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return SumStates(self.sums[place], self.counts[place])
        return self.sums[place : place + 1].tolist()[0], int(self.counts[place])


class LineSum(LineAggregate):
    """SUM of whole numbers; $SUM0 is 0 where SUM is NULL.

    Args:
        bits: of the result, within which it wraps.
    """

    keeps_states = True

    state_types: tuple[pa.DataType, ...] | None = (pa.int64(), pa.int64())

    def __init__(self, result: ColumnCodec, bits: int = 64, *, zero: bool = False) -> None:
        super().__init__(result)
        self.dtype = np.dtype(f"int{bits}")
        self.zero = zero
        self._half, self._all = 1 << (bits - 1), 1 << bits

    def create(self) -> tuple[Any, int]:
        return (0, 0)

    def _wrapped(self, total: int) -> int:
        return (total + self._half) % self._all - self._half

    def accumulate(self, state: tuple[Any, int], arguments: tuple[Any, ...]) -> tuple[Any, int]:
        value = arguments[0]
        return state if value is None else (self.add(state[0], value), state[1] + 1)

    def retract(self, state: tuple[Any, int], arguments: tuple[Any, ...]) -> tuple[Any, int]:
        value = arguments[0]
        return state if value is None else (self.subtract(state[0], value), state[1] - 1)

    def merge(self, state: tuple[Any, int], other: tuple[Any, int]) -> tuple[Any, int]:
        return (self.add(state[0], other[0]), state[1] + other[1])

    def add(self, total: Any, value: Any) -> Any:
        """A sum with a value more."""
        return self._wrapped(total + value)

    def subtract(self, total: Any, value: Any) -> Any:
        """A sum with a value less."""
        return self._wrapped(total - value)

    def value(self, state: tuple[Any, int]) -> Any:
        total, count = state
        return None if count == 0 and not self.zero else total

    def run(self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]) -> Running:
        counts = np.array([0 if state is None else state[1] for state in states], dtype=np.int64)
        after_counts = running_count(lines, segments, counts)
        sums, after_sums = self.running_sums(lines, segments, states)
        last = segments.ends
        ended = SumStates(self.kept_sums(after_sums[last]), after_counts[last])
        values = np.concatenate([after_sums, sums])
        return self.results(values, np.concatenate([after_counts, counts]), ended)

    def columns_of(self, states: Sequence[Any]) -> list[pa.Array]:
        if not isinstance(states, SumStates):
            return super().columns_of(states)
        assert self.state_types is not None
        parts = (states.sums, states.counts)
        return [pa.array(part, kind) for part, kind in zip(parts, self.state_types, strict=True)]

    def running_sums(
        self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]
    ) -> tuple[Array, Array]:
        """(what segments begin with, the sums after each line)."""
        initial = np.array([0 if state is None else state[0] for state in states], dtype=np.int64)
        found = segments.totals(self.steps(lines).astype(np.int64, copy=False), initial)
        return initial.astype(self.dtype), found.astype(self.dtype)

    def steps(self, lines: ArgumentLines) -> Array:
        """What each line adds."""
        vector = lines.vector(0)
        assert vector is not None
        values, active, signs = vector.values, lines.active_with_value(), lines.signs()
        if signs is not None:  # whole numbers become 64 bits wide: the lowest has no opposite
            values = values * (signs.astype(values.dtype) if values.dtype.kind == "f" else signs)
        return values if active is None else np.where(active, values, self.nothing(values))

    def nothing(self, values: Array) -> Any:
        """What lines without a value add."""
        return values.dtype.type(0)

    def kept_sums(self, sums: Array) -> Array:
        """Sums as they are in states."""
        return sums

    def results(self, sums: Array, counts: Array, ended: Sequence[Any]) -> Running:
        """The values of sums and counts."""
        return Running(sums, None if self.zero else counts != 0, ended)


class FloatSum(LineSum):
    """SUM of FLOAT or DOUBLE, each in its own precision and in the order of lines."""

    takes_out_exactly = False  # 1e20 + 1 - 1e20 is 0
    state_types = (pa.float64(), pa.int64())

    def __init__(self, result: ColumnCodec, bits: int = 64, *, zero: bool = False) -> None:
        super().__init__(result, bits, zero=zero)
        self.dtype = np.dtype(f"float{bits}")

    def create(self) -> tuple[float, int]:
        return (0.0, 0)

    def add(self, total: float, value: float) -> float:
        return self._rounded(total + value)

    def subtract(self, total: float, value: float) -> float:
        return self._rounded(total - value)

    def _rounded(self, total: float) -> float:
        """A sum of two as one of the type: the sum of two FLOATs is exact enough as a double."""
        if self.dtype == np.float64:
            return total
        return to_float32(total)

    def nothing(self, values: Array) -> Any:
        return values.dtype.type(-0.0)  # the only number that changes no other

    def running_sums(
        self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]
    ) -> tuple[Array, Array]:
        initial = np.array([0.0 if s is None else s[0] for s in states], dtype=self.dtype)
        found = self.steps(lines).astype(self.dtype)
        with np.errstate(all="ignore"):
            given = np.ones(len(initial), dtype=np.bool_)
            segments.fold_initial(np.add, found, initial, given)
            segments.scan(np.add, found)
        return initial, found


class DecimalSum(LineSum):
    """SUM of DECIMAL: exact up to 38 digits, NULL beyond."""

    state_types = None  # a sum may have more digits for a while

    def __init__(self, result: ColumnCodec, scale: int, *, zero: bool = False) -> None:
        super().__init__(result, zero=zero)
        self.scale = scale

    def create(self) -> tuple[decimal.Decimal, int]:
        return (to_decimal(0, self.scale), 0)

    def add(self, total: decimal.Decimal, value: decimal.Decimal) -> decimal.Decimal:
        return EXACT.add(total, value)

    def subtract(self, total: decimal.Decimal, value: decimal.Decimal) -> decimal.Decimal:
        return EXACT.subtract(total, value)

    def value(self, state: tuple[Any, int]) -> Any:
        total = super().value(state)
        return None if total is None or _too_long(total, self.scale) else total

    def running_sums(
        self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]
    ) -> tuple[Array, Array]:
        digits = [0 if s is None else to_unscaled(s[0], self.scale) for s in states]
        initial = np.array(digits) if _fit(digits) else objects(digits)
        found = self.steps(lines)
        if not may_overflow(found, initial):
            return initial, segments.totals(found, initial)
        initial, found = initial.astype(object), found.astype(object)
        segments.fold_initial(np.add, found, initial, np.ones(len(initial), dtype=np.bool_))
        return initial, segments.scan(np.add, found)

    def kept_sums(self, sums: Array) -> Array:
        return objects([to_decimal(total, self.scale) for total in sums.tolist()])

    def results(self, sums: Array, counts: Array, ended: Sequence[Any]) -> Running:
        valid = np.ones(len(sums), dtype=np.bool_) if self.zero else counts != 0
        return Running(sums, valid, ended)


def _fit(digits: list[int]) -> bool:
    return not digits or (min(digits) > -(1 << 62) and max(digits) < 1 << 62)


def _too_long(total: decimal.Decimal, scale: int) -> bool:
    return EXACT.scaleb(total, scale).copy_abs() >= _LARGEST_SUM


class LineAverage(LineSum):
    """AVG of whole numbers: a sum of 64 bits, divided without rest."""

    def value(self, state: tuple[int, int]) -> Any:
        total, count = state
        return None if count == 0 else _narrowed(_divided(total, count), self.result.arrow)

    def results(self, sums: Array, counts: Array, ended: Sequence[Any]) -> Running:
        valid = counts != 0
        divisors = np.where(valid, counts, 1)
        # towards zero, as Java divides
        found = np.where(
            (sums < 0) != (divisors < 0), -(abs(sums) // abs(divisors)), sums // divisors
        )
        lowest = sums == np.iinfo(np.int64).min
        if lowest.any():
            places = np.flatnonzero(lowest)
            found[places] = [
                _divided(a, b)
                for a, b in zip(sums[places].tolist(), divisors[places].tolist(), strict=True)
            ]
        return Running(found.astype(self.result.arrow.to_pandas_dtype()), valid, ended)


def _divided(total: int, count: int) -> int:
    found = abs(total) // abs(count)
    return -found if (total < 0) != (count < 0) else found


def _narrowed(value: int, kind: pa.DataType) -> int:
    half: int = 1 << (kind.bit_width - 1)
    return (value + half) % (2 * half) - half


class FloatAverage(FloatSum):
    """AVG of FLOAT or DOUBLE: a sum of doubles, divided."""

    def value(self, state: tuple[float, int]) -> Any:
        total, count = state
        if count == 0:
            return None
        found = np.float64(total) / count
        return to_float32(float(found)) if pa.types.is_float32(self.result.arrow) else float(found)

    def results(self, sums: Array, counts: Array, ended: Sequence[Any]) -> Running:
        valid = counts != 0
        with np.errstate(all="ignore"):
            found = (sums / np.where(valid, counts, 1)).astype(self.result.arrow.to_pandas_dtype())
        return Running(found, valid, ended)


class DecimalAverage(DecimalSum):
    """AVG of DECIMAL: rounded half up to the digits of the result."""

    def value(self, state: tuple[Any, int]) -> Any:
        total, count = state
        if count == 0 or _too_long(total, self.scale):
            return None
        step = decimal.Decimal(1).scaleb(-self.result.arrow.scale)
        found = EXACT.quantize(EXACT.divide(total, decimal.Decimal(count)), step)
        return None if _too_long(found, self.result.arrow.scale) else found

    def results(self, sums: Array, counts: Array, ended: Sequence[Any]) -> Running:
        shift = 10 ** (self.result.arrow.scale - self.scale)
        valid = (counts != 0) & (abs(sums) < _LARGEST_SUM)
        found = [
            _half_up(total * shift, count) if is_valid else 0
            for total, count, is_valid in zip(
                sums.tolist(), counts.tolist(), valid.tolist(), strict=True
            )
        ]
        return Running(objects(found), valid.astype(np.bool_), ended)


def _half_up(total: int, count: int) -> int:
    """The quotient, a half away from zero."""
    whole, rest = divmod(abs(total), abs(count))
    whole += 2 * rest >= abs(count)
    return -whole if (total < 0) != (count < 0) else whole
