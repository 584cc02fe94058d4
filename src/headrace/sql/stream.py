"""A walk over tokens: look, take, complain.

In: tokens (tokens.py).  Out: what every part of the grammar is built on, from type_names.py to
statements.py.  Complaints say what was found and what was expected; habits.py knows what users of
other dialects meant.

Parsing itself keeps no record of what it tried.  Only when it failed, parser.py walks the same
text again with `Recording`, which does, so that errors can list what might have stood there.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from headrace.errors import SqlParseError
from headrace.sql.ast import Identifier
from headrace.sql.habits import advice_for
from headrace.sql.keywords import RESERVED
from headrace.sql.position import TextPosition
from headrace.sql.tokens import Token, TokenKind, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import TypeVar

    T = TypeVar("T")

_MOST_EXPECTED = 8  # more things that might stand somewhere help nobody


END_OF_STATEMENT = "the end of the statement"


class UnexpectedTokenError(SqlParseError):
    """A token that the grammar has no use for at its place; parser.py turns it into the final."""

    expected: tuple[str, ...] = ()


class TokenStream:
    """The tokens of a text, and which of them is next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.index = 0

    # --- looking ---------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.index]

    @property
    def key(self) -> str:
        """The next word in capitals, or the next sign; empty for names in backticks and values."""
        return self.tokens[self.index].key

    def key_at(self, ahead: int) -> str:
        """The key of a token further on."""
        index = self.index + ahead
        return self.tokens[index].key if index < len(self.tokens) else ""

    def at(self, *keys: str) -> bool:
        """Whether these words or signs are next, one behind the other."""
        return all(self.key_at(ahead) == key for ahead, key in enumerate(keys))

    def at_end(self) -> bool:
        """Whether the text is over."""
        return self.token.kind is TokenKind.END

    def at_string(self) -> bool:
        """Whether a string is next."""
        return self.token.kind is TokenKind.STRING

    def at_name(self) -> bool:
        """Whether something is next that may be a name."""
        token = self.token
        if token.kind is TokenKind.WORD:
            return token.key not in RESERVED
        return token.kind is TokenKind.QUOTED

    # --- taking ----------------------------------------------------------------------------

    def advance(self) -> Token:
        """Takes the next token, whatever it is."""
        token = self.tokens[self.index]
        self.index += 1
        return token

    def accept(self, *keys: str) -> bool:
        """Takes these words or signs if they are all next, one behind the other."""
        index = self.index
        tokens = self.tokens
        for key in keys:
            if tokens[index].key != key:
                return False
            index += 1
        self.index = index
        return True

    def accept_one(self, keys: Collection[str]) -> str | None:
        """Takes the next word or sign if it is one of these, and says which."""
        key = self.tokens[self.index].key
        if key and key in keys:
            self.index += 1
            return key
        return None

    def expect(self, *keys: str) -> None:
        """Takes these words or signs; an error if others are there."""
        for key in keys:
            if not self.accept(key):
                self.fail(key)

    def expect_one(self, keys: Collection[str]) -> str:
        """Takes one of these words or signs."""
        found = self.accept_one(keys)
        if found is None:
            self.fail(*keys)
        return found

    def string(self, what: str = "a string in single quotes") -> str:
        """Takes a string and gives what it says."""
        if not self.at_string():
            self.fail(what)
        return self.advance().value

    def number(self, what: str = "a whole number") -> int:
        """Takes a number without sign, point and exponent."""
        token = self.token
        if token.kind is not TokenKind.NUMBER or not token.value.isdigit():
            self.fail(what)
        self.index += 1
        return int(token.value)

    def name(self, what: str = "a name") -> str:
        """Takes a name without qualifiers."""
        if not self.at_name():
            self.fail(what)
        return self.advance().value

    def identifier(self, what: str = "a name") -> Identifier:
        """Takes a name with its qualifiers."""
        first = self.index
        parts = [self.name(what)]
        while self.key == "." and self.key_at(1) != "*":
            self.index += 1
            parts.append(self.name("a name behind the point"))
        return Identifier(tuple(parts), position=self.since(first))

    def path(self) -> Identifier:
        """Takes a path of any words, reserved ones, too."""
        first = self.index
        parts: list[str] = []
        while not parts or self.accept("."):
            if self.token.kind not in {TokenKind.WORD, TokenKind.QUOTED}:
                self.fail("a name")
            parts.append(self.advance().value)
        return Identifier(tuple(parts), position=self.since(first))

    # --- repetition ------------------------------------------------------------------------

    def comma_list(self, item: Callable[[], T]) -> tuple[T, ...]:
        """One or more, with commas in between."""
        items = [item()]
        while self.accept(","):
            items.append(item())
        return tuple(items)

    def parenthesized(self, item: Callable[[], T]) -> tuple[T, ...]:
        """One or more in parentheses."""
        self.expect("(")
        items = self.comma_list(item)
        self.expect(")")
        return items

    def names_in_parentheses(self, what: str = "the name of a column") -> tuple[str, ...]:
        """``(a, b)``."""
        return self.parenthesized(lambda: self.name(what))

    # --- places and complaints -------------------------------------------------------------

    def since(self, first: int) -> TextPosition:
        """The span from a token, by its index, up to what was taken last."""
        last = max(first, self.index - 1)
        return TextPosition(self.tokens[first].start, self.tokens[last].end, self.text)

    def here(self) -> TextPosition:
        """The place of the next token."""
        token = self.token
        return TextPosition(token.start, token.end, self.text)

    def place_of(self, index: int) -> TextPosition:
        """The place of a token by its index."""
        token = self.tokens[index]
        return TextPosition(token.start, token.end, self.text)

    def fail(self, *expected: str) -> NoReturn:
        """Complains about the next token; keys, or in words what should be there."""
        error = UnexpectedTokenError("unexpected token")
        error.expected = expected
        raise error

    def refuse(self, message: str, fix: str, *, position: TextPosition | None = None) -> NoReturn:
        """Complains about something that was understood, and is not allowed."""
        raise SqlParseError(message, position=position or self.here(), fix=fix)

    def found(self) -> str:
        """The next token in words."""
        token = self.token
        source = self.text[token.start : token.end]
        if token.kind is TokenKind.END:
            return "the text ends"
        if token.kind is TokenKind.WORD and token.key in RESERVED:
            return f"found the keyword {token.key}"
        return f"found {source if len(source) <= 30 else source[:27] + '...'}"


