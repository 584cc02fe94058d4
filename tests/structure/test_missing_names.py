"""Every name of PyFlink's that is missing can be imported, and says what to use instead."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import parity_page
from headrace.errors import UnsupportedStepError
from headrace.missing import MissingName
from headrace.missing_names import MODULES, NAMES
from source_files import place, tell, tell_if_stale

if TYPE_CHECKING:
    from collections.abc import Callable

AT = place(parity_page.MISSING, 1)


def test_the_names_are_those_of_the_parity_table() -> None:
    tell_if_stale(parity_page.MISSING, parity_page.missing_text(), "make golden")


def test_a_missing_module_can_be_imported_and_any_name_of_it() -> None:
    assert MODULES
    tell(
        f"{AT} {module}.Anything {problem} (see headrace/missing.py)"
        for module in MODULES
        if (problem := problem_of(module, "Anything", "headrace has no Anything"))
    )


def test_a_missing_name_can_be_imported_from_a_module_that_is_there() -> None:
    assert NAMES
    tell(
        f"{AT} {name} {problem} (run `make golden`, or see headrace/missing.py)"
        for name in NAMES
        if (problem := problem_of(*name.split(":")))
    )


def problem_of(module: str, name: str, message: str = "") -> str:
    """What is wrong with a missing name; empty if it is there up to its use, which says a fix."""
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        return f"cannot be imported: {error}"
    if not isinstance(found, MissingName):
        return f"is not missing: {found!r}"
    use: Callable[[], object] = found  # `found()` would end here, says its type
    try:
        use()
    except UnsupportedStepError as error:
        told = message in str(error) and error.fix
        return "" if told else f"does not say what is missing and what to use: {error}"
    return "can be used"
