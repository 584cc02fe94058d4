"""The queries of Nexmark, as the files in queries/ have them.

In: a name such as `q5`, and where the events are.  Out: the statements that declare its tables, and
the one that runs it into a sink that drops what it gets.  Flink and headrace run the same text.
"""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).resolve().parent / "queries"
NAMES = tuple(f"q{number}" for number in (*range(6), 7, 8, 9, *range(11, 23)))
# what a query needs beside people, auctions and bids
FURTHER_TABLES = {"q12": "now", "q13": "side"}
SIDE_ROWS = 10_000


def query_of(job: str) -> str:
    """`nexmark-q5` runs q5."""
    return job.removeprefix("nexmark-")


def select(query: str) -> str:
    """The text of a query."""
    return (FOLDER / f"{query}.sql").read_text()


def tables(query: str, *, layout: str = "flat", events: Path | str, side: Path | str) -> list[str]:
    """The statements that declare what a query reads."""
    further = [FURTHER_TABLES[query]] if query in FURTHER_TABLES else []
    places = {"events": str(events), "side": str(side)}
    return [
        statement
        for name in (layout, *further)
        for statement in _statements((FOLDER / f"tables_{name}.sql").read_text(), places)
    ]


def _statements(script: str, places: dict[str, str]) -> Iterator[str]:
    for text in Template(script).substitute(places).split(";"):
        if text.strip():
            yield text.strip()


def into_nothing(query: str) -> str:
    """The statement that runs a query and drops its results."""
    return f"CREATE TABLE dropped WITH ('connector' = 'blackhole') AS\n{select(query)}"


def write_side(folder: Path) -> None:
    """The table that q13 looks into: a text for each of 10,000 keys, older than all events."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    rows = {
        "key": pa.array(range(SIDE_ROWS), pa.int64()),
        "value": [f"value-{key}" for key in range(SIDE_ROWS)],
        "since": pa.array([0] * SIDE_ROWS, pa.int64()).cast(pa.timestamp("ms")),
    }
    pq.write_table(pa.table(rows), folder / "side.parquet")
