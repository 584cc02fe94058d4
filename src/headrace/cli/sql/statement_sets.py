"""BEGIN STATEMENT SET: INSERTs that are kept until END, and are one job then.

In: INSERTs, one by one.  Out: what they write, or one statement for a dispatcher.  It takes nothing
else, as in Flink, so nothing that a later INSERT means can change meanwhile.
Next: cli/sql/client.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError
from headrace.sql import ddl_ast as d
from headrace.sql import statement_ast as s
from headrace.table.statements.dml import insert_of_statement

if TYPE_CHECKING:
    from headrace.table.inserts import Insert
    from headrace.table.table_environment import TableEnvironment

_ALLOWED = (s.InsertStatement, s.EndStatementSet, s.ClientCommand)


class OpenStatementSet:
    """A set that has begun and not ended."""

    def __init__(self) -> None:
        self.inserts: list[Insert] = []
        self._texts: list[str] = []

    def add(self, env: TableEnvironment, statement: s.InsertStatement, text: str) -> None:
        """Keep an INSERT; what is wrong with it is told at once."""
        self.inserts.append(insert_of_statement(env, statement))
        self._texts.append(text)

    @property
    def text(self) -> str:
        """The whole set as one statement."""
        inserts = "".join(f"{text};\n" for text in self._texts)
        return f"EXECUTE STATEMENT SET BEGIN\n{inserts}END"

    @staticmethod
    def check(statement: s.SqlStatement) -> None:
        """Refuse what has no place in a set."""
        if isinstance(statement, _ALLOWED):
            return
        fix = "END; runs the set"
        if isinstance(statement, d.CreateTable):
            fix = "create tables before BEGIN STATEMENT SET, and INSERT INTO them"
        raise InvalidArgumentError("a statement set takes INSERTs only, up to END", fix=fix)


def not_open() -> InvalidArgumentError:
    """END without a set."""
    return InvalidArgumentError(
        "there is no statement set to end", fix="BEGIN STATEMENT SET; comes before END;"
    )


def not_ended() -> InvalidArgumentError:
    """A script that leaves a set open: its INSERTs have not run."""
    return InvalidArgumentError(
        "the statement set has no END, so its INSERTs have not run", fix="write END; behind them"
    )
