"""Links and file names in the documentation lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages import blocks_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# `runtime/task.py`, `src/headrace/errors.py`, `tests/unit/runtime/`, `run.py::SYSTEMS`
FILE_NAME = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|md|toml|txt))(?:::(\w+))?`")
PLACES = (ROOT, ROOT / "src" / "headrace")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose_of(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def has_anchor(page: Path, anchor: str) -> bool:
    if not anchor or page.suffix != ".md":
        return True
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return anchor in map(anchor_of, headings) or f'<a id="{anchor}">' in text


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_resolve(page: Path) -> None:
    broken = []
    for target in LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or not has_anchor(file, anchor):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_file_names_in_the_text_exist(page: Path) -> None:
    places = (*PLACES, page.parent)
    # a user's own files, and those that the page makes
    own = {"headrace.toml", *(Path(block.file).name for block in blocks_of(page) if block.file)}
    broken = []
    for path, symbol in FILE_NAME.findall(prose_of(page)):
        if path in own:
            continue
        files = [place / path for place in places if (place / path).exists()]
        if not files:
            broken.append(path)
        elif symbol and not re.search(rf"\b{symbol}\b", files[0].read_text(encoding="utf-8")):
            broken.append(f"{path}::{symbol}")
    assert not broken


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert not [page for page in pages if page not in navigation]
