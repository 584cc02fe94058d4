"""Which function writes which node, and the small pieces that all of them need.

In: nodes.  Out: text, by the functions of render_expressions.py, render_queries.py and
render_statements.py, which register themselves here.  The way in is render.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.sql.ast import Identifier, SqlNode
    from headrace.sql.statement_ast import Options

N = TypeVar("N", bound="SqlNode")

_WRITERS: dict[type[SqlNode], Callable[..., str]] = {}


def writes(kind: type[N]) -> Callable[[Callable[[N], str]], Callable[[N], str]]:
    """Registers a function as the one that writes nodes of a class."""

    def register(function: Callable[[N], str]) -> Callable[[N], str]:
        _WRITERS[kind] = function
        return function

    return register


def text_of(node: SqlNode) -> str:
    """The text of a node."""
    writer = _WRITERS.get(type(node))
    if writer is None:
        message = f"nobody writes {type(node).__name__}"
        raise InternalError(message)
    return writer(node)


def quoted(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def name_of(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def path_of(name: Identifier) -> str:
    """A name with its qualifiers."""
    return ".".join(map(name_of, name.parts))


def listed(nodes: Iterable[SqlNode]) -> str:
    """Nodes with commas between them."""
    return ", ".join(map(text_of, nodes))


def names_of(names: Iterable[str]) -> str:
    """Names in parentheses."""
    return "(" + ", ".join(map(name_of, names)) + ")"


def options_of(options: Options) -> str:
    """``('k' = 'v')``, a line each."""
    if not options:
        return "()"
    return "(\n" + ",\n".join(f"  {quoted(k)} = {quoted(v)}" for k, v in options) + "\n)"


def words(*parts: str | None) -> str:
    """Parts with spaces between them; what is empty is left out."""
    return " ".join(part for part in parts if part)
