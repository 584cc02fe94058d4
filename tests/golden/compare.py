"""Compares text with a golden file; `HEADRACE_GOLDEN=rewrite` (`make golden`) writes it anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def assert_golden(name: str, text: str) -> None:
    """The text is what tests/golden/<name> holds, apart from line numbers and addresses.

    Args:
        name: the file, such as ``errors/duplicate_uid.txt``.
        text: what the code under test made.
    """
    path = FOLDER / name
    settled = settle(text).rstrip() + "\n"
    if os.environ.get("HEADRACE_GOLDEN") == "rewrite":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(settled)
    assert path.exists(), f"{path} is missing: run `make golden` and review the diff"
    assert settled == path.read_text(), f"{path} differs: run `make golden` and review the diff"


def settle(text: str) -> str:
    """Text without what changes from run to run: lines of test files, addresses, paths."""
    text = re.sub(r"(test_\w+\.py):\d+", r"\1:LINE", text)
    text = re.sub(r'File "[^"]*/([^"/]+)", line \d+', r'File "\1", line LINE', text)
    text = re.sub(r"^\s*[~^]+\s*$\n?", "", text, flags=re.MULTILINE)  # not in all Pythons
    return re.sub(r"0x[0-9a-f]+", "0xADDRESS", text)
