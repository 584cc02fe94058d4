"""docs/coming-from-flink.md tells the truth about every public name of PyFlink's DataStream API."""

from __future__ import annotations

import pytest

import parity_page
from source_files import place, tell, tell_if_stale


def test_a_name_without_a_rule_is_the_same_in_headrace() -> None:
    at = place(parity_page.PAGE, 1)
    tell(
        f"{at} {each.name.full}: {each.problem} (make them the same, or give the name a rule with a"
        " reason in docs/parity.toml)"
        for each in parity_page.verdicts()
        if each.problem
    )


def test_every_rule_covers_a_name_and_gives_a_reason() -> None:
    rules, names = parity_page.read_rules(), parity_page.read_names()
    alone = [(p, parity_page.Rule((p,), r.status, r.note)) for r in rules for p in r.match]
    tell(
        [
            *(
                f"docs/parity.toml:1 {rule.match} has no reason (write its note)"
                for rule in rules
                if not rule.note
            ),
            *(
                f"docs/parity.toml:1 {pattern} covers no name (take it out)"
                for pattern, rule in alone
                if not any(map(rule.covers, names))
            ),
        ]
    )


def test_golden_page_is_up_to_date() -> None:
    tell_if_stale(parity_page.PAGE, parity_page.page_text(), "make golden")


def test_every_name_has_one_line_in_the_page() -> None:
    rows = parity_page.PAGE.read_text(encoding="utf-8").count("\n| `")
    names = len(parity_page.read_names())
    if rows != names:
        tell([f"{place(parity_page.PAGE, 1)} has {rows} lines, {names} names (run `make golden`)"])


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [
        ("(a, b=None)", "a, b=None", True),
        ("(a, b=None)", "a, b=None, c=1", True),
        ("(a, b=None)", "a, b", False),
        ("(a, b=None)", "a, c=None", False),
        ("(a, b=None)", "a", False),
        ("(a)", "a, needed", False),
        ("(*args, **kwargs)", "*args, **kwargs", True),
        ("(a=(1, 2), b=...)", "a=(1, 2), b=object()", True),
    ],
)
def test_parameters_agree_by_name_order_and_default(theirs: str, ours: str, same: bool) -> None:
    function = eval(f"lambda {ours}: None")
    name = parity_page.Name("m", "f", theirs)
    assert (parity_page.difference(name, function) == "") is same
