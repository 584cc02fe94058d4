"""The command `headrace sql`: what it was asked to do, and how it ends.

In: words of the command line.  Out: an exit code.  Next: cli/sql/prompt.py for terminals,
cli/sql/client.py executes statements
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.output import (
    BAD_INPUT,
    DONE,
    FOUND_BEFORE_START,
    JOB_FAILED,
    error_parts,
    error_text,
    show_error,
)
from headrace.cli.settings import Definitions, Parallelism, read_settings
from headrace.cli.targets import Dispatcher, rest_client
from headrace.common.configuration import Configuration, effective_configuration
from headrace.errors import HeadraceError, InvalidArgumentError, SqlError
from headrace.io.importing import search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.cli.sql.client import SqlClient

_INTERRUPTED = 130
# not for SQL: they take whole programs
HELP_TEXT = """these are the commands of the client; all of Flink's SQL works beside them

  HELP;                   this text
  QUIT; or EXIT;          leave; Ctrl-D does, too
  CLEAR;                  empty the terminal
  SET 'key' = 'value';    set an option; SET; lists what is set
  RESET 'key';            take an option back; RESET; takes all back
  BEGIN STATEMENT SET;    the INSERTs that follow are one job, which END; starts
  SHOW JOBS;              the jobs that run
  STOP JOB 'id';          end a job; WITH SAVEPOINT keeps its state

  SET 'sql-client.execution.result-mode' = 'table' | 'changelog' | 'tableau';
  SET 'execution.runtime-mode' = 'streaming' | 'batch';

Statements end with a semicolon and may have several lines. Tab completes words, Ctrl-C ends the
running query or forgets what was typed."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sql")(sql)


def sql(
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="FILE", help="Execute a script; - is standard input."),
    ] = None,
    init: Annotated[
        str | None,
        typer.Option("--init", "-i", metavar="FILE", help="Execute a script first, in any case."),
    ] = None,
    statements: Annotated[
        list[str] | None,
        typer.Option("--execute", "-e", metavar="SQL", help="Execute statements; can be repeated."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="What runs queries: local or spark (headrace.execution.host)."),
    ] = None,
    dispatcher: Dispatcher = None,
    parallelism: Parallelism = None,
    definitions: Definitions = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not print the statements of -f.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line: rows, jobs, errors.")
    ] = False,
) -> None:
    """Execute SQL: from a prompt, a script (-f), or the command line (-e).

    A script stops at its first error, which is told with its file and line. INSERT starts a job
    and does not wait for it (table.dml-sync waits); the command ends when its jobs have. With -m
    a dispatcher runs INSERTs, as jobs that outlive the client; queries run here.

    Exit codes: 0 done, 1 a job failed, 2 a statement is wrong and no job was started.

    \b
    Examples:
      headrace sql
      headrace sql --host local -e "SELECT 1 + 1"
      headrace sql -i tables.sql -f report.sql -D execution.runtime-mode=batch
      headrace sql -m dispatcher:8081 -f pipeline.sql
      headrace sql --json -e "SELECT * FROM (VALUES (1), (2)) AS t (n)"
    """
    raise typer.Exit(
        _Invocation(
            file=file, init=init, statements=statements or [], quiet=quiet, as_json=as_json
        ).run(definitions, host, parallelism, dispatcher)
    )


