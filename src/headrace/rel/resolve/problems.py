"""Errors of statements that parse, but do not mean anything: with their place in the text.

In: a node of the syntax tree, and what is wrong with it.  Out: a SqlError.  Next: ../../errors.py
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from headrace.errors import SqlError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.sql.ast import SqlNode


def problem(message: str, node: SqlNode | None, fix: str | None = None) -> SqlError:
    """The error to raise."""
    return SqlError(message, position=None if node is None else node.position, fix=fix)


def not_there(message: str, node: SqlNode | None, instead: str) -> SqlError:
    """The error of something that Flink has, and headrace does not."""
    return problem(f"{message} is not supported", node, instead)


def near(name: str, known: Iterable[str]) -> str | None:
    """A sentence with names that are close to one that is not there."""
    options = sorted(set(known))
    by_case = [option for option in options if option.lower() == name.lower()]
    close = by_case or difflib.get_close_matches(name, options, n=3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"there are: {', '.join(options[:20])}" if options else None
