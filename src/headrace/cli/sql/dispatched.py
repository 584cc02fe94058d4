"""INSERTs of a client that works with a dispatcher (-m): each is a program of its own.

    CREATE TABLE a ...; CREATE TABLE b ...; INSERT INTO b SELECT ... FROM a;
    ─▶ one script: what the session has declared, then the INSERT ─▶ a job of the dispatcher

In: statements that were executed here, and an INSERT.  Out: the id of a job.  What the session
knows is sent as the statements that said it, so nothing of this process is pickled.
Next: client/rest_client.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.sql import statement_ast as s

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.client import RestClient
    from headrace.control.registry import JobRecord

# these change nothing that a later statement could see
_ONLY_LOOK = (
    s.QueryStatement,
    s.ExplainStatement,
    s.DescribeStatement,
    s.ShowStatement,
    s.CompilePlan,
)
_OF_THE_CLIENT = "sql-client."
_PROGRAM = '''"""An INSERT of `headrace sql -m`, with the session that it was typed in."""

from headrace.table import EnvironmentSettings, TableEnvironment

SESSION = {session!r}
INSERT = {insert!r}

env = TableEnvironment.create(EnvironmentSettings.{mode}())
for statement in SESSION:
    env.execute_sql(statement)
env.execute_sql(INSERT).wait()
'''


class DispatchedSession:
    """What a session has declared, for those of its statements that become jobs of a dispatcher.

    Args:
        client: of the dispatcher.
    """

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._declared: list[str] = []

    def executed(self, statement: s.SqlStatement, text: str) -> None:
        """Remember a statement that was executed here."""
        if not isinstance(statement, _ONLY_LOOK):
            self._declared.append(text)

    def start(self, insert: str, options: Mapping[str, str], *, streaming: bool) -> JobRecord:
        """Have an INSERT run as a job.

        Args:
            insert: the text of the INSERT, or of a statement set.
            options: of the session.
            streaming: whether it is in streaming mode.
        """
        mode = "in_streaming_mode" if streaming else "in_batch_mode"
        program = _PROGRAM.format(session=self._declared, insert=insert, mode=mode)
        told = {key: v for key, v in options.items() if not key.startswith(_OF_THE_CLIENT)}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "insert.py"
            file.write_text(program, encoding="utf-8")
            job_id = self._client.run(str(file), [], told)
        return self._client.find(job_id)
