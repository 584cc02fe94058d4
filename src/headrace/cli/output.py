"""What all commands share: tables or JSON on standard output, errors and exit codes.

In: results and errors.  Out: text for people, or one JSON document with --json.  People's progress
displays go to standard error, so that standard output can be piped.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from headrace.common.configuration import effective_configuration
from headrace.control.registry import JobRegistry
from headrace.errors import (
    CheckpointLockedError,
    CheckpointMismatchError,
    EnvironmentSetupError,
    HeadraceError,
    JobNameInUseError,
    JobNotFoundError,
    NotDoneYetError,
    PlanError,
    ProgramError,
    SavepointError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.opaque import JsonObject

DONE, JOB_FAILED, BAD_INPUT, NOT_DONE_YET = 0, 1, 2, 3

# Found before anything runs.
FOUND_BEFORE_START = (
    ProgramError,
    PlanError,
    EnvironmentSetupError,
    CheckpointMismatchError,
    CheckpointLockedError,
    JobNameInUseError,
    JobNotFoundError,
    SavepointError,
)

_WITHOUT_END = 1_000_000

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
JobText = Annotated[
    str,
    typer.Argument(metavar="ID", help="Id of the job, the beginning of its id, or its name."),
]


def registry() -> JobRegistry:
    """Where the jobs of this user register."""
    return JobRegistry.of(effective_configuration())


def people() -> Console:
    """The console for progress displays: standard error, silent where there is no terminal."""
    return Console(stderr=True)


def tables() -> Console:
    """The console for tables: nothing is cut or broken where there is no terminal to fill."""
    console = Console(highlight=False)
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(highlight=False, width=_WITHOUT_END)


def absolute_place(path: str) -> str:
    """A path or URI as every process understands it: drivers have another working directory."""
    # only here: it loads pyarrow, which most commands do not need
    from headrace.io.storage import absolute_target

    return absolute_target(path)


def when(epoch_ms: int) -> str:
    """A moment as people read it, in the zone of this machine."""
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC).astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def show_json(content: object) -> None:
    """The one document that --json prints."""
    typer.echo(json.dumps(content, indent=2, default=str))


def error_text(error: BaseException) -> str:
    """An error as the terminal shows it: what, where, fix, and what was noted on the way."""
    notes: list[str] = getattr(error, "__notes__", [])
    own = isinstance(error, HeadraceError)
    text = str(error) if own else f"{type(error).__name__}: {error}"
    return "\n".join([text, *(f"  note:  {note}" for note in notes)])


def error_parts(error: BaseException) -> JsonObject:
    """An error as --json shows it."""
    if isinstance(error, HeadraceError):
        return {
            "condition": error.condition,
            "message": error.message,
            "where": error.where,
            "fix": error.fix,
            "notes": getattr(error, "__notes__", []),
        }
    return {"condition": type(error).__name__, "message": str(error)}


def show_error(error: BaseException, *, as_json: bool) -> None:
    """Tell an error: on standard error, or as the document."""
    if as_json:
        show_json({"error": error_parts(error)})
    else:
        print(error_text(error), file=sys.stderr)  # noqa: T201


@contextlib.contextmanager
def told_errors(*, as_json: bool) -> Iterator[None]:
    """Errors of a command, told: with exit code 2 nothing was changed, with 3 it goes on."""
    try:
        yield
    except HeadraceError as error:
        show_error(error, as_json=as_json)
        code = NOT_DONE_YET if isinstance(error, NotDoneYetError) else BAD_INPUT
        raise typer.Exit(code) from None
