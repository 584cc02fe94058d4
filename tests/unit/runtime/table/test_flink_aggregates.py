"""GROUP BY gives the changelogs that PyFlink gave (tests/oracle/table_goldens.py), at every cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import table_cases as cases
from headrace.common.data_types import DataTypes as D
from headrace.runtime.table.group_aggregate import GroupAggregateOperator
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.session import ScalarSession
from table_operators import OperatorRun, lines_of, play

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "golden" / "sql" / "group_by.json").read_text(encoding="utf-8")
)
TYPES = {
    "STRING": D.STRING(), "INT": D.INT(), "BIGINT": D.BIGINT(), "DOUBLE": D.DOUBLE(),
    "FLOAT": D.FLOAT(), "BOOLEAN": D.BOOLEAN(), "DATE": D.DATE(), "TIMESTAMP(3)": D.TIMESTAMP(3),
    "DECIMAL(10, 2)": D.DECIMAL(10, 2), "DECIMAL(38, 2)": D.DECIMAL(38, 2),
    "DECIMAL(38, 6)": D.DECIMAL(38, 6), "ARRAY<INT>": D.ARRAY(D.INT()),
    "MULTISET<STRING>": D.MULTISET(D.STRING()),
}  # fmt: skip
PLACES = {name: place for place, name in enumerate(cases.COLUMNS)}


def operator(calls: list[cases.Call], *, changes: bool, grouped: bool) -> GroupAggregateOperator:
    made = [
        AggregateCall(
            call.function,
            tuple(PLACES[column] for column in call.columns),
            TYPES[call.type],
            distinct=call.distinct,
            filter=None if call.filter is None else PLACES[call.filter],
            options=call.options,
        )
        for call in calls
    ]
    keys = [D.STRING()] if grouped else []
    return GroupAggregateOperator(
        lines_of(*(TYPES[kind] for kind in cases.COLUMNS.values()), changes=changes),
        lines_of(*keys, *(call.type for call in made), changes=True),
        (0,) if grouped else (),
        made,
        session=ScalarSession(),
    )


@pytest.mark.parametrize("title", GOLDEN)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_flinks_changelog(title: str, size: int) -> None:
    name, rows, *rest = title.split(", ")
    op = operator(cases.PROGRAMS[name], changes=rows == "changes", grouped=not rest)
    run = OperatorRun(op, () if rest else (0,))
    found = play(run, list(cases.ROWS[rows]), size=size, restart=size == 4)
    floats = [kind == D.FLOAT() for kind in op.output_type.get_data_types()]
    assert [[change[0], *map(shown, change[1:], floats)] for change in found] == GOLDEN[title]


def shown(value: Any, is_float: bool) -> str:
    """PyFlink gives the shortest number for a FLOAT, headrace the one that it is."""
    if is_float and value is not None:
        return repr(float(str(np.float32(value))))
    return cases.shown(value)
