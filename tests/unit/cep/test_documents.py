"""Patterns as data: what a document says, what is told of a wrong one, and the way back."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from headrace.cep import AfterMatchSkipStrategy, Pattern
from headrace.cep.compiler import compile_pattern
from headrace.cep.documents import PatternDocument
from headrace.cep.nfa import NFA
from headrace.common import Row
from headrace.datastream.expressions import col
from headrace.errors import InvalidArgumentError

SMOKE: dict[str, Any] = {
    "id": "smoke after heat",
    "version": 2,
    "within": "10 min",
    "skip": "past_last",
    "pattern": [
        {"name": "heat", "where": "kind = 'temperature' AND degrees > 80"},
        {"name": "smoke", "after": "followed_by", "where": "kind = 'smoke'"},
    ],
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The document with another value at a path such as ``pattern.1.after``."""
    document: Any = json.loads(json.dumps(SMOKE))
    *way, last = path.split(".")
    place = document
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    place[int(last) if last.isdigit() else last] = value
    return dict(document)


def matches(pattern: Pattern | None, *events: Any) -> list[dict[str, list[Any]]]:
    """What the automaton finds, an event a second."""
    assert pattern is not None
    nfa = NFA(compile_pattern(pattern))
    state = nfa.initial_state()
    found = []
    for place, event in enumerate(events):
        nfa.advance_time(state, 1000 * place)
        found += [match.events() for match in nfa.process(state, event, 1000 * place)]
    return found


def test_a_document_means_the_pattern_that_it_describes() -> None:
    document = PatternDocument.read(json.dumps(SMOKE))
    assert (document.id, document.version) == ("smoke after heat", 2)
    heat = Row(kind="temperature", degrees=90)
    cool = Row(kind="temperature", degrees=20)
    smoke = Row(kind="smoke", degrees=None)
    assert matches(document.pattern, heat, cool, smoke) == [{"heat": [heat], "smoke": [smoke]}]
    assert matches(document.pattern, cool, smoke) == []


def test_conditions_look_back_at_stages() -> None:
    rising = {
        "id": "rising",
        "version": 1,
        "pattern": [
            {"name": "first"},
            {
                "name": "up",
                "after": "next",
                "times": [2, None],
                "consecutive": True,
                "where": "price > first.price AND (COUNT(up.*) = 0 OR price > LAST(up.price))",
            },
            {"name": "down", "after": "next", "where": "price < AVG(up.price)"},
        ],
    }
    prices = [{"price": price} for price in (3, 5, 7, 2)]
    [match] = matches(PatternDocument.read(rising).pattern, *prices)
    assert match == {"first": prices[:1], "up": prices[1:3], "down": prices[3:]}
    flat = [{"price": price} for price in (3, 5, 5, 2)]
    assert matches(PatternDocument.read(rising).pattern, *flat) == []


def test_a_null_satisfies_no_condition() -> None:
    document = PatternDocument.read(changed("pattern.0.where", "degrees <> 1"))
    assert (
        matches(document.pattern, Row(kind="x", degrees=None), Row(kind="smoke", degrees=1)) == []
    )


@pytest.mark.parametrize(
    "document",
    [
        SMOKE,
        {"id": "gone", "version": 3, "removed": True},
        {
            "id": "all of it",
            "version": 1,
            "skip": {"to_first": "d", "or_fail": True},
            "pattern": [
                {"name": "a", "times": [2, 3], "greedy": True, "where": "x IN (1, 2)"},
                {
                    "after": "followed_by_any",
                    "group": [
                        {"name": "b", "times": 2, "times_within": "3 s", "consecutive": True},
                        {"name": "c", "after": "next", "optional": True, "within_previous": 5},
                    ],
                    "times": [1, None],
                    "until": "x LIKE 'a%'",
                },
                {"name": "d", "after": "followed_by", "where": "x > SUM(b.x)"},
                {"name": "e", "after": "not_followed_by", "within": 6000},
            ],
        },
    ],
    ids=lambda document: document["id"],
)
def test_a_pattern_becomes_its_document_again(document: dict[str, Any]) -> None:
    first = PatternDocument.read(document)
    written = first.to_json()
    assert PatternDocument.read(written).to_json() == written
    if first.pattern is not None:
        again = PatternDocument.read(written).pattern
        assert again is not None
        assert again.explain() == first.pattern.explain()


def test_a_pattern_of_a_program_becomes_a_document() -> None:
    skip = AfterMatchSkipStrategy.skip_to_next()
    pattern = (
        Pattern.begin("small", skip)
        .where(col("amount") < 1)
        .where(col("country").isin("fi", "it's"))
        .next("large")
        .where(col("amount") > 500)
        .or_(~col("value").startswith("x"))
        .within(60_000)
    )
    document = PatternDocument.of(pattern, "fraud").to_dict()
    assert document == {
        "id": "fraud",
        "version": 1,
        "skip": "to_next",
        "pattern": [
            {"name": "small", "where": "((amount < 1)) AND (country IN ('fi', 'it''s'))"},
            {
                "name": "large",
                "after": "next",
                "where": "((amount > 500)) OR (NOT (STARTSWITH(`value`, 'x')))",
                "within": 60_000,
            },
        ],
    }
    small = Row(amount=0.5, country="it's", value="x")
    large = Row(amount=600.0, country="fi", value="x")
    assert matches(PatternDocument.read(document).pattern, small, large)