class _Invocation:
    """One call of the command."""

    def __init__(
        self, *, file: str | None, init: str | None, statements: list[str], quiet: bool,
        as_json: bool,
    ) -> None:  # fmt: skip
        self._file, self._init, self._statements = file, init, statements
        self._quiet, self._as_json = quiet, as_json
        self._asks = file is None and not statements
        self._at_terminal = (
            self._asks and sys.stdin.isatty() and sys.stdout.isatty() and not as_json
        )

    def run(
        self,
        definitions: Sequence[str] | None,
        host: str | None,
        parallelism: int | None,
        dispatcher: str | None,
    ) -> int:
        """Do it; the exit code."""
        try:
            settings = read_settings(definitions, parallelism=parallelism)
            if host is not None:
                settings["headrace.execution.host"] = host
            client = self._client(settings, dispatcher)
        except HeadraceError as error:
            show_error(error, as_json=False) if not self._as_json else self._tell(error)
            return BAD_INPUT
        try:
            return self._work(client)
        except KeyboardInterrupt:
            client.cancel_jobs()
            return _INTERRUPTED
        except Exception as error:
            self._tell(error, client)
            client.cancel_jobs()
            return _code_of(error, client)

    def _client(self, settings: dict[str, str], dispatcher: str | None) -> SqlClient:
        from headrace.cli.sql.client import SqlClient
        from headrace.cli.sql.display import TextDisplay
        from headrace.cli.sql.json_lines import JsonDisplay
        from headrace.cli.sql.prompt import clear_terminal

        options = effective_configuration(Configuration.from_dict(dict(settings))).to_dict()
        display = (
            JsonDisplay()
            if self._as_json
            else TextDisplay(full_screen=self._at_terminal, redraws=sys.stdout.isatty())
        )
        return SqlClient(
            options,
            display,
            interactive=self._at_terminal,
            clear=clear_terminal,
            help_text=HELP_TEXT,
            dispatcher=None if dispatcher is None else rest_client(dispatcher),
        )

    def _work(self, client: SqlClient) -> int:
        from headrace.cli.sql.client import LeaveClientError

        self._search_functions()
        try:
            if self._init is not None:
                _run_text(client, _read(self._init), self._init, echo=False)
            for text in self._statements:
                _run_text(client, text, None, echo=False)
            if self._file is not None:
                name = "<stdin>" if self._file == "-" else self._file
                echo = not (self._quiet or self._as_json)
                _run_text(client, _read(self._file), name, echo=echo)
            if self._asks:
                return self._converse(client)
            client.check_ended()
        except LeaveClientError:
            pass
        errors = client.wait_for_jobs()
        for error in errors:
            self._tell(error, client)
        return JOB_FAILED if errors else DONE

    def _search_functions(self) -> None:
        """Functions are imported from the folder of a script, as its modules are by Python."""
        scripts = [file for file in (self._file, self._init) if file not in (None, "-")]
        for script in scripts:
            search(Path(str(script)).absolute().parent)
        if not scripts:
            search(Path.cwd())

    def _converse(self, client: SqlClient) -> int:
        from headrace.cli.sql import prompt

        if not self._at_terminal:
            _run_lines(client)
            client.check_ended()
            return DONE
        asking = prompt.StatementPrompt(client, prompt.history_file())
        client.display.note(prompt.WELCOME)
        return prompt.converse(client, asking.ask, lambda error: self._tell(error, client))

    def _tell(self, error: BaseException, client: SqlClient | None = None) -> None:
        """An error in three lines; its traceback only for those who ask for it."""
        if self._as_json:
            from headrace.cli.sql.json_lines import JsonDisplay

            JsonDisplay().error(error_parts(error))
            return
        text = error_text(error)
        if client is not None and client.is_verbose:
            text = "".join(traceback.format_exception(error)).rstrip()
        sys.stdout.flush()
        print(f"[ERROR] {text}", file=sys.stderr, flush=True)  # noqa: T201


def _run_text(client: SqlClient, text: str, source: str | None, *, echo: bool) -> None:
    """Execute the statements of a script up to its first error."""
    from headrace.cli.sql.display import put
    from headrace.cli.sql.prompt import MORE, PROMPT
    from headrace.cli.sql.script import statements_of

    for statement in statements_of(text):
        if echo:
            put(PROMPT + statement.text.replace("\n", f"\n{MORE}") + ";")
        client.run(statement, source)


def _run_lines(client: SqlClient) -> None:
    """Execute what another program writes, each statement as soon as it is there."""
    from headrace.cli.sql.prompt import plain_statements

    above = 0  # lines that were read before, so that errors tell the line of the whole input
    while True:
        try:
            text = plain_statements()
        except EOFError:
            return
        _run_text(client, "\n" * above + text, "<stdin>", echo=False)
        above += text.count("\n") + 1


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(
            f"the script {file} cannot be read: {error}", fix="check the path; scripts are UTF-8"
        ) from None


def _code_of(error: BaseException, client: SqlClient) -> int:
    early = isinstance(error, (*FOUND_BEFORE_START, SqlError))
    return BAD_INPUT if early and not client.has_started_jobs else JOB_FAILED