class Recording(TokenStream):
    """A walk that remembers what it looked for, place by place."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.tried: dict[int, dict[str, None]] = {}

    def _note(self, index: int, key: str) -> None:
        self.tried.setdefault(index, {})[key] = None

    def accept(self, *keys: str) -> bool:
        """As always, and notes the first that was not there."""
        for ahead, key in enumerate(keys):
            if self.key_at(ahead) != key:
                # half a phrase that is there counts as wanted only if its first word was
                self._note(self.index + ahead, key)
                return False
        return super().accept(*keys)

    def accept_one(self, keys: Collection[str]) -> str | None:
        """As always, and notes them all."""
        found = super().accept_one(keys)
        if found is None:
            for key in keys:
                self._note(self.index, key)
        return found

    def final_error(self, error: UnexpectedTokenError) -> SqlParseError:
        """The error for the user: what might have stood there, and what might have been meant."""
        token = self.token
        unclosed = _UNCLOSED.get(self.text[token.start : token.end])
        tried = self.tried.get(self.index, {})
        habit = advice_for(self.tokens, self.index, self.text)
        if token.kind is TokenKind.BAD and unclosed is not None:
            message = unclosed
        elif habit is not None:
            word = self.text[token.start : token.end]
            message = f"{word} cannot stand here" if word else "the text cannot end here"
        else:
            message = f"expected {_either(self._expected(error, tried))}, but {self.found()}"
        advice = habit or self._advice(error, tried)
        return SqlParseError(message, position=self.here(), fix=advice)

    def _expected(self, error: UnexpectedTokenError, tried: Iterable[str]) -> list[str]:
        if len(error.expected) > 1 or _in_words(error.expected[0]):
            others: list[str] = []
        else:
            others = [key for key in tried if key.isalpha() or key in {",", ")"}]
        wanted = list(dict.fromkeys(error.expected))
        if wanted == [END_OF_STATEMENT]:
            wanted = [*(key for key in tried if key.isalpha() or key == ","), END_OF_STATEMENT]
        wanted.extend(key for key in others if key not in wanted)
        if len(wanted) > _MOST_EXPECTED:
            return [*wanted[: _MOST_EXPECTED - 1], "others"]
        return wanted

    def _advice(self, error: UnexpectedTokenError, tried: Iterable[str]) -> str | None:
        candidates = [*error.expected, *tried]
        token = self.token
        close = _close_match(token, candidates)
        if close is not None:
            return f"did you mean {close}?"
        if self.index and self.tokens[self.index - 1].key == ",":
            behind = token.key in _AFTER_LISTS and not self._is_meant_as_name()
            return "leave the comma in front of it out" if behind else self._reserved_word(error)
        return self._reserved_word(error) or self._word_before(candidates)

    def _reserved_word(self, error: UnexpectedTokenError) -> str | None:
        if not _wants_name(error.expected) or not self._is_meant_as_name():
            return None
        token = self.token
        return f"{token.key} is reserved: as a name it needs backticks, `{token.value}`"

    def _is_meant_as_name(self) -> bool:
        """Whether a reserved word is no clause: `FROM order` is none without BY, nor `end.a`."""
        key = self.key
        if key not in _AFTER_LISTS:
            return key in RESERVED
        if key in {"GROUP", "ORDER"}:
            return self.key_at(1) != "BY"
        return key in RESERVED and self.key_at(1) in {".", ",", ";", ""}

    def _word_before(self, candidates: Iterable[str]) -> str | None:
        """`SELECT a FORM t` fails at t, since FORM is taken for a name: the mistake is before."""
        if self.index == 0:
            return None
        before = self.tokens[self.index - 1]
        close = _close_match(before, [*candidates, *self.tried.get(self.index - 1, {})])
        return None if close is None else f"did you mean {close} instead of {before.value}?"


# Behind a list, where a comma too many is more likely than a name.
_AFTER_LISTS = frozenset(
    {")", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "WITH", "THEN", "END", "AS", "ON"}
)
_UNCLOSED = {"'": "this string has no end", "`": "this name has no end"}


def _in_words(expected: str) -> bool:
    return expected.upper() != expected


def _wants_name(expected: tuple[str, ...]) -> bool:
    return any("name" in each or each == "an expression" for each in expected)


def _either(keys: Sequence[str]) -> str:
    *most, last = (key if key[0].isalpha() else f"'{key}'" for key in keys)
    return f"{', '.join(most)} or {last}" if most else last


def _close_match(token: Token, candidates: Iterable[str]) -> str | None:
    words = [word for word in candidates if len(word) > 1 and word.replace("_", "").isalpha()]
    if token.kind is not TokenKind.WORD or token.key in words:
        return None
    close = get_close_matches(token.key, words, n=1, cutoff=0.7)
    return close[0] if close else None
