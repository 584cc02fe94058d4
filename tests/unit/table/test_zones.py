"""Functions of time in several zones: one answer, Flink's, wherever an expression is evaluated.

A constant is computed by the planner, a column by workers; both at both changes of the clock, in
micro-batches, in continuous mode and in batch mode (tests/zone_answers.py).
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from oracle.zones import cases
from zone_answers import CALENDAR, answers, begins, tables, values_of, wrong_cells

if TYPE_CHECKING:
    from pathlib import Path

MODES = ("micro-batch", "continuous", "batch")
# the zones that change their clock are asked in all modes
ASKED = [
    (zone, mode, form)
    for zone in cases.ZONES
    for mode in MODES
    for form in cases.FORMS
    if mode == "micro-batch" or zone in ("Europe/Berlin", "America/St_Johns")
]


@pytest.mark.parametrize(("zone", "mode", "form"), ASKED)
def test_is_what_flink_gives(zone: str, mode: str, form: str, tmp_path: Path) -> None:
    assert wrong_cells(zone, form, tables(zone, mode, tmp_path)) == []


def test_what_differs_on_purpose_still_differs() -> None:
    zone = "Europe/Berlin"
    told = {each["sql"]: values_of(each) for each in answers(zone)}
    for sql in filter(CALENDAR.match, told):
        unit = str(CALENDAR.match(sql)[1])  # type: ignore[index]
        shown = [dt.datetime.fromisoformat(each["Instant"][:-1]) for each in told[sql]]
        assert not all(begins(unit, each, zone) for each in shown), sql
