"""Text of SQL as nodes and types, for the modules of table/.

In: text.  Out: statements, expressions, types.  Next: sql/parser.py reads it
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.rel.resolve.type_names import data_type

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.sql.ast import SqlExpression
    from headrace.sql.statement_ast import SqlStatement


def parsed_statement(text: str) -> SqlStatement:
    """The one statement of a text; a semicolon at its end may be there."""
    from headrace.sql.parser import parse_statement

    return parse_statement(text)


def parsed_expression(text: str) -> SqlExpression:
    """An expression."""
    from headrace.sql.parser import parse_expression

    return parse_expression(text)


@lru_cache(maxsize=256)
def parsed_type(text: str) -> DataType:
    """A type by its name in SQL, such as ``ARRAY<INT>``."""
    from headrace.sql.parser import parse_type

    return data_type(parse_type(text))


@lru_cache(maxsize=1024)
def parsed_path(text: str) -> tuple[str, ...]:
    """The parts of a name such as ``catalog.`my db`.table``."""
    parts: list[str] = []
    current, quoted = "", False
    for sign in text.strip():
        if sign == "`":
            quoted = not quoted
        elif sign == "." and not quoted:
            parts.append(current)
            current = ""
        else:
            current += sign
    parts.append(current)
    return tuple(part if "`" in text else part.strip() for part in parts)
