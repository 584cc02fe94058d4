"""Paths into JSON beyond what the real Flink could be asked about."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.scalars.json_paths.compiler import compile_path
from headrace.scalars.json_paths.documents import NotJsonError, parse, write
from headrace.scalars.json_paths.paths import JsonPathProblemError, path_in_mode, read
from headrace.scalars.json_paths.steps import PathSyntaxError

BOOKS = '{"b": [{"t": "A", "p": 1, "i": null}, {"t": "B", "p": 2.5}, {"t": "C", "p": 3}]}'


def at(path: str, document: str = BOOKS) -> Any:
    """What a path leads to."""
    return read(document, path_in_mode(path))


def test_filters_that_flink_has_no_classes_for() -> None:
    assert at("$.b[?(@.i)].t") == ["A"]
    assert at("$.b[?(!@.i)].t") == ["B", "C"]
    assert at("$.b[?(@.t in ['A', 'C'])].t") == ["A", "C"]
    assert at("$.b[?(@.t nin ['A', 'C'])].t") == ["B"]


def test_filters_compare_numbers_by_value_and_texts_as_they_read() -> None:
    assert at("$.b[?(@.p == 2.50)].t") == ["B"]
    assert at("$.b[?(@.p == '1')].t") == ["A"]
    assert at("$.b[?(@.p === '1')].t") == []
    assert at("$.b[?(@.t > 'A')].t") == ["B", "C"]
    assert at("$.b[?(@.t > 1)].t") == []


@pytest.mark.parametrize(
    "path",
    ["$.b[?(@.t ~ 'A')]", "$.b[?(@.t size 1)]", "$.b[?(@.t == )]", "$.b[?(@.t", "$[?]", "$['a"],
)
def test_what_is_no_path_is_an_error(path: str) -> None:
    with pytest.raises(PathSyntaxError):
        compile_path(path)
    with pytest.raises(JsonPathProblemError):
        at(f"strict {path}")


def test_a_path_of_nonsense_is_an_error_in_lax_mode_too() -> None:
    with pytest.raises(JsonPathProblemError):
        at("lax $[")


def test_a_document_that_is_no_json_is_empty_in_lax_mode() -> None:
    assert at("lax $.a", "{") is None
    with pytest.raises(JsonPathProblemError, match="not JSON"):
        at("strict $.a", "{")


def test_numbers_keep_their_digits_and_keys_are_sorted() -> None:
    assert write(parse('{"b":1.50,"a":1e2,"c":-0.0}')) == '{"a":1E+2,"b":1.50,"c":0.0}'


@pytest.mark.parametrize("text", ["", " ", "NaN", "01", "tru", "{'a':1}", '"a\nb"', "1x"])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(NotJsonError):
        parse(text)
