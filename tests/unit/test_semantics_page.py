"""What code and tests cite of docs/semantics.md is there: by its anchor, or as "V2.3", "(P5)"."""

from __future__ import annotations

import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


def words_of(path: Path) -> str:
    """The comments and strings of a module: only there can be citations."""
    with path.open("rb") as file:
        tokens = tokenize.tokenize(file.readline)
        kinds = (tokenize.COMMENT, tokenize.STRING)
        return "\n".join(token.string for token in tokens if token.type in kinds)


def test_every_rule_has_one_anchor_made_of_its_number() -> None:
    assert len({anchor for anchor, _ in RULES}) == len(RULES) > 100
    assert [anchor for anchor, _ in RULES] == [number.lower() for _, number in RULES]


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_citations_lead_to_rules_that_exist(folder: str) -> None:
    broken = {}
    cited = 0
    for path in CITING:
        if not path.is_relative_to(ROOT / folder):
            continue
        words = words_of(path)
        found = [*LINK.findall(words), *map(str.lower, NUMBER.findall(words))]
        cited += len(found)
        if missing := sorted(set(found) - ANCHORS):
            broken[str(path.relative_to(ROOT))] = missing
    assert cited
    assert not broken


def test_rules_that_refer_to_rules_find_them() -> None:
    assert not {number for number in NUMBER.findall(PAGE) if number.lower() not in ANCHORS}
