"""What messages advise: nothing that throws away good state."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from source_files import source_file, source_files, tell

if TYPE_CHECKING:
    from pathlib import Path

    from source_files import SourceFile

# what loses a checkpoint or state for good
_LOSES = re.compile(
    r"without (its|the) checkpoint|delet\w+ (its|the|a) (checkpoint|state|director|folder)"
    r"|remove (its|the) (checkpoint|state)\b|go back to the epoch",
    re.IGNORECASE,
)


def _advice(file: SourceFile) -> list[tuple[int, str]]:
    """(line, text) of every ``fix=`` in a file."""
    return [
        (node.value.lineno, " ".join(_texts(node.value)))
        for node in ast.walk(file.tree)
        if isinstance(node, ast.keyword) and node.arg == "fix"
    ]


def _texts(node: ast.AST) -> list[str]:
    return [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def test_no_fix_throws_away_a_checkpoint() -> None:
    tell(
        f"{file.at(line)} {text!r} throws away state (another execution.checkpointing.dir begins"
        " anew and keeps the old one)"
        for file in source_files()
        for line, text in _advice(file)
        if _LOSES.search(text)
    )


@pytest.mark.parametrize(
    "text",
    [
        "restore the missing data, or start the job without its checkpoint",
        "start from a savepoint, or delete the file to go back to the epoch before",
    ],
)
def test_what_was_advised_once_would_be_found(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(f"raise Error('what', fix={text!r})\n")
    [(line, found)] = _advice(source_file(file))
    assert line == 1
    assert _LOSES.search(found)
