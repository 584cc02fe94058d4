"""Text in pieces: words, quoted names, strings, numbers, signs.

    SELECT `a b`, 'it''s' -- why   ──▶   SELECT  a b  ,  it's

In: the text of a statement or script.  Out: tokens that stream.py walks over.  Comments go; of
hints (``/*+ .. */``) the frame and the words stay.  What is no token is one of the kind BAD, so
that only who comes to it complains: SET takes its value from the text.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple


class TokenKind(IntEnum):
    """What a token is."""

    WORD = 1
    QUOTED = 2  # a name in backticks
    STRING = 3
    BINARY = 4  # x'1f'
    UNICODE = 5  # u&'\\00e4'
    ESCAPED = 6  # e'\n'
    NUMBER = 7
    SIGN = 8
    BAD = 9
    END = 10


class Token(NamedTuple):
    """A piece of the text.

    Attributes:
        key: of words the word in capitals, of signs the sign; else empty.  What the grammar
            looks at, so that a quoted name is never a keyword.
        value: of words and names the name, of strings what they say, of numbers the digits.
    """

    kind: TokenKind
    key: str
    value: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""
    (?P<space> (?: \s+ | --[^\n]* | //[^\n]* | /\*(?!\+).*?\*/ )+ )
  | (?P<UNICODE> [uU]&'(?:[^']|'')*' )
  | (?P<BINARY> [xX]'[^']*' )
  | (?P<ESCAPED> [eE]'(?:[^'\\]|\\.|'')*' )
  | (?P<STRING> (?: [nN] | _[A-Za-z0-9][A-Za-z0-9_:.-]* )? '(?:[^']|'')*' )
  | (?P<WORD> (?:[^\W\d]|\$)[\w$]* )
  | (?P<NUMBER> (?: \d+ (?:\.\d*)? | \.\d+ ) (?:[eE][+-]?\d+)? )
  | (?P<QUOTED> `(?:[^`]|``)+` )
  | (?P<SIGN> /\*\+ | \*/ | => | -> | <> | <= | >= | != | == | \|\| | :: | &&
      | [-+*/%=<>(),.;\[\]{}?|^&:~@!] )
  | (?P<BAD> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = {kind.name: kind for kind in TokenKind}


def tokenize(text: str) -> list[Token]:
    """All tokens of a text, with one of the kind END behind them."""
    tokens: list[Token] = []
    add = tokens.append
    for found in _TOKEN.finditer(text):
        group = found.lastgroup
        if group == "space":
            continue
        value = found.group()
        start, end = found.span()
        if group == "WORD":
            add(Token(TokenKind.WORD, value.upper(), value, start, end))
        elif group == "SIGN":
            add(Token(TokenKind.SIGN, value, value, start, end))
        elif group == "NUMBER":
            add(Token(TokenKind.NUMBER, "", value, start, end))
        elif group == "QUOTED":
            add(Token(TokenKind.QUOTED, "", value[1:-1].replace("``", "`"), start, end))
        elif group == "STRING":
            content = value[value.index("'") + 1 : -1].replace("''", "'")
            add(Token(TokenKind.STRING, "", content, start, end))
        else:
            assert group is not None
            add(Token(_KINDS[group], "", value, start, end))
    add(Token(TokenKind.END, "", "", len(text), len(text)))
    return tokens
