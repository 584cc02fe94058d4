"""Where in a statement's text something stands, and how that place is shown to its author.

In: offsets (tokens.py).  Out: the `position` of every node (ast.py) and of errors (errors.py).
"""

from __future__ import annotations

from typing import NamedTuple

_WIDEST_LINE = 100  # a line of text is cut to this around the place


class TextPosition(NamedTuple):
    """A span of a text: from `start` up to and without `end`, counted in characters from 0."""

    start: int
    end: int
    text: str

    @property
    def line(self) -> int:
        """The line on which it begins, counted from 1."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column at which it begins, counted from 1."""
        return self.start - self.text.rfind("\n", 0, self.start)

    @property
    def source(self) -> str:
        """The part of the text that it spans."""
        return self.text[self.start : self.end]

    def to(self, last: TextPosition) -> TextPosition:
        """The span from here to the end of another."""
        return TextPosition(self.start, last.end, self.text)

    def underlined(self) -> str:
        """The line of the text with the place underlined: two lines, the first with its number."""
        begin = self.text.rfind("\n", 0, self.start) + 1
        stop = self.text.find("\n", self.start)
        line = self.text[begin : len(self.text) if stop < 0 else stop].rstrip("\r")
        at = self.start - begin
        cut = max(0, at - _WIDEST_LINE // 2) if len(line) > _WIDEST_LINE else 0
        shown = line[cut : cut + _WIDEST_LINE]
        width = max(1, min(self.end - self.start, len(shown) - (at - cut)))
        number = str(self.line)
        # Tabs stay tabs in front of the mark, so that it stands where the text does.
        indent = "".join("\t" if sign == "\t" else " " for sign in shown[: at - cut])
        return f"{number} | {shown}\n{' ' * len(number)} | {indent}{'^' * width}"
