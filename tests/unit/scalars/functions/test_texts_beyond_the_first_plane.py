"""Texts with characters that are two units in Java, and errors of text functions."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidArgumentError
from headrace.scalars.functions.hashing import from_base64, sha2
from headrace.scalars.functions.splitting import split
from headrace.scalars.functions.strings import instr, lpad, overlay, rpad
from headrace.scalars.functions.text_misc import decode, encode


def test_padding_and_overlay_count_units() -> None:
    assert lpad("😀", 3, "x") == "x😀"
    assert rpad("a", 3, "😀") == "a😀"
    assert rpad("a", 2, "😀") == "a?"
    assert overlay("😀b", "X", 1, 2) == "Xb"


def test_splitting_by_nothing_takes_units_apart() -> None:
    assert split("a😀", "") == ["a", "?", "?"]


def test_errors_say_what_to_give() -> None:
    with pytest.raises(InvalidArgumentError, match="appearance number 0"):
        instr("a", "a", 1, 0)
    with pytest.raises(InvalidArgumentError, match="not BASE64"):
        from_base64("*")
    with pytest.raises(InvalidArgumentError, match="224, 256, 384 or 512"):
        sha2("a", 100)
    with pytest.raises(InvalidArgumentError, match="no charset 'nope'"):
        encode("a", "nope")
    with pytest.raises(InvalidArgumentError, match="no charset 'nope'"):
        decode(b"a", "nope")
