"""The prompt: lines of a terminal, or of another program, as statements.

    headrace SQL> SELECT *
                > FROM orders;

In: what is typed.  Out: statements for cli/sql/client.py.  With a terminal prompt_toolkit edits
lines, completes words (cli/sql/completion.py) and keeps a history; without one there is input().
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from headrace.cli.output import DONE
from headrace.cli.sql.client import LeaveClientError, SqlClient
from headrace.cli.sql.script import is_complete, statements_of
from headrace.common.home import headrace_home
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output

PROMPT = "headrace SQL> "
MORE = "> ".rjust(len(PROMPT))
WELCOME = "headrace SQL: statements end with a semicolon; HELP; lists commands, QUIT; leaves."


class StatementPrompt:
    """A prompt on a terminal.

    Args:
        client: whose tables and options are completed.
        history: the file that keeps what was typed.
        keys: where keys come from; the terminal by default.
        output: where lines are shown; the terminal by default.
    """

    def __init__(
        self,
        client: SqlClient,
        history: Path,
        *,
        keys: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._session = _session(client, history, keys, output)

    def ask(self) -> str:
        """The next statements.

        Raises:
            KeyboardInterrupt: Ctrl-C: what was typed is thrown away.
            EOFError: Ctrl-D on an empty line.
        """
        from prompt_toolkit.patch_stdout import patch_stdout

        # what jobs print meanwhile stands above the prompt, and not in the line that is edited
        with patch_stdout(raw=True):
            return self._session.prompt()


def _session(
    client: SqlClient, history: Path, keys: Input | None, output: Output | None
) -> PromptSession[str]:
    # only here: scripts do without it
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings

    from headrace.cli.sql.completion import SqlCompleter

    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    history.parent.mkdir(parents=True, exist_ok=True)
    return PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=lambda width, number, is_soft_wrap: MORE,
        history=FileHistory(str(history)),
        completer=SqlCompleter(client.env),
        complete_while_typing=False,
        complete_in_thread=True,
        key_bindings=bindings,
        enable_history_search=False,
        input=keys,
        output=output,
    )


def history_file() -> Path:
    """Where the prompt keeps what was typed."""
    return headrace_home() / "sql-history"


def converse(
    client: SqlClient, ask: Callable[[], str], tell: Callable[[BaseException], None]
) -> int:
    """Execute what is typed until the user leaves; the exit code.

    Args:
        client: the session.
        ask: gives the next statements; KeyboardInterrupt and EOFError as `StatementPrompt.ask`.
        tell: shows an error.
    """
    warned = False
    while True:
        for error in client.tell_ended():
            tell(error)
        try:
            _run(client, ask(), tell)
            continue
        except KeyboardInterrupt:
            continue
        except (EOFError, LeaveClientError):
            running = client.running()
        if not running or warned:
            break
        warned = True
        client.display.note(
            f"{len(running)} of your jobs run in this process and end with it; once more to leave"
        )
    try:
        client.check_ended()
    except InvalidArgumentError as error:
        tell(error)
    client.cancel_jobs()
    return DONE


def _run(client: SqlClient, text: str, tell: Callable[[BaseException], None]) -> None:
    """Execute statements up to the first error."""
    for statement in statements_of(text):
        try:
            client.run(statement)
        except LeaveClientError:
            raise
        except KeyboardInterrupt:
            client.display.note("the statement was ended")
            return
        except Exception as error:
            tell(error)
            return


def plain_statements() -> str:
    """The next statements of standard input, which is no terminal.

    Raises:
        EOFError: there are no more.
    """
    lines: list[str] = []
    while True:
        try:
            # Python shows a prompt on a terminal only
            lines.append(input())
        except EOFError:
            if not any(line.strip() for line in lines):
                raise
            break
        if is_complete("\n".join(lines)):
            break
    return "\n".join(lines)


def clear_terminal() -> None:
    """Empty the terminal, if there is one."""
    if sys.stdout.isatty():
        with contextlib.suppress(OSError):
            sys.stdout.write("\x1b[2J\x1b[H")
            sys.stdout.flush()
