"""Functions of time on Spark, as tests/unit/table/test_zones.py has them on the local host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from zone_answers import tables, wrong_cells

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("mode", "form"), [("micro-batch", "constant"), ("batch", "file")])
def test_is_what_flink_gives(mode: str, form: str, tmp_path: Path) -> None:
    zone = "America/St_Johns"
    assert wrong_cells(zone, form, tables(zone, mode, tmp_path, host="spark")) == []
