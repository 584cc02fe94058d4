"""Keys of lines: the same key, hash and subtask, however they are made."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.common.data_types import DataTypes
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.runtime.exchange.partition import KeyGroups
from headrace.runtime.key_groups import key_group_of, stable_hash, subtask_of
from headrace.runtime.table.keying import LineKeying, key_column, key_values
from table_operators import lines_of

NAN = float("nan")
D = DataTypes
COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "int": (D.INT(), [1, None, -1, 0, 1]),
    "bigint": (D.BIGINT(), [1 << 62, None, -(1 << 63), 7, 1 << 61]),
    "boolean": (D.BOOLEAN(), [True, False, None, True, False]),
    "string": (D.STRING(), ["a", "", None, "ä", "a"]),
    "bytes": (D.BYTES(), [b"a", b"", None, b"\0", b"a"]),
    "double": (D.DOUBLE(), [1.5, NAN, None, -0.0, 0.0]),
    "float": (D.FLOAT(), [1.5, NAN, None, -0.0, 0.0]),
    "decimal": (
        D.DECIMAL(20, 2),
        [Decimal("1.50"), None, Decimal("-0.01"), Decimal(7), Decimal(0)],
    ),
    "date": (D.DATE(), [dt.date(2020, 1, 1), None, dt.date(1, 1, 1), dt.date(9999, 1, 1), None]),
    "time": (D.TIME(), [dt.time(1, 2, 3), None, dt.time(0), dt.time(23, 59, 59, 999999), None]),
    "timestamp": (D.TIMESTAMP(3), [dt.datetime(2020, 1, 1), None, dt.datetime(1960, 1, 1)] * 2),
    "nanoseconds": (D.TIMESTAMP(9), [dt.datetime(2020, 1, 1), None, dt.datetime(1960, 1, 1)] * 2),
    "instant": (D.TIMESTAMP_LTZ(3), [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None] * 2),
    "array": (D.ARRAY(D.DOUBLE()), [[1.0, NAN], None, [], [None], [1.0, NAN]]),
    "row": (D.ROW([D.FIELD("x", D.INT()), D.FIELD("y", D.STRING())]), [(1, "a"), None, (None, "")]),
    "map": (D.MAP(D.STRING(), D.INT()), [{"a": 1}, None, {}]),
}


def batch_of(*names: str) -> Records:
    kinds = [COLUMNS[name][0] for name in names]
    count = min(len(COLUMNS[name][1]) for name in names)
    rows = [tuple(COLUMNS[name][1][n] for name in names) for n in range(count)]
    codec = codec_for(lines_of(*kinds))
    return Records(batch=codec.encode(rows), codec=codec)


ALONE = [(name,) for name in COLUMNS]


@pytest.mark.parametrize("names", [*ALONE, ("int", "string"), ("double", "date", "array"), ()])
def test_hashes_of_columns_are_those_of_keys(names: tuple[str, ...]) -> None:
    records = batch_of(*(names or ("int",)))
    keying = LineKeying(range(len(names)))
    keys = keying.keys(records)
    assert len(keys) == len(records)
    hashes = keying.hashes(records)
    assert hashes is not None
    assert hashes.tolist() == [stable_hash(key) for key in keys]


@pytest.mark.parametrize("names", [*ALONE, ("int", "string"), ("double", "row")])
def test_codes_number_the_same_keys(names: tuple[str, ...]) -> None:
    records = batch_of(*names)
    keying = LineKeying(range(len(names)))
    assert records.batch is not None
    codes = keying.codes_of(records.batch.columns, len(records))
    keys = keying.keys(records)
    assert [codes.keys[number] for number in codes.numbers.tolist()] == keys
    assert codes.keys == list(dict.fromkeys(keys))


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_come_back_from_keys(name: str) -> None:
    column = batch_of(name).batch.column(0)  # type: ignore[union-attr]
    back = key_column(key_values(column), column.type)
    assert repr(back.to_pylist()) == repr(column.to_pylist())


def test_flink_has_one_nan_and_two_zeros() -> None:
    column = pa.array([NAN, 0.0, -0.0, np.float64("nan"), None])
    keys = LineKeying((0,)).codes_of([column], 5)
    assert keys.numbers.tolist() == [0, 1, 2, 0, 3]


def test_lines_go_where_a_savepoint_would_put_their_keys() -> None:
    records = batch_of("string", "double")
    partitioning = KeyGroups(LineKeying((0, 1)))
    partitioning.open(0, 3, 128)
    routed = {
        key: target
        for target, part in partitioning.route(records)
        for key in LineKeying((0, 1)).keys(part)
    }
    assert len(routed) == 5
    for key, target in routed.items():
        assert target == subtask_of(key_group_of(key, 128), 3, 128)


def test_lines_that_are_objects_have_the_same_keys() -> None:
    for name in ("int", "string", "double", "date", "array", "row", "map"):
        records = batch_of(name, "int")
        keying = LineKeying((0, 1))
        assert keying.keys(Records(list(records.values))) == keying.keys(records)
