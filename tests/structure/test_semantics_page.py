"""What code and tests cite of docs/semantics.md is there: by its anchor, or as "V2.3", "(P5)"."""

from __future__ import annotations

import re
import tokenize
from typing import TYPE_CHECKING

import pytest

from source_files import ROOT, line_of, place, tell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
RULES = re.findall(r'<a id="([^"]+)"></a>\*\*([^*]+)\*\*', PAGE)
HEADINGS = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
ANCHORS = {
    *(anchor for anchor, _ in RULES),
    *(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADINGS),
}

LINK = re.compile(r"semantics\.md#([\w.-]*\w)")
# rules and examples by their number alone, as tests and decisions name them
NUMBER = re.compile(r"(?<![\w.])(W\d+|P\d|V\d+\.\d+)(?![\w.]\w|\w)")
CITING = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")])


def citations_of(path: Path) -> Iterator[tuple[int, str]]:
    """What the comments and strings of a module cite, with its lines: only there it can be."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                for pattern in (LINK, NUMBER):
                    for found in pattern.finditer(token.string):
                        line = token.start[0] + token.string.count("\n", 0, found.start())
                        yield line, found[1].lower() if pattern is NUMBER else found[1]


def test_every_rule_has_one_anchor_made_of_its_number() -> None:
    assert len({anchor for anchor, _ in RULES}) == len(RULES) > 100
    assert [anchor for anchor, _ in RULES] == [number.lower() for _, number in RULES]


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_citations_lead_to_rules_that_exist(folder: str) -> None:
    files = [path for path in CITING if path.is_relative_to(ROOT / folder)]
    cited = [(path, *each) for path in files for each in citations_of(path)]
    assert cited
    tell(
        f"{place(path, line)} cites {rule}, not in docs/semantics.md (name a rule of today)"
        for path, line, rule in cited
        if rule not in ANCHORS
    )


def test_rules_that_refer_to_rules_find_them() -> None:
    tell(
        f"docs/semantics.md:{line_of(PAGE, found.start())} cites {found[1]} (name a rule of today)"
        for found in NUMBER.finditer(PAGE)
        if found[1].lower() not in ANCHORS
    )
