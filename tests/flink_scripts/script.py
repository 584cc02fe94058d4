"""One script of Flink's: statements, each followed by what is expected and by its tag.

    SHOW MODULES;
    Empty set            ──▶   Step(line 1, "SHOW MODULES;", "Empty set", "ok")
    !ok

In: the text of a ``.q`` file.  Out: `Step`s.  A statement ends where headrace's own client says
that it does.  Next: session.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.cli.sql.script import is_complete, statements_of

if TYPE_CHECKING:
    from collections.abc import Iterator

TAGS = ("!ok", "!info", "!warning", "!error")


@dataclass(frozen=True)
class Step:
    """A statement and what Flink's client prints.

    Attributes:
        line: where it begins in the script, counted from 1.
        statement: its text with the semicolon.
        expected: the lines that are printed, without spaces at their ends.
        tag: ok, info, warning or error.
    """

    line: int
    statement: str
    expected: str
    tag: str


def steps_of(text: str) -> Iterator[Step]:
    """The statements of a script, in order."""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        statement = line
        while not statements_of(statement) or not is_complete(statement):
            statement += f"\n{next(lines)[1]}"
        printed: list[str] = []
        while (found := next(lines)[1]) not in TAGS:
            printed.append(found.rstrip())
        yield Step(number, statement, "\n".join(printed).strip("\n"), found.removeprefix("!"))
