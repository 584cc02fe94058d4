"""New rows for the tables of a case, by Hypothesis, from a seed that the test logs.

In: SqlTable.  Out: rows as tables.py has them.  Next: test_sql.py
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from oracle.sql.tables import TABLES
from oracle.strategies import draw

if TYPE_CHECKING:
    from oracle.sql.model import SqlCase, SqlTable

_START = datetime.datetime(2020, 4, 15, 8)


def _moment(halves: int) -> str:
    return (_START + datetime.timedelta(milliseconds=500 * halves)).isoformat(" ", "milliseconds")


_DAYS = st.dates(datetime.date(1990, 1, 1), datetime.date(2030, 1, 1))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "INT": st.integers(-3, 9),
    "BIGINT": st.sampled_from([0, 10, 20, 50, -7]),
    "FLOAT": st.sampled_from([0.0, 1.5, -0.25]),
    "DOUBLE": st.sampled_from([0.0, 1.5, -2.5, 0.25]),
    "STRING": st.sampled_from(["x", "y", "z", "A", "B"]),
    "BOOLEAN": st.booleans(),
    "DECIMAL(10, 2)": st.integers(-999, 9999).map(lambda n: Decimal(n).scaleb(-2)),
    "DECIMAL(12, 3)": st.integers(-9999, 99999).map(lambda n: Decimal(n).scaleb(-3)),
    "DECIMAL(5, 2)": st.integers(1, 9999).map(lambda n: Decimal(n).scaleb(-2)),
    "DECIMAL(38, 10)": st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-10)),
    "DATE": _DAYS.map(str),
    "TIME": st.times().map(lambda time: time.replace(microsecond=0).isoformat()),
    # Half a second apart, so that Flink sends a watermark behind each row that raises it.
    "TIMESTAMP(3)": st.integers(0, 60).map(_moment),
    "TIMESTAMP_LTZ(3)": st.integers(0, 200).map(lambda n: 1586937600000 + n * 1_800_000),
}


def _line(table: SqlTable) -> st.SearchStrategy[tuple[Any, ...]]:
    parts = []
    for name, kind in table.columns.items():
        if name in table.fresh:
            parts.append(st.sampled_from(table.fresh[name]))
            continue
        needed = name == table.rowtime or name in table.key
        parts.append(VALUES[kind] if needed else st.one_of(VALUES[kind], VALUES[kind], st.none()))
    return st.tuples(*parts)


def _changes(table: SqlTable, lines: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """A changelog: the first column tells lines apart, a line as it was is taken back."""
    kept: dict[Any, tuple[Any, ...]] = {}
    found: list[tuple[Any, ...]] = []
    for number, line in enumerate(lines):
        old = kept.pop(line[0], None)
        if old is not None and number % 3 == 0:
            found.append(("-D", *old))
            continue
        if old is not None and not table.upsert:
            found.append(("-U", *old))
        found.append(("+I" if old is None else "+U", *line))
        kept[line[0]] = line
    return found


def _rows(table: SqlTable) -> st.SearchStrategy[Any]:
    if table.in_order:
        place = list(table.columns).index(table.rowtime or "")
        return st.lists(_line(table), min_size=18, max_size=40).map(
            lambda found: sorted(found, key=lambda line: line[place])
        )
    lines = st.lists(_line(table), min_size=4, max_size=18)
    return lines.map(lambda found: _changes(table, found)) if table.changes else lines


def can_be_fresh(case: SqlCase) -> bool:
    """Whether Flink's answer depends on the rows alone: not on a race of sources' watermarks."""
    timed = any(TABLES[name].rowtime for name in case.tables)
    alone = len(case.tables) == 1 and not (TABLES[case.tables[0]].changes and timed)
    in_streams = "streaming" in case.modes and not case.refused
    return bool(case.tables) and in_streams and (alone or not timed)


def fresh_rows(case: SqlCase, number: int) -> dict[str, Any]:
    """Rows for all tables of a case."""
    parts = {name: _rows(TABLES[name]) for name in case.tables}
    found: dict[str, Any] = draw(st.fixed_dictionaries(parts), number)
    return found
