"""Made-up records: a function of the record's number, at a chosen rate.

In: a function of an index (or of a whole numpy array of them).  Out: its results, replayable
because the index is the offset.  Next: hosts/spark/sources/python_source.py
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.data.codec import codec_for
from headrace.errors import InvalidArgumentError, TypeMismatchError
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import pyarrow as pa

    from headrace.common.typeinfo import TypeInformation

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]

_CHUNK = 65_536
# "As much as you like" for an endless generator: a batch never takes more than this at once.
_ENDLESS_STEP = 2**40


class GeneratorFunction(ABC):
    """Turns the number of a record into the record. A plain function works as well.

    The same index must always give the same record: after a failure it is generated again. Seed
    random numbers with the index, as in ``random.Random(index)``.
    """

    def open(self) -> None:  # noqa: B027 - most generators need none
        """Called in the worker before the first `map` of each range."""

    @abstractmethod
    def map(self, value: int) -> Any:
        """The record number ``value``, counted from 0."""

    def close(self) -> None:  # noqa: B027 - most generators need none
        """Called after the last `map` of each range."""


class RateLimiterStrategy(ABC):
    """How fast a `DataGeneratorSource` may go."""

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """So many records a second on average, over all parallel readers.

        Counted from the start of the job, or of its restart: a job that falls behind catches up,
        the time a job was down is not made up for.
        """
        return _PerSecond(records_per_second)

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """So many records a checkpoint, which in headrace is one batch."""
        return _PerCheckpoint(records_per_checkpoint)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """No limit but the size of a batch."""
        return _Unlimited()

    @abstractmethod
    def permitted(self, start: int) -> int:
        """The offset up to which may be generated now, given that all before ``start`` is."""

    @abstractmethod
    def describe(self) -> str:
        """A few words for the plan."""


class _PerSecond(RateLimiterStrategy):
    def __init__(self, rate: float) -> None:
        _require_positive("records_per_second", rate)
        self._rate = rate
        # rebuilt on open: when this process was first asked, and for which offset. Offsets never
        # go backwards after a restart, because counting begins at the offset asked for.
        self._anchor: tuple[float, int] | None = None

    def __getstate__(self) -> dict[str, object]:
        # time.monotonic() means nothing in another process.
        return {"_rate": self._rate, "_anchor": None}

    def permitted(self, start: int) -> int:
        now = time.monotonic()
        if self._anchor is None:
            self._anchor = (now, start)
        since, first = self._anchor
        return max(start, first + int((now - since) * self._rate))

    def describe(self) -> str:
        return f"{self._rate:g}/s"


class _PerCheckpoint(RateLimiterStrategy):
    def __init__(self, records: int) -> None:
        _require_positive("records_per_checkpoint", records)
        self._records = records

    def permitted(self, start: int) -> int:
        return start + self._records

    def describe(self) -> str:
        return f"{self._records} a checkpoint"


class _Unlimited(RateLimiterStrategy):
    def permitted(self, start: int) -> int:
        return start + _ENDLESS_STEP

    def describe(self) -> str:
        return "no rate limit"


class DataGeneratorSource(PythonSource):
    """Generates records from their numbers 0, 1, 2, ...

    Args:
        generator_function: a `GeneratorFunction`, or a function of the index.
        count: how many records; None for an endless stream.
        rate_limiter_strategy: how fast; without one as fast as batches go.
        type_info: the records' type; None means pickled, which is slower.

    Example:
        >>> source = DataGeneratorSource(
        ...     lambda index: (f"user-{index % 10}", index),
        ...     1000,
        ...     RateLimiterStrategy.per_second(100),
        ...     Types.TUPLE([Types.STRING(), Types.LONG()]),
        ... )

    For high rates generate columns instead of records, see `vectorized`.

    Coming from Flink: ``count`` may be None; Flink users write ``Long.MAX_VALUE`` for that.
    """

    divisible: ClassVar[bool] = True

    def __init__(
        self,
        generator_function: GeneratorFunction | Callable[[int], Any],
        count: int | None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        type_info: TypeInformation | None = None,
    ) -> None:
        if count is not None and count < 0:
            raise InvalidArgumentError(
                f"count must not be negative, got {count}", fix="use None for an endless stream"
            )
        if not (isinstance(generator_function, GeneratorFunction) or callable(generator_function)):
            raise InvalidArgumentError(
                "generator_function must be a GeneratorFunction or a function of the index, got "
                f"{type(generator_function).__name__}",
                fix="pass for example lambda index: index",
            )
        self._function: Any = generator_function
        self._count = count
        self._limiter = rate_limiter_strategy or RateLimiterStrategy.no_op()
        self._type_info = type_info
        self._columns_at_once = False

    @staticmethod
    def vectorized(
        function: Callable[[np.ndarray[Any, Any]], Any],
        count: int | None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        *,
        type_info: TypeInformation,
    ) -> DataGeneratorSource:
        """A generator that makes many records in one call, as columns.

        Args:
            function: gets a numpy array of indexes (int64), returns as many records: an array for
                a basic type; for a tuple or row an Arrow batch, a mapping from field name to
                array, or a list of arrays in the order of the fields.
            count: as for the class.
            rate_limiter_strategy: as for the class.
            type_info: the records' type; it must have columns, so it cannot be pickled.

        Example:
            >>> DataGeneratorSource.vectorized(
            ...     lambda index: {"f0": index % 1000, "f1": index * 0.5},
            ...     10_000_000,
            ...     type_info=Types.TUPLE([Types.LONG(), Types.DOUBLE()]),
            ... )
        """
        if codec_for(type_info).schema is None:
            raise InvalidArgumentError(
                f"a vectorized generator needs a type with columns, got {type_info}",
                fix="declare for example Types.LONG() or Types.ROW_NAMED(names, types)",
            )
        per_record: Any = function
        source = DataGeneratorSource(per_record, count, rate_limiter_strategy, type_info)
        source._columns_at_once = True
        return source

    def latest_offset(self, split: str, start: int) -> int:
        """As far as the rate and the count allow."""
        permitted = self._limiter.permitted(start)
        return permitted if self._count is None else min(permitted, max(start, self._count))

    def is_exhausted(self, position: Mapping[str, int]) -> bool:
        """Whether all records were made; the rate may hold some back for now."""
        return self._count is None or sum(position.values()) >= self._count

    def read(self, split: str, start: int, end: int) -> Iterator[Any]:
        """The records of these numbers, one call each."""
        function = self._function
        if not isinstance(function, GeneratorFunction):
            yield from map(function, range(start, end))
            return
        function.open()
        try:
            yield from map(function.map, range(start, end))
        finally:
            function.close()

    def read_columns(self, split: str, start: int, end: int) -> Iterator[pa.RecordBatch] | None:
        """The records of these numbers in chunks, for a vectorized generator."""
        return self._generate_columns(start, end) if self._columns_at_once else None

    def _generate_columns(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        import numpy as np

        assert self._type_info is not None
        schema = codec_for(self._type_info).schema
        assert schema is not None
        for low in range(start, end, _CHUNK):
            indexes = np.arange(low, min(low + _CHUNK, end), dtype=np.int64)
            batch = as_record_batch(self._function(indexes), schema)
            if batch.num_rows != len(indexes):
                raise TypeMismatchError(
                    f"the vectorized generator was given {len(indexes)} indexes and returned "
                    f"{batch.num_rows} records",
                    fix="return one record for every index",
                )
            yield batch

    def produced_type(self) -> TypeInformation:
        """The declared type, else pickled."""
        return self._type_info if self._type_info is not None else super().produced_type()

    def boundedness(self) -> Boundedness:
        """Bounded if there is a count."""
        return Boundedness.CONTINUOUS_UNBOUNDED if self._count is None else Boundedness.BOUNDED

    def describe(self) -> str:
        """``DataGeneratorSource(1000 records, 100/s)``."""
        size = "endless" if self._count is None else f"{self._count} records"
        return f"DataGeneratorSource({size}, {self._limiter.describe()})"


def as_record_batch(columns: Any, schema: pa.Schema) -> pa.RecordBatch:
    """What a vectorized generator returned, as one batch of ``schema``.

    Raises:
        TypeMismatchError: a column is missing or cannot be converted.
    """
    import pyarrow as pa

    values = _in_order(columns, schema)
    arrays = [_as_array(value, field) for value, field in zip(values, schema, strict=True)]
    try:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    except pa.ArrowInvalid as error:
        raise TypeMismatchError(
            f"the columns of a vectorized generator do not fit together: {error}",
            fix="return arrays of the same length, one entry for every index",
        ) from error


def _in_order(columns: Any, schema: pa.Schema) -> list[Any]:
    import pyarrow as pa

    if isinstance(columns, pa.RecordBatch | pa.Table):
        columns = {name: columns.column(name) for name in columns.schema.names}
    if isinstance(columns, Mapping):
        missing = [name for name in schema.names if name not in columns]
        if missing:
            raise TypeMismatchError(
                f"the vectorized generator returned columns {list(columns)}, without {missing}",
                fix=f"return all of {schema.names}",
            )
        return [columns[name] for name in schema.names]
    if len(schema) == 1 and not (isinstance(columns, list | tuple) and len(columns) == 1):
        return [columns]
    if not isinstance(columns, list | tuple) or len(columns) != len(schema):
        raise TypeMismatchError(
            f"the vectorized generator returned a {type(columns).__name__}, which does not give "
            f"the {len(schema)} columns {schema.names}",
            fix="return an Arrow batch, a dict of arrays or a list of arrays",
        )
    return list(columns)


def _as_array(value: Any, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    try:
        if isinstance(value, pa.ChunkedArray):
            value = value.combine_chunks()
        array = value if isinstance(value, pa.Array) else pa.array(value)
        return array if array.type.equals(field.type) else array.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TypeMismatchError(
            f"column {field.name!r} of a vectorized generator does not fit {field.type}: {error}",
            fix="return an array that can be cast to that type without loss",
        ) from error


def _require_positive(name: str, value: float) -> None:
    if not value > 0:
        raise InvalidArgumentError(
            f"{name} must be positive, got {value!r}",
            fix="use RateLimiterStrategy.no_op() for no limit",
        )
