"""Links and file names in the documentation lead somewhere."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from pages import blocks_of
from source_files import PACKAGE, ROOT, line_of, place, tell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# `runtime/task.py`, `src/headrace/errors.py`, `tests/unit/runtime/`, `run.py::SYSTEMS`
FILE_NAME = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|md|toml|txt))(?:::(\w+))?`")
PLACES = (ROOT, PACKAGE)


@cache
def prose_of(page: Path) -> str:
    """The text without its programs, whose lines stay empty: line numbers are those of the file."""
    text = page.read_text(encoding="utf-8")
    return FENCE.sub(lambda fenced: "\n" * fenced[0].count("\n"), text)


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def has_anchor(page: Path, anchor: str) -> bool:
    if not anchor or page.suffix != ".md":
        return True
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return anchor in map(anchor_of, headings) or f'<a id="{anchor}">' in text


def test_links_between_pages_resolve() -> None:
    tell(
        f"{at} the link {target} leads nowhere (name the page and heading of today)"
        for page in PAGES
        for at, target in broken_links(page)
    )


def broken_links(page: Path) -> Iterator[tuple[str, str]]:
    prose = prose_of(page)
    for link in LINK.finditer(prose):
        target = link[1]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or not has_anchor(file, anchor):
            yield place(page, line_of(prose, link.start())), target


def test_file_names_in_the_text_exist() -> None:
    tell(
        f"{at} `{name}` is not in the repository (name the file of today)"
        for page in PAGES
        for at, name in broken_file_names(page)
    )


def broken_file_names(page: Path) -> Iterator[tuple[str, str]]:
    places = (*PLACES, page.parent)
    # a user's own files, and those that the page makes
    made = (block.file.rpartition("/")[2] for block in blocks_of(page) if block.file)
    own = {"headrace.toml", *made}
    prose = prose_of(page)
    for found in FILE_NAME.finditer(prose):
        path, symbol = found.groups()
        if path in own:
            continue
        at = place(page, line_of(prose, found.start()))
        files = [each / path for each in places if (each / path).exists()]
        if not files:
            yield at, path
        elif symbol and not re.search(rf"\b{symbol}\b", files[0].read_text(encoding="utf-8")):
            yield at, f"{path}::{symbol}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    tell(
        f"mkdocs.yml:1 leaves out docs/{page} (add it to nav)"
        for page in pages
        if page not in navigation
    )
