"""`headrace driver FOLDER`: what a dispatcher starts for each job; not for people.

In: driver.json of a job's folder.  Out: the job, in this process, and its exit code in a file, so
that any dispatcher knows whether the driver has ended or was killed.  Next: cli/run.py (run_here)
"""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.output import error_parts
from headrace.cli.run import run_here
from headrace.control.registry import write_json
from headrace.dispatcher.drivers import DRIVER_FILE, exit_file

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject


def register(app: typer.Typer) -> None:
    """Add the command; help does not show it."""
    app.command("driver", hidden=True)(driver)


def driver(folder: Annotated[Path, typer.Argument(help="A job's folder.")]) -> None:
    """Run the program of a job that a dispatcher has put into a folder."""
    content = json.loads((folder / DRIVER_FILE).read_text())
    last_words: JsonObject = {"code": 1}

    def note(error: BaseException) -> None:
        last_words["condition"] = error_parts(error)["condition"]

    try:
        last_words["code"] = run_here(
            content["program"],
            content["arguments"],
            content["settings"],
            as_json=False,
            on_error=note,
        )
    finally:
        write_json(folder / exit_file(content["token"]), last_words)
    raise typer.Exit(last_words["code"])
