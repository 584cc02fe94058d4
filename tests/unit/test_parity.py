"""docs/coming-from-flink.md tells the truth about every public name of PyFlink's DataStream API."""

from __future__ import annotations

import pytest

import parity_page


def test_a_name_without_a_rule_is_the_same_in_headrace() -> None:
    wrong = [f"{v.name.full}: {v.problem}" for v in parity_page.verdicts() if v.problem]
    assert not wrong, (
        "give these a rule with a reason in docs/parity.toml, or make them the same:\n"
        + "\n".join(wrong)
    )


def test_every_rule_covers_a_name_and_gives_a_reason() -> None:
    for rule in parity_page.read_rules():
        assert rule.note, f"{rule.match}: a name that is left out has a reason"
        for pattern in rule.match:
            alone = parity_page.Rule((pattern,), rule.status, rule.note)
            assert any(alone.covers(name) for name in parity_page.read_names()), pattern


def test_golden_page_is_up_to_date() -> None:
    text = parity_page.PAGE.read_text(encoding="utf-8")
    assert text == parity_page.page_text(), "run: make golden"


def test_every_name_has_one_line_in_the_page() -> None:
    rows = parity_page.PAGE.read_text(encoding="utf-8").count("\n| `")
    assert rows == len(parity_page.read_names())


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
