"""Group windows of so many lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import HeadraceError
from headrace.table import EnvironmentSettings, Table, TableEnvironment
from headrace.table.expressions import col, lit, row_interval
from headrace.table.window import Session, Slide, Tumble
from headrace.testing import LocalRunner

if TYPE_CHECKING:
    from headrace.table.window import GroupWindow

LINES = [("a", 1), ("b", 10), ("a", 2), ("a", 4), ("b", 20), ("a", 8), ("a", 16)]


def _numbers(mode: EnvironmentSettings | None = None) -> Table:
    tables = TableEnvironment.create(mode or EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("headrace.execution.host", "local")
    tables.get_config().set("parallelism.default", "1")
    tables.create_temporary_view("given", tables.from_elements(LINES, ["k", "v"]))
    return tables.sql_query("SELECT *, PROCTIME() AS p FROM given")


def _windowed(window: GroupWindow, table: Table | None = None) -> Table:
    grouped = (table or _numbers()).window(window).group_by(col("k"), col("w"))
    return grouped.select(col("k"), col("v").sum.alias("s"), col("v").count.alias("n"))


def _found(table: Table) -> list[tuple[object, ...]]:
    with table.execute().collect() as rows:
        return [tuple(row) for row in rows]


def test_a_window_has_its_result_when_it_is_full() -> None:
    window = Tumble.over(row_interval(2)).on(col("p")).alias("w")
    assert _found(_windowed(window)) == [("a", 3, 2), ("b", 30, 2), ("a", 12, 2)]


@pytest.mark.parametrize(
    ("size", "slide", "sums"),
    [(2, 1, [3, 6, 12, 24]), (3, 2, [7, 28]), (1, 2, [1, 4, 16]), (5, 1, [31]), (6, 1, [])],
)
def test_windows_slide_from_the_first_line_on(size: int, slide: int, sums: list[int]) -> None:
    window = Slide.over(row_interval(size)).every(row_interval(slide)).on(col("p")).alias("w")
    assert [s for k, s, _ in _found(_windowed(window)) if k == "a"] == sums


@pytest.mark.parametrize("cut", range(1, len(LINES)))
def test_counts_go_on_in_the_next_batch_and_after_a_restart(cut: int) -> None:
    window = Slide.over(row_interval(3)).every(row_interval(1)).on(col("p")).alias("w")
    table = _windowed(window)
    stream, *_ = table._t_env._planner().to_stream(table._rel)
    with LocalRunner(stream) as runner:
        found = runner.read_batch(cut)
        runner.restart()
        found += runner.read_batch(len(LINES))
    assert [tuple(line)[:2] for line in found] == [("a", 7), ("a", 14), ("a", 28)]


def test_what_a_window_of_lines_cannot_do_is_refused() -> None:
    tumbling = Tumble.over(row_interval(2)).on(col("p")).alias("w")
    grouped = _numbers().window(tumbling).group_by(col("w"))
    with pytest.raises(HeadraceError, match="no start and no end"):
        grouped.select(col("w").start).execute()
    with pytest.raises(HeadraceError, match="no order in batch mode"):
        _windowed(tumbling, _numbers(EnvironmentSettings.in_batch_mode())).execute()
    mixed = Slide.over(row_interval(2)).every(lit(1).seconds).on(col("p")).alias("w")
    with pytest.raises(HeadraceError, match="both times, or both numbers of lines"):
        _windowed(mixed)
    sessions = Session.with_gap(row_interval(2)).on(col("p")).alias("w")
    with pytest.raises(HeadraceError, match="sessions have times"):
        _windowed(sessions)
