"""Nexmark's queries have DuckDB's answers, in batches and as streams: the benchmark's texts."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import pyarrow.parquet as pq
import pytest

from headrace.common import RowKind
from headrace.table import EnvironmentSettings, TableEnvironment
from nexmark_answers import QUERIES, answers, events, queries

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 5_000
# a hundred seconds, so that there are windows and sessions; watermarks stay 4 s behind
PACE = events.Pace(events_per_s=50, disorder_ms=3_000)
# what the fewest rows must be for a comparison to say something
MANY = {"q2": 9, "q3": 9, "q4": 5, "q5": 40, "q7": 9, "q15": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The events in both layouts, in three files each."""
    made = tmp_path_factory.mktemp("nexmark")
    layouts: tuple[tuple[Literal["flat", "nested"], str], ...] = (
        ("flat", "events"),
        ("nested", "nested"),
    )
    for layout, name in layouts:
        events.write_files(made / name, events=COUNT, rows_per_file=2_000, layout=layout, pace=PACE)
    queries.write_side(made / "side")
    return made


@pytest.fixture(scope="module")
def wanted(folder: Path) -> dict[str, Counter[tuple[Any, ...]]]:
    """DuckDB's rows."""
    return {query: Counter(map(plain, rows)) for query, rows in answers(folder).items()}


def plain(row: Any) -> tuple[Any, ...]:
    """A row whose decimals do not show how many zeros they end with."""
    return tuple(v.normalize() if isinstance(v, Decimal) else v for v in row)


def table_of(
    settings: EnvironmentSettings,
    query: str,
    folder: Path,
    *,
    layout: str = "flat",
    parallelism: int,
) -> Counter[tuple[Any, ...]]:
    """The rows that are there in the end."""
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("headrace.execution.host", "local")
    t_env.get_config().set("parallelism.default", str(parallelism))
    place = folder / ("events" if layout == "flat" else "nested")
    for statement in queries.tables(query, layout=layout, events=place, side=folder / "side"):
        t_env.execute_sql(statement)
    found: Counter[tuple[Any, ...]] = Counter()
    with t_env.execute_sql(queries.select(query)).collect() as rows:
        for row in rows:
            gone = row.get_row_kind() in (RowKind.DELETE, RowKind.UPDATE_BEFORE)
            found[plain(row)] += -1 if gone else 1
    assert min(found.values(), default=1) >= 0
    return +found


@pytest.mark.parametrize("query", QUERIES)
def test_batch_has_duckdbs_answer(query: str, folder: Path, wanted: dict[str, Any]) -> None:
    found = table_of(EnvironmentSettings.in_batch_mode(), query, folder, parallelism=1)
    assert found == wanted[query]
    assert found.total() >= MANY.get(query, 10)


@pytest.mark.parametrize("query", QUERIES)
def test_a_stream_ends_with_duckdbs_answer(
    query: str, folder: Path, wanted: dict[str, Any]
) -> None:
    found = table_of(EnvironmentSettings.in_streaming_mode(), query, folder, parallelism=2)
    assert found == wanted[query]


@pytest.mark.parametrize("query", ["q0", "q3", "q8", "q20"])
def test_events_of_rows_have_the_same_answer(
    query: str, folder: Path, wanted: dict[str, Any]
) -> None:
    settings = EnvironmentSettings.in_batch_mode()
    found = table_of(settings, query, folder, layout="nested", parallelism=1)
    assert found == wanted[query]


def test_the_events_do_not_depend_on_how_they_are_cut(tmp_path: Path) -> None:
    events.write_files(tmp_path / "files", events=25_000, rows_per_file=8_000)
    events.write_lanes(tmp_path / "lanes", events=25_000, lanes=2)
    lanes = [pq.read_table(tmp_path / "lanes" / f"lane-{lane}.parquet") for lane in (0, 1)]
    assert [lane.num_rows for lane in lanes] == [15_000, 10_000]
    whole = pq.read_table(tmp_path / "files")
    assert whole.slice(10_000, 10_000).equals(lanes[1])
    kinds = Counter(whole["event_type"].to_pylist())
    assert kinds == {0: 500, 1: 1_500, 2: 23_000}
