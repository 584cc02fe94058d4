"""The statements of the job in SQL, and what they should give.

In: events, and the grades that they are given, by lots of LOT events of one order.  Out: CREATE
TABLEs, one INSERT INTO; its rows, computed in plain Python.  The grade of a lot is the largest one
so far: each new one takes the events of the lot out of the groups they were in, and puts them into
others, so that groups shrink, lose their smallest and largest, and go away.
Next: chaos/sql_program.py runs them, chaos/sql_media.py compares
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.machine import Event

UNGRADED = -1
LOT = 50
GRADES_PER_FILE = 5
FILES_PER_GRADE = 30

EVENTS = "entity STRING, number BIGINT, kind STRING, moment BIGINT, file INT"
GRADES = "entity STRING, lot BIGINT, grade INT"
TOTALS = (
    ("grade", "INT"),
    ("kind", "STRING"),
    ("events", "BIGINT"),
    ("entities", "BIGINT"),
    ("numbers", "BIGINT"),
    ("late_numbers", "BIGINT"),
    ("earliest", "BIGINT"),
    ("latest", "BIGINT"),
    ("mean_file", "INT"),
    ("newest", "INT"),
)
# The column types of PostgreSQL that are called otherwise.
_POSTGRES = {"STRING": "TEXT"}
# A batch on files, or what a running job has at its end.
QUERY = f"""
    SELECT
        COALESCE(g.grade, {UNGRADED}) AS grade,
        e.kind,
        COUNT(*) AS events,
        COUNT(DISTINCT e.entity) AS entities,
        SUM(e.number * e.moment) AS numbers,
        SUM(e.number) FILTER (WHERE MOD(e.moment, 1000) >= 500) AS late_numbers,
        MIN(e.moment) AS earliest,
        MAX(e.moment) AS latest,
        AVG(e.file) AS mean_file,
        MAX(e.file) AS newest
    FROM events AS e
    LEFT JOIN (
        SELECT entity, lot, MAX(grade) AS grade FROM grades GROUP BY entity, lot
    ) AS g ON e.entity = g.entity AND e.number / {LOT} = g.lot
    GROUP BY COALESCE(g.grade, {UNGRADED}), e.kind"""
Total = tuple[int | str | None, ...]


@dataclass(frozen=True)
class Grade:
    """One line of the second source."""

    entity: str
    lot: int
    grade: int

    def line(self) -> str:
        return f"{self.entity},{self.lot},{self.grade}"


def grades_of(seed: int, file: int, events: list[Event]) -> list[Grade]:
    """The grades that are published with a file of events; they rise as time goes by."""
    chance = random.Random(f"{seed}/grades/{file}")
    chosen = [chance.choice(events) for _ in range(GRADES_PER_FILE)]
    return [
        Grade(
            event.entity,
            chance.randint(0, event.number // LOT),
            file // FILES_PER_GRADE + chance.randrange(4),
        )
        for event in chosen
    ]


def create_table(name: str, columns: str, options: dict[str, str]) -> str:
    """A statement of ours."""
    settings = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    return f"CREATE TABLE {name} ({columns}) WITH ({settings})"


def sink_columns() -> str:
    """The columns of the target in our SQL."""
    columns = ", ".join(f"{name} {kind}" for name, kind in TOTALS)
    return f"{columns}, PRIMARY KEY (grade, kind) NOT ENFORCED"


def postgres_table() -> str:
    """The statement by which PostgreSQL makes the target."""
    columns = ", ".join(f"{name} {_POSTGRES.get(kind, kind)}" for name, kind in TOTALS)
    return f"CREATE TABLE totals ({columns}, PRIMARY KEY (grade, kind))"


def right_totals(seed: int, made: list[list[Event]]) -> set[Total]:
    """The rows of a run in which nothing happens."""
    best: dict[tuple[str, int], int] = {}
    for file, events in enumerate(made):
        for each in grades_of(seed, file, events):
            lot = each.entity, each.lot
            best[lot] = max(best.get(lot, each.grade), each.grade)
    groups: dict[tuple[int, str], list[Event]] = defaultdict(list)
    for event in (event for events in made for event in events):
        grade = best.get((event.entity, event.number // LOT), UNGRADED)
        groups[grade, event.kind].append(event)
    return {_total(grade, kind, events) for (grade, kind), events in groups.items()}


def _total(grade: int, kind: str, events: list[Event]) -> Total:
    moments = [event.at for event in events]
    files = [event.file for event in events]
    late = [event.number for event in events if event.at % 1000 >= 500]
    return (
        grade,
        kind,
        len(events),
        len({event.entity for event in events}),
        sum(event.number * event.at for event in events),
        sum(late) if late else None,
        min(moments),
        max(moments),
        sum(files) // len(files),
        max(files),
    )
