"""Text with several statements, as statements one by one, each with its place in the text.

    SET 'a' = 'b';   SELECT 1      ──▶   (line 1, "SET 'a' = 'b'", complete)
                                         (line 1, "SELECT 1", not complete)

In: a script, or what has been typed so far.  Out: `ScriptStatement`s.  Nothing is parsed here, so
that a script runs up to its first error.  Next: cli/sql/client.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.sql.tokens import Token, TokenKind, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# what opens a set in one statement, whose INSERTs end with semicolons themselves
_SET = ["STATEMENT", "SET", "BEGIN"]
# commands of the client that need no semicolon when they are all that was typed
_ALONE = frozenset({"QUIT", "EXIT", "HELP", "CLEAR"})


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """A statement of a script.

    Attributes:
        text: as it was written, without the semicolon and the comments in front of it.
        line: on which it begins, counted from 1.
        column: at which it begins, counted from 1.
        complete: whether a semicolon ends it.
    """

    text: str
    line: int
    column: int
    complete: bool

    @property
    def placed(self) -> str:
        """The text with as much in front of it that places in it are places in the script."""
        return "\n" * (self.line - 1) + " " * (self.column - 1) + self.text


def statements_of(text: str) -> list[ScriptStatement]:
    """The statements of a text; only the last one may be incomplete."""
    return [_statement(text, tokens) for tokens in _parts(text)]


def is_complete(text: str) -> bool:
    """Whether what was typed can be executed: its last statement has its semicolon."""
    found = statements_of(text)
    if not found:
        return not text.strip() or not _opens_comment(tokenize(text))
    return found[-1].complete or (len(found) == 1 and found[0].text.strip().upper() in _ALONE)


def _statement(text: str, tokens: Sequence[Token]) -> ScriptStatement:
    start = tokens[0].start
    complete = tokens[-1].key == ";" and not _is_open_set(tokens)
    end = tokens[-1].start if complete else tokens[-1].end
    return ScriptStatement(
        text[start:end].rstrip(),
        text.count("\n", 0, start) + 1,
        start - text.rfind("\n", 0, start),
        complete,
    )


def _parts(text: str) -> Iterator[list[Token]]:
    """The tokens of each statement, with the semicolon behind it."""
    part: list[Token] = []
    everything = tokenize(text)[:-1]
    for place, token in enumerate(everything):
        if _opens(everything, place):  # a text or comment that does not end: all of the rest
            yield [*part, *everything[place:], _rest(text, token)]
            return
        if token.key == ";" and not part:
            continue
        part.append(token)
        if token.key == ";" and not _is_open_set(part):
            yield part
            part = []
    if part:
        yield part


def _rest(text: str, token: Token) -> Token:
    return Token(TokenKind.BAD, "", text[token.start :], token.start, len(text))


def _opens(tokens: Sequence[Token], place: int) -> bool:
    token = tokens[place]
    if token.kind is TokenKind.BAD:
        return token.value in ("'", "`")
    return _opens_comment(tokens[place : place + 2])


def _opens_comment(tokens: Sequence[Token]) -> bool:
    """Whether the first tokens are ``/*``, which would be none if the comment had an end."""
    if len(tokens) < 2 or tokens[0].key != "/":
        return False
    return tokens[1].key in ("*", "*/") and tokens[0].end == tokens[1].start


def _is_open_set(part: Sequence[Token]) -> bool:
    """Whether the semicolon ends an INSERT of a set, and not the set."""
    keys = [token.key for token in part]
    opened = any(keys[at : at + 3] == _SET for at in range(min(len(keys), 10)))
    return opened and keys[-3:-1] != [";", "END"]
