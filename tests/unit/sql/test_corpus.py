"""Statements of our own invention, as users write them: tests/sql_corpus.

scripts/sql_corpus.py runs the same over Flink's documentation and tests, where they are at hand.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headrace.sql.ast import walk_nodes
from headrace.sql.parser import parse_script, parse_statement
from headrace.sql.render import render

FOLDER = Path(__file__).resolve().parents[2] / "sql_corpus"
FILES = {
    "auctions": 23,
    "joins_and_windows": 19,
    "operations": 54,
    "queries": 30,
    "tables": 38,
}


def test_every_file_is_known() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(FILES)


@pytest.mark.parametrize(("name", "count"), FILES.items(), ids=FILES)
def test_all_statements_are_read_and_written_back(name: str, count: int) -> None:
    statements = parse_script((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))
    assert len(statements) == count
    for statement in statements:
        assert parse_statement(render(statement)) == statement, render(statement)


@pytest.mark.parametrize("name", FILES)
def test_statements_know_their_text(name: str) -> None:
    """What a position spans parses to the same statement again, and spans nest."""
    text = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    for statement in parse_script(text):
        assert statement.position is not None
        assert parse_statement(statement.position.source) == statement
        for node in walk_nodes(statement):
            if node.position is not None:
                assert node.position.start >= statement.position.start
                assert node.position.end <= statement.position.end


def test_a_statement_takes_well_below_a_millisecond() -> None:
    text = (FOLDER / "auctions.sql").read_text(encoding="utf-8")

    def seconds() -> float:
        began = time.perf_counter()
        parse_script(text)
        return time.perf_counter() - began

    best = min(seconds() for _ in range(10))
    assert best / FILES["auctions"] < 0.001
