"""Text in Flink's SQL dialect as a syntax tree: the way into this package.

    parse_statement("SELECT 1")   ──▶   QueryStatement(Select(..))

In: text.  Out: nodes of ast.py, query_ast.py, statement_ast.py and ddl_ast.py, or a
`SqlParseError` that shows the place.  The way back is render.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.errors import InternalError, SqlParseError
from headrace.sql.statements import StatementParser
from headrace.sql.stream import Recording, UnexpectedTokenError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.sql.ast import Identifier, SqlExpression, TypeName
    from headrace.sql.query_ast import SqlQuery
    from headrace.sql.statement_ast import SqlStatement

__all__ = [
    "parse_expression",
    "parse_identifier",
    "parse_query",
    "parse_script",
    "parse_statement",
    "parse_type",
]

T = TypeVar("T")


class _RecordingParser(Recording, StatementParser):
    """The grammar once more, remembering what it looked for: for errors only."""


def parse_statement(text: str) -> SqlStatement:
    """The one statement of a text, with or without a semicolon behind it."""
    return _parse(text, StatementParser.single)


def parse_script(text: str) -> list[SqlStatement]:
    """The statements of a text, with semicolons between them."""
    return _parse(text, StatementParser.script)


def parse_query(text: str) -> SqlQuery:
    """A query, as of a view."""
    return _parse(text, lambda parser: _whole(parser, parser.query))


def parse_expression(text: str) -> SqlExpression:
    """An expression, as of a computed column."""
    return _parse(text, lambda parser: _whole(parser, parser.expression))


def parse_type(text: str) -> TypeName:
    """The name of a type, such as ``ROW<a INT, b STRING NOT NULL>``."""
    return _parse(text, lambda parser: _whole(parser, parser.type_name))


def parse_identifier(text: str) -> Identifier:
    """A path, as the Table API takes it; any word may stand in it, reserved or not."""
    return _parse(text, lambda parser: _whole(parser, parser.path))


def _whole(parser: StatementParser, read: Callable[[], T]) -> T:
    found = read()
    parser.end()
    return found


def _parse(text: str, read: Callable[[StatementParser], T]) -> T:
    try:
        return read(StatementParser(text))
    except UnexpectedTokenError:
        pass
    except RecursionError:
        message = "the statement is nested too deeply"
        raise SqlParseError(message, fix="split it, with WITH or with views") from None
    recording = _RecordingParser(text)
    try:
        read(recording)
    except UnexpectedTokenError as error:
        raise recording.final_error(error) from None
    message = "the second reading of a statement did not fail as the first did"
    raise InternalError(message)
