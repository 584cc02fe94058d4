"""SQL in continuous mode in this process (tests/table_modes.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from table_modes import *  # noqa: F403 - its tests
from table_modes import Place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place("local", tmp_path)
