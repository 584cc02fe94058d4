r"""Java's regular expressions, as Python's.

    (?<year>\d{4})\z   ──▶   (?P<year>[0-9]{4})\Z

Python's `re` reads nearly the same language, with another meaning in places: `\w` and `\d` know
all of Unicode, `$` and `.` know one line break where Java knows five, flags in the middle are
refused, classes are flat.  So a pattern is read as Java reads it, and written anew.  What is no
pattern in Java raises `JavaPatternError`; what is one, but has no counterpart here, raises
`UnsupportedStepError` (loudly: Flink would give a result).

Not there: ``\G``, ``\X``, scripts and blocks of Unicode, (?U), look-behind of varying length.

In: patterns of users (functions/regex.py).  Out: compiled patterns.  Next: scalars/java_classes.py
"""

from __future__ import annotations

import re
from functools import lru_cache

from headrace.errors import UnsupportedStepError
from headrace.scalars import java_classes as classes

_BREAKS = r"\n\r\x85\u2028\u2029"
_END = rf"(?:(?<!\r(?=\n))(?=(?:\r\n|[{_BREAKS}])?\Z))"
_END_OF_LINE = rf"(?:(?<!\r(?=\n))(?=[{_BREAKS}]|\Z))"
_START_OF_LINE = r"(?:(?:\A|(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))(?!\Z))"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_ANCHORS = {
    "A": r"\A", "z": r"\Z", "Z": _END, "b": r"(?u:\b)", "B": r"(?u:\B)",
    "R": r"(?>\r\n|[\n\x0b\f\r\x85\u2028\u2029])",
}  # fmt: skip
_REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}")
_FLAGS = re.compile(r"\(\?([idmsuxU]*)(?:-([idmsuxU]+))?([:)])")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9]*")


class JavaPatternError(Exception):
    """Java does not take the pattern; functions give NULL or FALSE for it, as Flink does."""


@lru_cache(maxsize=1024)
def compile_java(pattern: str) -> re.Pattern[str]:
    """The pattern of Python that matches what a pattern of Java matches.

    Raises:
        JavaPatternError: it is none in Java.
        UnsupportedStepError: it is one, but headrace cannot match it.
    """
    written = _Translator(pattern).translated()
    try:
        return re.compile(written, re.ASCII)
    except re.error as error:
        raise _unsupported(pattern, str(error)) from None


def _unsupported(pattern: str, what: str) -> UnsupportedStepError:
    message = f"the regular expression {pattern!r} cannot be matched here: {what}"
    return UnsupportedStepError(message, fix="write it without, or match in a user function")


