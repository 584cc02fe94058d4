"""The programs of these pages run and print what the page shows; none of them needs Spark.

tests/spark/test_docs_pages.py runs those that do, pages.py says how.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pages import LOCAL, ON_SPARK, ROOT, fits, has_programs, run_page

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
WITH_SERVERS = [
    "elasticsearch.md",
    "kafka-sink.md",  # tests/kafka/test_sink_page.py
    "kafka.md",  # tests/kafka/test_docs_page.py
    "sinks-databases.md",  # test_docs_databases.py
]


@pytest.mark.parametrize("page", LOCAL)
def test_the_page_is_true(page: str, tmp_path: Path) -> None:
    run_page(DOCS / page, tmp_path)


def test_every_page_with_programs_is_run_by_a_test() -> None:
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if has_programs(page)}
    assert pages | {"../README.md"} == {*LOCAL, *ON_SPARK, *WITH_SERVERS}


@pytest.mark.parametrize(
    ("expected", "printed", "any_order", "answer"),
    [
        ("a\nb\n", "a\nb\n", False, True),
        ("a\nb\n", "b\na\n", False, False),
        ("a\nb\n", "b\na\n", True, True),
        ("a\nb\n", "a\nb\nb\n", True, False),
        ("a ... c\n", "a b c\n", False, True),
        ("a ... c\n", "a\nc\n", False, False),
        ("...\nb\n...\n", "a\na\nb\n", False, True),
        ("...\nb\n", "a\nb\nc\n", False, False),
        ("a\n", "", False, False),
        ("", "a\n", False, False),
    ],
)
def test_outputs_are_compared(expected: str, printed: str, any_order: bool, answer: bool) -> None:
    assert fits(expected, printed, any_order=any_order) is answer
