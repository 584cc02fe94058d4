"""`headrace explain`: the plan of a program that is not run.

In: a program (cli/program.py).  Out: levels, chains and exchanges as text, or Flink's plan JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.output import AsJson, error_text, people, show_json, told_errors
from headrace.cli.settings import (
    Definitions,
    Parallelism,
    Program,
    ProgramArguments,
    put_settings,
    read_settings,
)
from headrace.errors import EmptyProgramError
from headrace.spi.host import carriage_of

if TYPE_CHECKING:
    from headrace.cli.program import CapturedProgram
    from headrace.common.opaque import JsonObject


def register(app: typer.Typer) -> None:
    """Add the command."""
    # what follows the program belongs to the program
    app.command("explain", context_settings={"allow_interspersed_args": False})(explain)


def explain(
    program: Program,
    arguments: ProgramArguments = None,
    parallelism: Parallelism = None,
    definitions: Definitions = None,
    as_json: AsJson = False,
    name: Annotated[str | None, typer.Option("--job", help="Only the job of this name.")] = None,
) -> None:
    """Show how a program would run, without running it.

    The script is executed up to its end, but execute() does nothing: no Spark is started and no
    sink is touched.

    \b
    Examples:
      headrace explain pipeline.py
      headrace explain --parallelism 8 my_package.jobs:main --json
    """
    from headrace.cli.program import capture_program

    with told_errors(as_json=as_json):
        put_settings(read_settings(definitions, parallelism=parallelism))
        captured, error = capture_program(program, arguments or [])
        found = [one for one in captured if name in (None, one.name)]
        if not found:
            raise EmptyProgramError(
                f"{program} executes nothing" + (f" named {name!r}" if name else ""),
                fix="call env.execute(), or name a function that does as module:function",
            )
        if as_json:
            show_json({"jobs": [_document(one) for one in found]})
        else:
            typer.echo("\n\n".join(_text(one) for one in found))
    if error is not None:
        people().print(
            f"after that the program ended with {error_text(error)}\n(a program that waits "
            "for results gets none while it is only explained)",
            style="yellow",
            markup=False,
        )


def _text(captured: CapturedProgram) -> str:
    from headrace.plan.explain import plan_as_text

    plan = plan_as_text(captured.graph, captured.options, carriage_of(captured.spec))
    return f"job {captured.name!r}\n{plan}"


def _document(captured: CapturedProgram) -> JsonObject:
    from headrace.plan.explain import plan_as_json

    return {
        "name": captured.name,
        "plan": json.loads(
            plan_as_json(captured.graph, captured.options, carriage_of(captured.spec))
        ),
    }
