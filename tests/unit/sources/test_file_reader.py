"""Which files workers read themselves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headrace.common import Types
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat
from headrace.hosts.spark.sources import file_reader
from headrace.hosts.spark.sources.file_reader import is_read_by_workers

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ROW = Types.ROW_NAMED(["id"], [Types.LONG()])


def source_of(path: Path) -> FileSource:
    return FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(ROW), str(path)).build()


def test_small_files_are_read_by_workers_and_large_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "a.parquet").write_bytes(b"x" * 100)
    assert is_read_by_workers(source_of(tmp_path))
    assert is_read_by_workers(source_of(tmp_path / "day=1" / "a.parquet"))

    monkeypatch.setattr(file_reader, "_WHOLE_FILE_BYTES", 99)
    assert not is_read_by_workers(source_of(tmp_path))
    assert not is_read_by_workers(source_of(tmp_path / "day=1" / "a.parquet"))


def test_a_file_that_is_gone_since_it_was_listed_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "walk", lambda folder: [(str(folder), [], ["gone.parquet"])])
    assert is_read_by_workers(source_of(tmp_path))
