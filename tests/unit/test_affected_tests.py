"""scripts/affected_tests.py: which tests a changed module has."""

from __future__ import annotations

from pathlib import Path

import pytest

import affected_tests
from affected_tests import affected, imports_of_the_repository, module_of

IMPORTS = {
    "headrace.a": set(),
    "headrace.b": {"headrace.a"},
    "headrace.apart": set(),
    "helper": {"headrace.b"},
    "unit.test_a": {"headrace.a"},
    "unit.test_far": {"helper"},
    "unit.test_apart": {"headrace.apart"},
    "unit.cycle_one": {"unit.cycle_two"},
    "unit.cycle_two": {"unit.cycle_one", "headrace.a"},
}


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/headrace/sql/parser.py", "headrace.sql.parser"),
        ("src/headrace/sql/__init__.py", "headrace.sql"),
        ("tests/unit/test_missing.py", "unit.test_missing"),
        ("scripts/options_page.py", "options_page"),
        ("docs/tour.md", ""),
        ("benchmarks/run.py", ""),
    ],
)
def test_files_are_modules(path: str, module: str) -> None:
    assert module_of(Path(path)) == module


def test_who_imports_a_change_directly_or_through_others_is_affected() -> None:
    distances = affected(["headrace.a"], IMPORTS)
    assert distances == {
        "headrace.a": 0,
        "headrace.b": 1,
        "unit.test_a": 1,
        "unit.cycle_two": 1,
        "helper": 2,
        "unit.cycle_one": 2,
        "unit.test_far": 3,
    }
    assert affected(["unit.test_apart"], IMPORTS) == {"unit.test_apart": 0}
    assert affected([], IMPORTS) == {}


def test_the_tests_of_a_module_of_ours_are_found_the_nearest_first() -> None:
    imports = imports_of_the_repository()
    tests = affected_tests.test_files_among(affected(["options_page"], imports))
    assert tests == [Path("tests/structure/test_options_page.py")]
    tests = affected_tests.test_files_among(affected(["headrace.common.options"], imports))
    assert Path("tests/structure/test_options_page.py") in tests  # through the script
    direct = affected_tests.test_files_among(
        dict.fromkeys((n for n, i in imports.items() if "headrace.common.options" in i), 1)
    )
    assert set(tests[: len(direct)]) == set(direct)
    assert Path(__file__).name not in {path.name for path in tests}
    by_text = affected(["headrace.hosts.local.host"], imports)
    assert "headrace.spi.host" in by_text  # which names it in a text
    below = affected_tests.test_files_among(affected(["unit.rest.conftest"], imports))
    assert below
    assert {path.parent for path in below} == {Path("tests/unit/rest")}
