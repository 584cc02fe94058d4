"""The programs of these pages run, top to bottom; they need no Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [
    "how-to/test-programs.md",
    "execution-mode.md",
    "joins.md",
    "windows.md",
    "savepoints.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_the_page_run(page: str, repository: Path) -> None:
    text = (repository / "docs" / page).read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert programs
    names = {"__name__": "snippet"}
    for program in programs:
        exec(compile(program, page, "exec"), names)
