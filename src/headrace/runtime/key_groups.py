"""Which key goes where: key -> hash -> key group -> subtask, the same in every process and machine.

Python's own hash of text changes with every process, so it cannot route records or find state.
Equal keys must get equal hashes whatever their type says: 1 == 1.0 == True == Decimal(1).
Next: runtime/exchange/partition.py, which applies this to whole buffers.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import uuid
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.common.types import Row
from headrace.errors import KeyTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_MASK = 0xFFFFFFFF
_MASK64 = 0xFFFFFFFFFFFFFFFF
_MULTIPLIER = 0x9E3779B97F4A7C15
# CPython reduces numbers modulo this prime before hashing; below it an int is its own hash.
_NUMBER_LIMIT = (1 << 61) - 1


def stable_hash(key: Any) -> int:
    """A 32-bit hash of a key, equal for equal keys, in every process.

    Raises:
        KeyTypeError: for types without a stable meaning as a key, and for NaN.
    """
    hasher = _HASHERS.get(type(key))
    if hasher is None:
        hasher = _hasher_for(key)
    return hasher(key)


def key_group_of(key: Any, max_parallelism: int) -> int:
    """The key group of a key: fixed for the life of the job's state."""
    return stable_hash(key) % max_parallelism


def subtask_of(key_group: int, parallelism: int, max_parallelism: int) -> int:
    """The subtask that owns a key group; groups are dealt out in contiguous ranges."""
    return key_group * parallelism // max_parallelism


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """The key groups that a subtask owns."""
    first = -(-subtask * max_parallelism // parallelism)
    last = -(-(subtask + 1) * max_parallelism // parallelism)
    return range(first, last)


def default_max_parallelism(parallelism: int) -> int:
    """Flink's default: 1.5 times the parallelism as a power of two, within 128 and 32768."""
    wanted = parallelism + parallelism // 2
    return min(max(1 << max(wanted - 1, 0).bit_length(), 128), 32768)


def _mix(number: int) -> int:
    return (((number & _MASK64) * _MULTIPLIER) & _MASK64) >> 32


def _hash_number(key: Any) -> int:
    if key != key:  # NaN: CPython hashes it by address, and no lookup finds it again
        raise _not_a_key(key)
    return _mix(hash(key))


def _hash_text(key: str) -> int:
    return _mix(zlib.crc32(key.encode("utf-8", "surrogatepass")) + 1)


def _hash_bytes(key: Any) -> int:
    return _mix(zlib.crc32(key) + 2)


def _hash_sequence(key: Any) -> int:
    result = 7
    for item in key:
        result = (result * 1000003 + stable_hash(item)) & _MASK64
    return _mix(result)


def _hash_set(key: Any) -> int:
    return _mix(sum(stable_hash(item) for item in key))


def _hash_datetime(key: dt.datetime) -> int:
    if key.tzinfo is not None:  # equal instants in different zones are equal keys
        return _hash_number(round((key - _EPOCH) / dt.timedelta(microseconds=1)))
    return _hash_text(key.isoformat())


def _hash_time(key: dt.time) -> int:
    offset = key.utcoffset()
    if offset is None:
        return _hash_text(key.isoformat())
    since_midnight = dt.timedelta(
        hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond
    )
    return _hash_number((since_midnight - offset) / dt.timedelta(microseconds=1))


def _hash_fields(key: Any) -> int:
    # only the fields that decide whether two objects are equal
    return _hash_sequence([getattr(key, f.name) for f in dataclasses.fields(key) if f.compare])


def _hash_enum(key: Any) -> int:
    return _hash_text(f"{type(key).__name__}.{key.name}")


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_HASHERS: dict[type, Callable[[Any], int]] = {
    type(None): lambda key: 0,
    bool: _hash_number,
    int: _hash_number,
    float: _hash_number,
    decimal.Decimal: _hash_number,
    str: _hash_text,
    bytes: _hash_bytes,
    tuple: _hash_sequence,
    frozenset: _hash_set,
    Row: lambda key: _hash_sequence(tuple(key)),
    dt.datetime: _hash_datetime,
    dt.date: lambda key: _hash_text(key.isoformat()),
    dt.time: _hash_time,
    dt.timedelta: lambda key: _hash_number(key / dt.timedelta(microseconds=1)),
    uuid.UUID: lambda key: _hash_number(key.int),
}


def _hasher_for(key: Any) -> Callable[[Any], int]:
    """Find the hasher of a type seen for the first time, and remember it."""
    hasher: Callable[[Any], int]
    kind = type(key)
    if isinstance(key, enum.Enum) and not isinstance(key, int | str):  # an IntEnum equals its int
        hasher = _hash_enum
    elif isinstance(key, np.generic):
        return lambda value: stable_hash(value.item())
    elif isinstance(key, tuple):  # NamedTuples equal plain tuples
        hasher = _hash_sequence
    elif dataclasses.is_dataclass(key) and kind.__hash__ is not None:
        hasher = _hash_fields
    elif isinstance(key, int | str) and kind.__hash__ is not None:
        hasher = _hash_number if isinstance(key, int) else _hash_text
    else:
        raise _not_a_key(key)
    _HASHERS[kind] = hasher
    return hasher


def _not_a_key(key: Any) -> KeyTypeError:
    if key != key:
        return KeyTypeError(
            f"the key selector returned {key!r}, which does not equal itself, so its state could "
            "never be found again",
            fix="filter such records out before key_by, or map NaN to a value of its own",
        )
    fix = "return a str, number, bytes, date, tuple of these, NamedTuple or frozen dataclass"
    if isinstance(key, list):
        fix = "return a tuple instead of a list"
    return KeyTypeError(
        f"a key of type {type(key).__name__} cannot be hashed the same way on every machine "
        f"(value {key!r:.100})",
        fix=fix,
    )


def hash_column(column: pa.Array) -> NDArray[np.uint64]:
    """`stable_hash` of every value of an Arrow column, without a Python call per value."""
    if column.null_count:
        return np.array([stable_hash(key) for key in column.to_pylist()], dtype=np.uint64)
    if pa.types.is_integer(column.type):
        numbers = column.to_numpy(zero_copy_only=False)
        if numbers.dtype != np.uint64 and (
            len(numbers) == 0 or (numbers.min() > -_NUMBER_LIMIT and numbers.max() < _NUMBER_LIMIT)
        ):
            return _mix_array(numbers.astype(np.int64, copy=False))
    encoded = column.dictionary_encode()
    hashes = np.array([stable_hash(v) for v in encoded.dictionary.to_pylist()], dtype=np.uint64)
    found: NDArray[np.uint64] = hashes[encoded.indices.to_numpy(zero_copy_only=False)]
    return found


def _mix_array(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    if (numbers == -1).any():
        numbers = np.where(numbers == -1, -2, numbers)  # CPython's hash(-1) is -2
    mixed: NDArray[np.uint64] = (numbers.view(np.uint64) * np.uint64(_MULTIPLIER)) >> np.uint64(32)
    return mixed