def test_a_python_function_has_no_place_in_a_document() -> None:
    pattern = Pattern.begin("a").where(lambda event: event.x > 1)
    with pytest.raises(InvalidArgumentError, match="Python function, and documents hold texts"):
        PatternDocument.of(pattern, "functions")


def test_patterns_of_documents_travel_to_workers() -> None:
    document = PatternDocument.read(changed("pattern.1.where", "degrees > LAST(heat.degrees)"))
    again = pickle.loads(pickle.dumps(document))
    assert again.to_json() == document.to_json()


WRONG: list[tuple[str, Any, str, str]] = [
    ("id", None, "$.id", "a text is expected, not nothing"),
    ("version", "2", "$.version", 'a whole number is expected, not "2"'),
    ("version", True, "$.version", "a whole number is expected, not true"),
    ("pattern", [], "$.pattern", "a list with at least one stage is expected, not []"),
    ("pattern", "x", "$.pattern", "a list of stages is expected"),
    ("pattern.0", "heat", "$.pattern[0]", "an object with the name of a stage is expected"),
    ("witin", 5, "$.witin", "there is no field 'witin' here"),
    ("skip", "past_lst", "$.skip", "one of no_skip, to_next, past_last"),
    ("skip", {"to_first": 3}, "$.skip.to_first", "the name of a stage is expected, not 3"),
    ("skip", {"to_first": "fire"}, "$.pattern", "skips to 'fire', which is no stage"),
    ("within", "10 parsecs", "$.within", "'10 parsecs' is not an amount of time"),
    ("within", -1, "$.within", "expects a time above zero"),
    ("pattern.0.after", "next", "$.pattern[0].after", "the first stage comes after nothing"),
    ("pattern.1.after", "folowed_by", "$.pattern[1].after", 'not "folowed_by"'),
    ("pattern.1.name", "heat", "$.pattern", "the name 'heat' is used twice"),
    ("pattern.1.name", "", "$.pattern[1].name", "a text is expected"),
    ("pattern.1.grop", [], "$.pattern[1].grop", "there is no field 'grop' here"),
    ("pattern.1.times", "2", "$.pattern[1].times", "2, [2, 4], or [2, null]"),
    ("pattern.1.times", 0, "$.pattern[1].times", "expects a positive number"),
    ("pattern.1.times_within", 5, "$.pattern[1].times_within", "about a stage with times"),
    ("pattern.1.greedy", True, "$.pattern[1].greedy", "cannot be greedy"),
    ("pattern.1.optional", "yes", "$.pattern[1].optional", 'true or false is expected, not "yes"'),
    ("pattern.1.until", "degrees > 1", "$.pattern[1].until", "until ends a loop"),
    ("pattern.1.where", 5, "$.pattern[1].where", "an expression of SQL is expected, not 5"),
    ("pattern.1.where", "degrees >", "$.pattern[1].where", "expected an expression"),
    ("pattern.1.where", "degres > 1", "$.pattern[1].where", "events have no column 'degres'"),
    ("pattern.1.where", "degrees > LAST(het.degrees)", "$.pattern[1].where", "no stage 'het'"),
    ("pattern.1.where", "LAST(degrees) > 1", "$.pattern[1].where", "LAST is about the events"),
    ("pattern.1.where", "SOUNDEX(kind) = 'a'", "$.pattern[1].where", "no function SOUNDEX"),
    ("pattern.1.where", "kind IN (SELECT 1)", "$.pattern[1].where", "InQuery cannot stand"),
    ("pattern.1.where", "kind LIKE degrees", "$.pattern[1].where", "compare with constants only"),
]


@pytest.mark.parametrize(("path", "value", "place", "message"), WRONG)
def test_what_is_wrong_is_told_with_its_path(
    path: str, value: Any, place: str, message: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        PatternDocument.read(changed(path, value), columns=["kind", "degrees"])
    assert message in caught.value.message
    title = "'None'" if path == "id" else "'smoke after heat'"
    assert caught.value.where == f"pattern document {title}, {place}"


@pytest.mark.parametrize(
    ("path", "value", "fix"),
    [
        ("pattern.1.after", "folowed_by", "did you mean 'followed_by'?"),
        ("witin", 5, "did you mean 'within'?"),
        ("skip", "past_lst", "did you mean 'past_last'?"),
        ("pattern.1.where", "degres > 1", "did you mean 'degrees'?"),
        ("pattern.1.where", "degrees > het.degrees", "did you mean 'heat'?"),
    ],
)
def test_close_matches_are_offered(path: str, value: Any, fix: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        PatternDocument.read(changed(path, value), columns=["kind", "degrees"])
    assert caught.value.fix == fix


@pytest.mark.parametrize("text", ["{", "[]", "3", b"\xff"])
def test_what_is_no_object_of_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="pattern document is"):
        PatternDocument.read(text)


def test_a_document_cannot_remove_and_describe() -> None:
    with pytest.raises(InvalidArgumentError, match="or removes one, not both"):
        PatternDocument.read(SMOKE | {"removed": True})


def test_what_must_not_come_needs_a_match_that_has_begun() -> None:
    document = {
        "id": "nothing yet",
        "version": 1,
        "pattern": [
            {"group": [{"name": "a", "optional": True}]},
            {"name": "b", "after": "not_next", "where": "x = 1"},
            {"name": "c", "after": "next"},
        ],
    }
    with pytest.raises(InvalidArgumentError, match="a match would end before it began"):
        PatternDocument.read(document)
