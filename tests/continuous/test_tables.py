"""SQL in continuous mode on Spark (tests/table_modes.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from table_modes import *  # noqa: F403 - its tests
from table_modes import Place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path, spark: Any) -> Place:
    return Place("spark", tmp_path)
