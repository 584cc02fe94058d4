"""The command line as a whole: every group registers its commands here.

Out: `app`.  A new group is a module with ``register(app)`` and a line in GROUPS.
Next: the modules of GROUPS; cli/output.py for what all of them share
"""

from __future__ import annotations

from typing import Annotated

import typer

from headrace import __version__
from headrace.cli import (
    cluster,
    dev,
    driver,
    explain,
    jobs,
    rescale,
    run,
    savepoints,
    sql,
    state,
    warm_up,
)

GROUPS = (run, cluster, driver, sql, jobs, savepoints, rescale, state, explain, warm_up, dev)

app = typer.Typer(
    name="headrace",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headrace {__version__}")
        raise typer.Exit


@app.callback()
def headrace(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Run programs and SQL on Spark, and look after their jobs.

    Every command has --json. Exit codes: 0 done, 1 the job failed, 2 bad input and nothing was
    changed, 3 asked for, but not done within --timeout. Jobs register in $HEADRACE_HOME/jobs
    (~/.headrace/jobs).
    """


for _group in GROUPS:
    _group.register(app)
