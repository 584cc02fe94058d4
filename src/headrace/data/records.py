"""A list of records on its way through a chain, as Python values, as an Arrow batch, or both.

Converting costs more than most user functions, so each form is made only on demand:
a record that goes from a file through key_by(column) to an exchange never becomes a Python object.
Next: runtime/operators/base.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from headrace.data.codec import Codec

MIN_TIMESTAMP = -(1 << 63)
MAX_TIMESTAMP = (1 << 63) - 1


class Records:
    """Some records of one stream, in order; `timestamps` is None where the stream has none."""

    __slots__ = ("_batch", "_codec", "_values", "timestamps")

    def __init__(
        self,
        values: list[Any] | None = None,
        timestamps: list[int] | None = None,
        *,
        batch: pa.RecordBatch | None = None,
        codec: Codec | None = None,
    ) -> None:
        self._values = values
        self._batch = batch
        self._codec = codec
        self.timestamps = timestamps

    def __len__(self) -> int:
        if self._values is not None:
            return len(self._values)
        return 0 if self._batch is None else int(self._batch.num_rows)

    @property
    def values(self) -> list[Any]:
        """The records as Python objects."""
        if self._values is None:
            assert self._codec is not None
            assert self._batch is not None
            self._values = self._codec.decode(self._batch)
        return self._values

    @property
    def batch(self) -> pa.RecordBatch | None:
        """The records as an Arrow batch, if they already are one."""
        return self._batch

    @property
    def columns(self) -> pa.RecordBatch | None:
        """The batch, as long as no objects were asked for: those may be other than it gives."""
        return self._batch if self._values is None else None

    @property
    def codec(self) -> Codec | None:
        """What made the batch, if there is one."""
        return self._codec

    def encoded(self, codec: Codec) -> pa.RecordBatch:
        """The records as an Arrow batch of `codec`'s schema."""
        if self._batch is None or self._batch.schema != codec.schema:
            self._batch = codec.encode(self.values)
            self._codec = codec  # parts cut from the batch must find their way back
        return self._batch

    def pairs(self) -> Iterable[tuple[Any, int | None]]:
        """(value, timestamp) of every record."""
        if self.timestamps is None:
            return ((value, None) for value in self.values)
        return zip(self.values, self.timestamps, strict=True)

    def slice(self, start: int, count: int) -> Records:
        """Some of the records."""
        times = None if self.timestamps is None else self.timestamps[start : start + count]
        if self._batch is not None:
            return Records(
                timestamps=times, batch=self._batch.slice(start, count), codec=self._codec
            )
        return Records(self.values[start : start + count], times)

    def pick(self, chosen: NDArray[np.int64]) -> Records:
        """The records at some places, in the order of the places."""
        times, places = self.timestamps, chosen.tolist()
        picked_times = None if times is None else list(map(times.__getitem__, places))
        if self._batch is not None:
            picked = self._batch.take(pa.array(chosen))
            return Records(timestamps=picked_times, batch=picked, codec=self._codec)
        return Records(list(map(self.values.__getitem__, places)), picked_times)

    def with_timestamps(self, timestamps: list[int]) -> Records:
        """The same records at other times; other consumers keep seeing the old ones."""
        return Records(self._values, timestamps, batch=self._batch, codec=self._codec)

    def with_values(self, values: list[Any]) -> Records:
        """One new value for each record, with its timestamp kept."""
        return Records(values, self.timestamps)


def joined(parts: list[Records]) -> Records:
    """Lists of one stream as one; among others, a record without a timestamp has the lowest."""
    if len(parts) == 1:
        return parts[0]
    times: list[int] | None = None
    if any(part.timestamps is not None for part in parts):
        none = MIN_TIMESTAMP
        times = [t for part in parts for t in part.timestamps or [none] * len(part)]
    batches = [part.batch for part in parts if part.batch is not None]
    if len(batches) == len(parts) and len({id(part.codec) for part in parts}) == 1:
        whole = pa.Table.from_batches(batches).combine_chunks().to_batches()
        if len(whole) == 1:
            return Records(timestamps=times, batch=whole[0], codec=parts[0].codec)
    return Records([value for part in parts for value in part.values], times)
