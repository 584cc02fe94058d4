"""The program in README.md runs and prints what the text below it promises."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession


def test_the_program_of_the_readme_prints_what_the_text_says(
    spark: SparkSession, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```\n\n(.*?)\n\n", text, re.DOTALL)
    assert block is not None
    program, promise = block.groups()
    expected = Counter(re.findall(r"`(\(\w+,\d+\))`", promise))
    exec(compile(program, "README.md", "exec"), {"__name__": "__main__"})
    printed = Counter(re.findall(r"\(\w+,\d+\)", capsys.readouterr().out))
    assert printed == expected
