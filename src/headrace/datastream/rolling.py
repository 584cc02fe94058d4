"""sum, min, max, min_by and max_by: the same five methods for keyed streams and for windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream


class RollingAggregates(ABC):
    """Aggregates over one field: rolling ones on a keyed stream, one result a window on windows.

    A field is a position of a tuple or row, or a name. `sum`, `min` and `max` keep the other fields
    of the first record; `min_by` and `max_by` give whole records, the first of equals.
    """

    @abstractmethod
    def _rolling(self, kind: str, field: int | str) -> DataStream:
        """The stream of one of the five."""

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The sum of a field."""
        return self._rolling("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The smallest value of a field."""
        return self._rolling("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The largest value of a field."""
        return self._rolling("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The record with the smallest value of a field."""
        return self._rolling("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The record with the largest value of a field."""
        return self._rolling("max_by", position_to_max_by)
