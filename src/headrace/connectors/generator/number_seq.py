"""The numbers from start to end as a bounded stream.

In: two bounds.  Out: longs, in order inside each parallel piece.  Next:
hosts/spark/sources/python_source.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headrace.common.typeinfo import Types
from headrace.errors import InvalidArgumentError
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from headrace.common.typeinfo import TypeInformation

__all__ = ["NumberSequenceSource"]

_CHUNK = 65_536


class NumberSequenceSource(PythonSource):
    """Produces the longs ``start`` to ``end``, both included.

    Each parallel reader gets a contiguous piece of every batch and produces it in order; with
    parallelism one the whole sequence is in order.

    Args:
        start: the first number.
        end: the last number, not below ``start``.

    Raises:
        InvalidArgumentError: ``start`` is greater than ``end``.
    """

    divisible: ClassVar[bool] = True

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise InvalidArgumentError(
                f"a number sequence needs start <= end, got start={start}, end={end}",
                fix="swap the two arguments",
            )
        if start < -(2**63) or end >= 2**63:
            raise InvalidArgumentError(
                f"a number sequence holds 64-bit longs, got start={start}, end={end}",
                fix="keep both bounds within -2**63 .. 2**63-1",
            )
        self._start = start
        self._end = end

    def latest_offset(self, split: str, start: int) -> int:
        """How many numbers there are."""
        return self._end - self._start + 1

    def read(self, split: str, start: int, end: int) -> Iterator[int]:
        """The numbers of a range of offsets, counted from 0."""
        return iter(range(self._start + start, self._start + end))

    def read_columns(self, split: str, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """The same as one Arrow column."""
        import numpy as np
        import pyarrow as pa

        for low in range(start, end, _CHUNK):
            count = min(_CHUNK, end - low)
            numbers = np.arange(count, dtype=np.int64) + (self._start + low)
            yield pa.record_batch({"value": pa.array(numbers)})

    def produced_type(self) -> TypeInformation:
        """``Types.LONG()``."""
        return Types.LONG()

    def boundedness(self) -> Boundedness:
        """A sequence ends, if late."""
        return Boundedness.BOUNDED

    def describe(self) -> str:
        """``NumberSequenceSource(1..100)``."""
        return f"NumberSequenceSource({self._start}..{self._end})"
