"""Frames of OVER that begin behind, or end before the current line: in BATCH mode only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import HeadraceError
from oracle.sql import run_headrace
from oracle.sql.cases import CASES

if TYPE_CHECKING:
    from headrace.table import TableEnvironment

LINES = "(VALUES (1, 5), (2, 3), (4, 9), (5, 1)) AS t (id, a)"
FRAMES: dict[str, list[int | None]] = {
    "RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING": [8, 8, 13, 10],
    "RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING": [None, 5, 8, 12],
    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING": [None, 5, 8, 12],
    "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING": [12, 10, 1, None],
    "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING": [13, 10, 1, None],
}


@pytest.mark.parametrize("frame", list(FRAMES))
def test_a_frame_may_lie_beside_the_line(
    batch_env: TableEnvironment, rows: Any, frame: str
) -> None:
    text = f"SELECT id, SUM(a) OVER (ORDER BY id {frame}) FROM {LINES}"
    expected = zip((1, 2, 4, 5), FRAMES[frame], strict=True)
    assert sorted(rows(batch_env.sql_query(text))) == [f"+I{pair}" for pair in expected]


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        ("ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING", "ends before the current row"),
        ("ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING", "not come yet"),
        ("RANGE BETWEEN 2 PRECEDING AND CURRENT ROW", "ordered by a time attribute"),
    ],
)
def test_a_stream_does_not_have_them(
    t_env: TableEnvironment, rows: Any, frame: str, told: str
) -> None:
    with pytest.raises(HeadraceError, match=told):
        rows(t_env.sql_query(f"SELECT SUM(a) OVER (ORDER BY id {frame}) FROM {LINES}"))


def test_a_frame_ends_behind_its_beginning(batch_env: TableEnvironment) -> None:
    frame = "ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING"
    with pytest.raises(HeadraceError, match="ends before it begins"):
        batch_env.sql_query(f"SELECT SUM(a) OVER (ORDER BY id {frame}) FROM {LINES}")


def test_an_average_of_more_lines_is_sent_again(t_env: TableEnvironment, rows: Any) -> None:
    lines = "(VALUES (2, 4), (1, 4)) AS t (id, a)"
    found = rows(t_env.sql_query(f"SELECT id, AVG(a) OVER (ORDER BY id) FROM {lines}"))
    assert found == ["+I(2, 4)", "+I(1, 4)", "-U(2, 4)", "+U(2, 4)"]


@pytest.mark.parametrize("cut", [None, 1, 2])
def test_lines_behind_the_watermark_wait_for_the_next(cut: int | None) -> None:
    moments = ("30", "05", "11", "07")
    lines = [(f"2020-04-15 08:00:{s}.000", "A", n, None) for n, s in enumerate(moments)]
    found = run_headrace.run(CASES["over_rows"], "streaming", {"bids": lines}, cut=cut)
    assert [change[2:4] for change in found["changes"]] == [[1, 1], [3, 2], [2, 2], [0, 2]]