class _Translator:
    """Reads a pattern of Java from left to right and writes one of Python."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0
        self.out: list[str] = []
        self.flags: frozenset[str] = frozenset()
        # How many groups with flags were opened inside of each group that is open.
        self.wrapped: list[tuple[int, frozenset[str]]] = [(0, frozenset())]
        self.groups = 0
        self.names: set[str] = set()
        self.repeatable = False

    def translated(self) -> str:
        while self.place < len(self.pattern):
            self.step()
        if len(self.wrapped) > 1:
            raise JavaPatternError("a group is not closed")
        self.close_flags()
        return "".join(self.out)

    # --- reading ---------------------------------------------------------------------------------

    def peek(self) -> str:
        return self.pattern[self.place : self.place + 1]

    def take(self) -> str:
        if self.place >= len(self.pattern):
            raise JavaPatternError("the pattern ends too early")
        self.place += 1
        return self.pattern[self.place - 1]

    def accept(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.place)
        if found:
            self.place += len(text)
        return found

    def until(self, end: str) -> str:
        stop = self.pattern.find(end, self.place)
        if stop < 0:
            raise JavaPatternError(f"{end} is missing")
        taken = self.pattern[self.place : stop]
        self.place = stop + len(end)
        return taken

    def emit(self, text: str, *, repeatable: bool = True) -> None:
        self.out.append(text)
        self.repeatable = repeatable

    # --- steps -----------------------------------------------------------------------------------

    def step(self) -> None:
        sign = self.take()
        if "x" in self.flags and self.skip_comment(sign):
            return
        match sign:
            case "\\":
                self.escape()
            case "[":
                self.emit(self.character_class())
            case "(":
                self.open_group()
            case ")":
                self.close_group()
            case "|":
                self.alternative()
            case ".":
                lines = r"\n" if "d" in self.flags else _BREAKS
                self.emit(r"[\s\S]" if "s" in self.flags else f"[^{lines}]")
            case "^":
                self.emit(_START_OF_LINE if "m" in self.flags else r"\A")
            case "$":
                self.emit(_END_OF_LINE if "m" in self.flags else _END)
            case "*" | "+" | "?" | "{":
                self.repetition(sign)
            case _:
                self.emit(re.escape(sign))

    def skip_comment(self, sign: str) -> bool:
        if sign == "#":
            while self.place < len(self.pattern) and self.take() != "\n":
                pass
        return sign == "#" or sign in " \t\n\x0b\f\r"

    def repetition(self, sign: str) -> None:
        if not self.repeatable:
            raise JavaPatternError(f"there is nothing to repeat before {sign}")
        if sign == "{":
            found = _REPEAT.match(self.pattern, self.place - 1)
            if found is None:
                raise JavaPatternError("the repetition is no number")
            if found[3] and int(found[3]) < int(found[1]):
                raise JavaPatternError("the repetition has its bounds in the wrong order")
            sign = found[0]
            self.place = found.end()
        mode = self.take() if self.peek() in ("?", "+") and self.peek() else ""
        self.emit(sign + mode, repeatable=False)

    # --- groups and flags ------------------------------------------------------------------------

    def open_group(self) -> None:
        self.place -= 1
        found = _FLAGS.match(self.pattern, self.place)
        if found is not None and found[0] != "(?:":
            self.place = found.end()
            self.change_flags(found)
            return
        self.place += 1
        self.wrapped.append((0, self.flags))
        self.emit(self.group_start(), repeatable=False)

    def group_start(self) -> str:
        for start in ("?:", "?=", "?!", "?>", "?<=", "?<!"):
            if self.accept(start):
                return f"({start}"
        self.groups += 1
        if self.accept("?<"):
            name = self.until(">")
            if not _NAME.fullmatch(name) or name in self.names:
                raise JavaPatternError(f"{name!r} is no name for a group, or is used twice")
            self.names.add(name)
            return f"(?P<{name}>"
        if self.peek() == "?":
            raise JavaPatternError("the group begins with an unknown construct")
        return "("

    def change_flags(self, found: re.Match[str]) -> None:
        if "U" in found[1]:
            raise _unsupported(self.pattern, "(?U) is not there")
        before = self.flags
        changed = (before | frozenset(found[1])) - frozenset(found[2] or "")
        if found[3] == ":":
            self.wrapped.append((0, before))
            self.flags = changed
            self.emit(self.opening(changed), repeatable=False)
            return
        count, outer = self.wrapped[-1]
        self.flags = changed
        self.wrapped[-1] = (count + 1, outer)
        self.emit(self.opening(changed), repeatable=False)

    @staticmethod
    def opening(flags: frozenset[str]) -> str:
        if "i" not in flags:
            return "(?-i:"
        return "(?iu:" if "u" in flags else "(?i:"

    def close_flags(self) -> None:
        self.out.append(")" * self.wrapped[-1][0])

    def alternative(self) -> None:
        """Flags of the middle of a group hold in its other alternatives, too."""
        self.close_flags()
        count, outer = self.wrapped[-1]
        self.emit("|", repeatable=False)
        if count:
            self.out.append(self.opening(self.flags))
            self.wrapped[-1] = (1, outer)

    def close_group(self) -> None:
        if len(self.wrapped) == 1:
            raise JavaPatternError("there is a ) too many")
        self.close_flags()
        _, self.flags = self.wrapped.pop()
        self.emit(")")

    # --- escapes ---------------------------------------------------------------------------------

    def escape(self) -> None:
        sign = self.take()
        if sign == "Q":
            quoted = self.until("\\E") if "\\E" in self.pattern[self.place :] else self.rest()
            self.emit(re.escape(quoted))
        elif sign in _ANCHORS:
            if sign == "b" and self.peek() == "{":
                raise _unsupported(self.pattern, "\\b{..} is not there")
            self.emit(_ANCHORS[sign])
        elif sign in "123456789":
            self.emit(self.back_reference(sign))
        elif sign == "k":
            self.emit(self.named_reference())
        elif sign in "GX":
            raise _unsupported(self.pattern, f"\\{sign} is not there")
        else:
            self.emit(self.single(sign))

    def rest(self) -> str:
        taken, self.place = self.pattern[self.place :], len(self.pattern)
        return taken

    def back_reference(self, digit: str) -> str:
        number = int(digit)
        while self.peek().isdigit() and number * 10 + int(self.peek()) <= self.groups:
            number = number * 10 + int(self.take())
        return f"(?:\\{number})" if number <= self.groups else "(?!)"

    def named_reference(self) -> str:
        name = self.until(">") if self.accept("<") else ""
        if name not in self.names:
            raise JavaPatternError(f"there is no group {name!r}")
        return f"(?P={name})"

    def single(self, sign: str) -> str:
        """The pattern of one character behind a backslash, outside of classes."""
        found = self.class_escape(sign)
        return re.escape(self.character(sign)) if found is None else found

    def class_escape(self, sign: str) -> str | None:
        """The class that a backslash and a letter stand for; None if they are a character."""
        if sign.lower() in classes.LETTERS:
            return f"[{'^' if sign.isupper() else ''}{classes.LETTERS[sign.lower()]}]"
        if sign in "pP":
            name = self.until("}") if self.accept("{") else self.take()
            try:
                return f"[{'^' if sign == 'P' else ''}{classes.named_class(name)}]"
            except classes.UnknownClassError:
                raise _unsupported(self.pattern, f"the class \\p{{{name}}} is unknown") from None
        return None

    def character(self, sign: str) -> str:
        """The character that an escape stands for."""
        if sign in _ESCAPES:
            return _ESCAPES[sign]
        if sign == "0":
            return self.coded("[0-3]?[0-7]{1,2}", 8)
        if sign == "x" and self.accept("{"):
            return self.point(self.until("}"))
        if sign == "x":
            return self.coded("[0-9a-fA-F]{2}", 16)
        if sign == "u":
            return self.coded("[0-9a-fA-F]{4}", 16)
        if sign == "c":
            return chr(ord(self.take()) ^ 64)
        if sign.isascii() and sign.isalpha():
            raise JavaPatternError(f"\\{sign} is no escape")
        return sign

    def coded(self, digits: str, base: int) -> str:
        found = re.compile(digits).match(self.pattern, self.place)
        if found is None:
            raise JavaPatternError("the escape has no number")
        self.place = found.end()
        return chr(int(found[0], base))

    @staticmethod
    def point(digits: str) -> str:
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            raise JavaPatternError("the escape is no code point") from None

    # --- classes ---------------------------------------------------------------------------------

    def character_class(self) -> str:
        """A class up to its ], with classes inside, unions and intersections."""
        negated = self.accept("^")
        parts: list[list[str]] = [[]]
        first = True
        while first or self.peek() != "]":
            first = False
            if self.accept("&&"):
                parts.append([])
                continue
            parts[-1].append(self.class_item())
        self.take()
        sets = [self.united(part) for part in parts if part]
        if not sets:
            raise JavaPatternError("the class is empty")
        found = classes.both(sets)
        return classes.negated(found) if negated else found

    @staticmethod
    def united(items: list[str]) -> str:
        flat = "".join(item for item in items if not item.startswith(("[", "(")))
        nested = [item for item in items if item.startswith(("[", "("))]
        return classes.either(([f"[{flat}]"] if flat else []) + nested)

    def class_item(self) -> str:
        sign = self.take()
        if sign == "[":
            return self.character_class()
        if sign == "\\":
            escaped = self.take()
            if escaped == "Q":
                return "".join(classes.inside(each) for each in self.until("\\E"))
            found = self.class_escape(escaped)
            if found is not None:
                return found
            low = self.character(escaped)
        else:
            low = sign
        if self.peek() != "-" or self.pattern[self.place + 1 : self.place + 2] in ("]", "[", ""):
            return classes.inside(low)
        self.take()
        high = self.take()
        high = self.character(self.take()) if high == "\\" else high
        if high < low:
            raise JavaPatternError("the range is upside down")
        return f"{classes.inside(low)}-{classes.inside(high)}"


def java_split(text: str, pattern: str, limit: int = 0) -> list[str]:
    """The parts between matches, as Java's String.split: empty parts at the end are left out."""
    parts: list[str] = []
    start = 0
    for found in compile_java(pattern).finditer(text):
        if limit > 0 and len(parts) == limit - 1:
            break
        if found.end() == 0:
            continue  # Java has no empty part in front of an empty match at the beginning
        parts.append(text[start : found.start()])
        start = found.end()
    if start == 0 and not parts:
        return [text]
    parts.append(text[start:])
    while limit == 0 and parts and not parts[-1]:
        parts.pop()
    return parts
