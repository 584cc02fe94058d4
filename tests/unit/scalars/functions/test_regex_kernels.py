"""Arrow's matcher is used only for patterns that it reads as Java does."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.scalars.functions.regex import regexp, regexp_extract
from headrace.scalars.functions.regex_kernels import plain_pattern


@pytest.mark.parametrize(
    ("pattern", "group", "written"),
    [
        ("(&|^)channel_id=([^&]*)", 2, "(?:&|^)channel_id=(?P<g>[^&]*)"),
        ("a(b)c", 0, "(?P<g>a(?:b)c)"),
        ("a|b", 0, "(?P<g>a|b)"),
        (r"(\d{2,3}?)\.x", 1, r"(?P<g>\d{2,3}?)\.x"),
    ],
)
def test_plain_patterns_are_written_with_one_group(pattern: str, group: int, written: str) -> None:
    assert plain_pattern(pattern, group) == written


@pytest.mark.parametrize(
    ("pattern", "group"),
    [
        ("", 0), ("a.b", 0), ("a$", 0), (r"\s", 0), (r"a\b", 0), ("(a)*", 1), ("(a)?b", 1),
        ("((a)|b)", 2), ("(a)|b", 1), ("a", 1), ("(a", 1), ("a)", 0), ("a*+", 0), ("(?i)a", 0),
        ("[a-z&&[b]]", 0), ("[]a]", 0), (r"(a)\1", 1), ("a{2}{3}", 0), ("^*", 0), ("[a[b]]", 0),
    ],
)  # fmt: skip
def test_others_are_not(pattern: str, group: int) -> None:
    assert plain_pattern(pattern, group) is None


_ATOMS = [
    "a",
    "b",
    "ab",
    "[ab]",
    "[^a]",
    r"\d",
    r"\w",
    "\\.",
    "ß",
    "[^&]*",
    "a+",
    "b*?",
    "(a|b)",
    "^",
]
_PATTERNS = st.lists(st.sampled_from([*_ATOMS, "(a)", "(b*)", "(?:ab|a)", "|"]), min_size=1).map(
    "".join
)


@given(pattern=_PATTERNS, group=st.integers(0, 2), texts=st.lists(st.text("ab.&1ß\n", max_size=8)))
def test_they_match_what_rows_match(pattern: str, group: int, texts: list[str]) -> None:
    written = plain_pattern(pattern, group)
    if written is None:
        return
    column = pa.array(texts, pa.string())
    extracted = pc.struct_field(pc.extract_regex(column, written), ["g"]).to_pylist()
    assert extracted == [regexp_extract(text, pattern, group) for text in texts]
    matched = pc.match_substring_regex(column, written).to_pylist()
    assert matched == [regexp(text, pattern) for text in texts]
