"""Keys find their subtask: the same in every process, for every spelling of an equal key."""

from __future__ import annotations

import datetime as dt
import enum
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.types import Row
from headrace.errors import KeyTypeError
from headrace.runtime.key_groups import (
    default_max_parallelism,
    hash_column,
    key_group_of,
    key_group_range,
    stable_hash,
    subtask_of,
)


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Unit(enum.StrEnum):
    METRE = "m"


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class User:
    id: int
    seen: int = field(default=0, compare=False)


_KEYS = """[0, -1, 1, 2**61 - 1, 2**61, -(2**70), 1.5, True, 'a', '', 'grün', b'a', ('a', 1, None),
    frozenset({'a', 'b', 'c'}), Decimal('2.5'), dt.date(2024, 5, 6), dt.datetime(2024, 5, 6, 7),
    dt.datetime(2024, 5, 6, 7, tzinfo=dt.UTC), dt.time(1, 2), dt.timedelta(hours=1),
    uuid.UUID(int=7)]"""
_SCRIPT = f"""
import datetime as dt, uuid
from decimal import Decimal
from headrace.runtime.key_groups import stable_hash
print([stable_hash(key) for key in {_KEYS}])
"""


@pytest.mark.parametrize("seed", ["0", "12345"])
def test_hashes_are_the_same_in_processes_with_other_hash_seeds(seed: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = {"dt": dt, "Decimal": Decimal, "uuid": uuid}
    assert found.strip() == str([stable_hash(key) for key in eval(_KEYS, names)])


def test_hashes_stay_what_they_are_because_stored_state_depends_on_them() -> None:
    groups = [key_group_of(key, 128) for key in (1, 2, 42, "a", "b", ("a", 1), b"a", 1.5)]
    assert groups == [57, 114, 110, 112, 10, 108, 42, 57]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (1, Decimal(1)),
        (1, np.int32(1)),
        (1, Level.LOW),
        (0.5, Decimal("0.5")),
        (0.5, np.float64(0.5)),
        (0.0, -0.0),
        (2**70, float(2**70)),
        ("m", Unit.METRE),
        ((1, 2), Point(1, 2)),
        ((1, 2), (1.0, Decimal(2))),
        (User(1, seen=1), User(1, seen=2)),
        (frozenset({1, 2}), frozenset({2.0, 1.0})),
        (Row(1, 2), Row(1.0, 2)),
        (
            dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC),
            dt.datetime(2024, 1, 1, 14, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        ),
        (
            dt.time(12, 30, tzinfo=dt.UTC),
            dt.time(14, 30, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        ),
        (dt.datetime(2024, 1, 1, fold=0), dt.datetime(2024, 1, 1, fold=1)),
    ],
)
def test_equal_keys_of_different_types_have_equal_hashes(one: Any, other: Any) -> None:
    assert one == other
    assert stable_hash(one) == stable_hash(other)


_scalars = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.decimals(allow_nan=False),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
)
_keys = st.recursive(_scalars, lambda inner: st.tuples(inner, inner), max_leaves=4)


@given(_keys, _keys)
def test_equal_keys_have_equal_hashes(one: Any, other: Any) -> None:
    if one == other:
        assert stable_hash(one) == stable_hash(other)


@given(st.integers(-(2**62), 2**62))
def test_numbers_of_equal_value_have_equal_hashes(number: int) -> None:
    assert stable_hash(number) == stable_hash(Decimal(number))
    if int(float(number)) == number:
        assert stable_hash(number) == stable_hash(float(number))


def test_none_inside_a_tuple_is_part_of_the_key() -> None:
    assert stable_hash(("a", None)) != stable_hash(("a", "x"))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_a_column_of_longs_hashes_as_its_values(values: list[int]) -> None:
    assert hash_column(pa.array(values, pa.int64())).tolist() == [stable_hash(v) for v in values]


@pytest.mark.parametrize("arrow", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint64()])
def test_a_column_of_any_integer_type_hashes_as_its_values(arrow: pa.DataType) -> None:
    values = [0, 1, 2, 127] + ([] if str(arrow).startswith("u") else [-1, -128])
    assert hash_column(pa.array(values, arrow)).tolist() == [stable_hash(v) for v in values]


@given(st.lists(st.text(max_size=3), max_size=20))
def test_a_column_of_texts_hashes_as_its_values(values: list[str]) -> None:
    assert hash_column(pa.array(values, pa.string())).tolist() == [stable_hash(v) for v in values]


@given(st.lists(st.floats(allow_nan=False), max_size=20), st.lists(st.booleans(), max_size=5))
def test_columns_of_floats_and_booleans_hash_as_their_values(
    floats: list[float], flags: list[bool]
) -> None:
    for values, arrow in ((floats, pa.float64()), (flags, pa.bool_())):
        assert hash_column(pa.array(values, arrow)).tolist() == [stable_hash(v) for v in values]


def test_a_column_with_a_null_hashes_as_its_values() -> None:
    assert hash_column(pa.array([1, None])).tolist() == [stable_hash(1), stable_hash(None)]


@given(st.integers(1, 64), st.integers(0, 300))
def test_ranges_of_the_subtasks_partition_all_key_groups(parallelism: int, more: int) -> None:
    groups = parallelism + more
    owned = [key_group_range(s, parallelism, groups) for s in range(parallelism)]
    assert [group for part in owned for group in part] == list(range(groups))
    for subtask, part in enumerate(owned):
        assert len(part) > 0
        assert {subtask_of(group, parallelism, groups) for group in part} == {subtask}


def test_key_group_ranges_are_flinks() -> None:
    ranges = [key_group_range(s, 3, 128) for s in range(3)]
    assert ranges == [range(43), range(43, 86), range(86, 128)]  # V9.2


@pytest.mark.parametrize(
    ("parallelism", "groups"),
    [(1, 128), (85, 128), (86, 256), (100, 256), (200, 512), (30000, 32768)],
)
def test_default_max_parallelism_is_flinks(parallelism: int, groups: int) -> None:
    assert default_max_parallelism(parallelism) == groups  # V9.3


def test_keys_spread_over_subtasks() -> None:
    for keys in (range(4000), [f"user-{n}" for n in range(4000)], [n * 128 for n in range(4000)]):
        counts = np.bincount([subtask_of(key_group_of(k, 128), 4, 128) for k in keys], minlength=4)
        assert counts.min() > 700


@pytest.mark.parametrize(
    ("key", "message", "fix"),
    [
        ([1], "type list", "tuple instead of a list"),
        ({"a": 1}, "type dict", "return a str"),
        ((1, [2]), "type list", "tuple instead of a list"),
        (object(), "type object", "return a str"),
        (float("nan"), "does not equal itself", "map NaN"),
        (np.float64("nan"), "does not equal itself", "map NaN"),
        (Decimal("NaN"), "does not equal itself", "map NaN"),
    ],
)
def test_a_bad_key_is_refused_with_a_way_out(key: Any, message: str, fix: str) -> None:
    with pytest.raises(KeyTypeError, match=message) as caught:
        stable_hash(key)
    assert caught.value.fix is not None
    assert fix in caught.value.fix


def test_members_of_a_plain_enum_are_keys_by_name() -> None:
    assert stable_hash(Color.RED) == stable_hash(Color["RED"])
    assert stable_hash(Color.RED) != stable_hash(1)
