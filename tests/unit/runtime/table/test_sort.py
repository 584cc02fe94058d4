"""ORDER BY of lines."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from headrace.runtime.table.ordering import Ordering
from headrace.runtime.table.sort import (
    FullSortOperator,
    ProctimeSortOperator,
    RowtimeSortOperator,
)  # fmt: skip
from table_operators import (
    END,
    INT,
    T3,
    OperatorRun,
    W,
    at,
    every_way,
    lines_of,
    whole_input,
)  # fmt: skip


def plus(*lines: tuple[int, Any]) -> list[Any]:
    return [("+I", at(time), value) for time, value in lines]


def test_lines_wait_for_event_time_and_late_ones_are_dropped() -> None:
    operator = RowtimeSortOperator(0, [(1, True, False)], lines_of(T3, INT))
    script = [
        *plus((20, 1), (10, 2), (10, 3), (9000, 4)), W(15), *plus((10, 5), (11, 6)), W(20),
        END,
    ]  # fmt: skip
    found = every_way(operator, script, (), entries=0)
    assert found == plus((10, 3), (10, 2), (11, 6), (20, 1), (9000, 4))


def test_processing_time_sorts_each_list() -> None:
    run = OperatorRun(ProctimeSortOperator([(1, False, False)], lines_of(T3, INT)))
    run.lines(plus((1, 3), (2, 1)))
    run.lines(plus((3, 0)))
    assert run.taken() == plus((2, 1), (1, 3), (3, 0))


def test_anything_is_sorted_at_the_end() -> None:
    operator = FullSortOperator(
        [(1, False, True)], lines_of(T3, INT, changes=True), lines_of(T3, INT), offset=1, fetch=2
    )
    script = [*plus((1, None), (2, 3), (3, 1)), ("-D", at(2), 3), *plus((4, 2)), END]
    expected = plus((4, 2), (1, None))
    assert every_way(operator, script, (), entries=0) == expected
    assert whole_input(operator, script[:-1], ()) == expected
    assert whole_input(operator, [*script[:1], *script[2:3], *script[4:5]], ()) == expected


def test_columns_and_keys_have_the_same_order() -> None:
    values = [None, 1.5, math.nan, -1.0, math.inf, None, math.nan, 0.0]
    texts = ["b", None, "a", "c", "b", "", "d", None]
    rows = list(zip(values, texts, strict=True))
    columns = [pa.array(values, pa.float64(), from_pandas=False), pa.array(texts)]
    for down in (False, True):
        for last in (False, True):
            for parts in ([(0, down, last), (1, not down, last)], [(1, down, last)]):
                ordering = Ordering(parts)
                keys = [ordering.key(row) for row in rows]
                expected = sorted(range(len(rows)), key=keys.__getitem__)
                assert ordering.places(columns, len(rows)).tolist() == expected
