"""Parquet files read in the worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common import Row, Types
from headrace.common.type_inference import infer_type
from headrace.connectors.files.parquet_parts import is_plain, read_parquet
from headrace.data.codec import codec_for
from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from pathlib import Path

ROW = Types.ROW_NAMED(["id", "name", "share"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])


def read(path: Path, row_type: Any = ROW) -> list[Any]:
    parts = read_parquet(path.as_uri(), codec_for(row_type))
    return [record for records in parts for record in records.values]


def test_columns_become_records_in_the_declared_order(tmp_path: Path) -> None:
    file = tmp_path / "a b%.parquet"
    table = pa.table({"name": ["x", None], "share": [0.5, 1.5], "id": [1, 2], "more": [7, 8]})
    pq.write_table(table, file)
    assert read(file) == [Row(id=1, name="x", share=0.5), Row(id=2, name=None, share=1.5)]


def test_a_file_of_many_row_groups_is_read_in_order(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": list(range(1000))}), file, row_group_size=64)
    assert [row.id for row in read(file)] == list(range(1000))


def test_narrow_numbers_widen_and_missing_columns_are_none(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    table = pa.table({"id": pa.array([1], pa.int32()), "share": pa.array([0.5], pa.float32())})
    pq.write_table(table, file)
    assert read(file) == [Row(id=1, name=None, share=0.5)]


def test_records_of_a_class(tmp_path: Path) -> None:
    class Event(NamedTuple):
        id: int
        name: str

    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1], "name": ["x"]}), file)
    [event] = read(file, infer_type(Event))
    assert event == Event(1, "x")
    assert type(event) is Event


def test_a_column_of_another_type_names_itself_and_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": ["text"]}), file)
    with pytest.raises(ConnectorError, match=r"column 'id' of the file is string") as caught:
        read(file)
    assert "a.parquet" in str(caught.value.where)


@pytest.mark.parametrize("content", [None, b"", b"no parquet at all"])
def test_a_file_that_is_gone_or_broken_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "a.parquet"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConnectorError, match="could not be read") as caught:
        read(file)
    assert "a.parquet" in str(caught.value.where)


def test_types_that_look_different_in_a_file_are_left_to_spark() -> None:
    assert is_plain(ROW)
    assert not is_plain(Types.ROW_NAMED(["at"], [Types.SQL_TIMESTAMP()]))
    assert not is_plain(Types.ROW_NAMED(["all"], [Types.LIST(Types.LONG())]))
