"""Java's regular expressions: what they mean, what is none, and what is refused."""

from __future__ import annotations

import pytest

from headrace.errors import UnsupportedStepError
from headrace.scalars.java_regex import JavaPatternError, compile_java, java_split


def found(pattern: str, text: str) -> str | None:
    """The first match."""
    match = compile_java(pattern).search(text)
    return None if match is None else match[0]


def test_flags_in_the_middle_hold_to_the_end_of_their_group() -> None:
    assert found("a(?i)b|c", "C") == "C"
    assert found("(a(?i)b)c", "aBc") == "aBc"
    assert found("(a(?i)b)c", "aBC") is None
    assert found("(?i:a)b", "Ab") == "Ab"
    assert found("(?i:a)b", "AB") is None
    assert found("(?i)a(?-i)b", "Ab") == "Ab"
    assert found("(?i)a(?-i)b", "AB") is None


def test_lines_end_where_java_ends_them() -> None:
    assert found("(?m)^b", "a\rb") == "b"
    assert found("a$", "a\r\n") == "a"
    assert found("a\r$", "a\r\n") is None
    assert found("a.b", "a\u2028b") is None


def test_classes_have_parts_and_intersections() -> None:
    assert found("[a-z&&[^aeiou]]+", "eau bcd") == "bcd"
    assert found("[a-c[x-z]]+", "dxaz") == "xaz"
    assert found("[^a-c[x-z]]", "axd") == "d"
    assert found(r"[\w&&[^\d]]+", "12ab") == "ab"
    assert found(r"[\]\-\\]+", "a]-\\") == "]-\\"


def test_letters_and_digits_are_ascii() -> None:
    assert found(r"\d+", "٣3") == "3"
    assert found(r"\w+", "äa") == "a"
    assert found(r"\p{L}+", "1äa") == "äa"
    assert found(r"\P{L}+", "äa1") == "1"


def test_references_to_groups() -> None:
    assert found(r"(a)\1", "aa") == "aa"
    assert found(r"(a)\11", "aa1") == "aa1"
    assert found(r"a\1", "a") is None
    assert found(r"(?<x>ab)\k<x>", "abab") == "abab"


def test_a_quote_may_stay_open() -> None:
    assert found(r"\Qa.b", "a.b") == "a.b"
    assert found(r"\Q*\E+", "**") == "**"


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "[", "*a", "a**", "a{", "a{2,1}", r"\y", "[b-a]", "(?<1>a)", r"\k<x>", "\\"],
)
def test_what_is_no_pattern_in_java(pattern: str) -> None:
    with pytest.raises(JavaPatternError):
        compile_java(pattern)


@pytest.mark.parametrize("pattern", [r"\Ga", r"\X", r"\p{IsGreek}", "(?U)a", "(?<=a+)b"])
def test_what_cannot_be_matched_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(UnsupportedStepError, match="cannot be matched here"):
        compile_java(pattern)


def test_splitting_drops_empty_parts_at_the_end_alone() -> None:
    assert java_split("a,b,,", ",") == ["a", "b"]
    assert java_split(",a", ",") == ["", "a"]
    assert java_split("", ",") == [""]
    assert java_split(",", ",") == []
    assert java_split("abc", "") == ["a", "b", "c"]
    assert java_split("a=b=c", "=", limit=2) == ["a", "b=c"]
