"""The page of SQL functions says what the code says, and leaves nothing of Flink's out."""

from __future__ import annotations

from pathlib import Path

import sql_functions_page as generator
from headrace.scalars.aggregate_rules import aggregate_names
from headrace.scalars.functions.registry import all_entries
from source_files import place, tell, tell_if_stale


def _is_there(name: str) -> bool:
    return name in all_entries() or name in generator.SYNTAX or name in aggregate_names()


def test_the_page_of_functions_is_up_to_date() -> None:
    tell_if_stale(generator.PAGE, generator.page(), "make golden")


def test_what_is_not_there_has_a_reason_and_what_is_there_has_none() -> None:
    missing = {name for name in generator.flink_names() if not _is_there(name)}
    at = place(Path(generator.__file__), 1)
    reasons = set(generator.NOT_THERE)
    tell(
        [
            *(f"{at} {name} is missing (say why in NOT_THERE)" for name in missing - reasons),
            *(f"{at} {name} is there (take it out of NOT_THERE)" for name in reasons - missing),
        ]
    )


def test_every_function_stands_on_the_page() -> None:
    # The page leaves out the negations that stand beside a predicate, and what users cannot write.
    entries = {entry.name for entry in all_entries().values() if not entry.internal}
    beside = {name for name in entries if name.startswith("IS NOT JSON") or "SYMMETRIC" in name}
    unlisted = entries - beside - set(generator.flink_names())
    unlisted |= set(aggregate_names()) - set(generator.flink_names())
    at = place(generator.PAGE, 1)
    tell(
        f"{at} leaves out {name} (is it Flink's? give it a place in scripts/sql_functions_page.py)"
        for name in sorted(unlisted - {"NEGATE"})
    )
