"""Files that a job writes, read back by other libraries."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds

from headrace.common import Row, Types
from headrace.datastream.connectors.file_system import FileSink

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

ORDER = Types.ROW_NAMED(["id", "city"], [Types.LONG(), Types.STRING()])


def files_of(folder: Path, suffix: str) -> list[Path]:
    """What a reader of the folder sees: no hidden files, no folders of headrace's own."""
    return sorted(folder.glob(f"[!._]*{suffix}"))


def test_every_file_format_gives_back_what_was_written(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    rows = [Row(id=n, city=["Rome", 'St. "X", Y', "Øst"][n % 3]) for n in range(12)]
    orders = env.from_collection(rows, ORDER).map(lambda row: row, ORDER)
    orders.sink_to(FileSink.parquet(str(tmp_path / "parquet")))
    orders.sink_to(FileSink.json(str(tmp_path / "json")))
    orders.sink_to(FileSink.csv(str(tmp_path / "csv")))
    orders.map(lambda row: row.city, Types.STRING()).sink_to(FileSink.text(str(tmp_path / "text")))
    orders.sink_to(
        FileSink.json(str(tmp_path / "buckets"), bucket=lambda row: f"third={row.id % 3}")
    )

    env.execute("formats")

    expected: list[Any] = [{"id": row.id, "city": row.city} for row in rows]
    parquet = files_of(tmp_path / "parquet", ".parquet")
    table = ds.dataset([str(file) for file in parquet]).to_table()
    assert sorted(table.to_pylist(), key=lambda row: row["id"]) == expected
    assert len(parquet) >= 3  # one a batch, at least

    lines = [line for file in files_of(tmp_path / "json", ".json") for line in file.open()]
    assert sorted(map(json.loads, lines), key=lambda row: row["id"]) == expected

    cells = []
    for file in files_of(tmp_path / "csv", ".csv"):
        with file.open(newline="") as content:
            cells += [{**row, "id": int(row["id"])} for row in csv.DictReader(content)]
    assert sorted(cells, key=lambda row: row["id"]) == expected

    text = "".join(file.read_text() for file in files_of(tmp_path / "text", ".txt"))
    assert sorted(text.splitlines()) == sorted(row["city"] for row in expected)

    for third in range(3):
        bucket = files_of(tmp_path / "buckets" / f"third={third}", ".json")
        ids = [json.loads(line)["id"] for file in bucket for line in file.open()]
        assert sorted(ids) == [n for n in range(12) if n % 3 == third]
