"""`headrace state read`: the entries of a state, out of a checkpoint or a savepoint.

In: a location, the uid of an operator, the name of a state.  Out: a table or JSON.  Starts Spark in
this process.  Next: headrace/state.py
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from headrace.cli.output import AsJson, absolute_place, people, show_json, told_errors


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Read the state of jobs.", no_args_is_help=True)
    # a group of one command would otherwise become that command
    group.callback()(lambda: None)
    group.command("read")(read)
    app.add_typer(group, name="state")


def read(
    location: Annotated[
        str,
        typer.Argument(
            metavar="CHECKPOINT_OR_SAVEPOINT",
            help="A job's execution.checkpointing.dir, or the directory of a savepoint.",
        ),
    ],
    uid: Annotated[str, typer.Argument(metavar="UID", help="The uid() of the operator.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the state.")],
    limit: Annotated[int, typer.Option(min=1, help="How many entries to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the entries of a state. A running job is read at its newest committed batch.

    \b
    Examples:
      headrace state read /data/orders count total
      headrace state read /data/savepoints/savepoint-3f2a-0c1d count total --limit 100 --json
    """
    with told_errors(as_json=as_json):
        from headrace.state import check_readable
        from headrace.state import read as read_state

        place = absolute_place(location)
        check_readable(place, uid, name)  # before Spark is started
        with people().status("reading state"):
            frame = read_state(place, uid, name)
            rows = frame.limit(limit + 1).collect()
    more, rows = len(rows) > limit, rows[:limit]
    if as_json:
        entries = [row.asDict(recursive=True) for row in rows]
        show_json({"columns": frame.columns, "entries": entries, "more": more})
        return
    Console(highlight=False).print(_table(frame.columns, rows))
    if more:
        people().print(f"the first {limit}; --limit shows more", style="yellow")


def _table(columns: list[str], rows: list[Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_text(cell) for cell in row))
    return table


def _text(cell: Any) -> str:
    if isinstance(cell, bytearray):
        return f"{len(cell)} bytes"
    return "" if cell is None else str(cell)
