"""`headrace state list` and `read`: the states of a checkpoint or a savepoint, and their entries.

In: a location, the uid of an operator, the name of a state.  Out: a table or JSON.  A savepoint is
read as it is; for the entries of a checkpoint Spark is started in this process, after the names
were checked.  Next: state.py
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headrace.cli.output import AsJson, absolute_place, people, show_json, tables, told_errors

if TYPE_CHECKING:
    from headrace.state import FirstRows


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Read the state of jobs.", no_args_is_help=True)
    group.command("list")(list_states)
    group.command("read")(read)
    app.add_typer(group, name="state")


def list_states(
    location: Annotated[
        str,
        typer.Argument(
            metavar="CHECKPOINT_OR_SAVEPOINT",
            help="A job's execution.checkpointing.dir, or the directory of a savepoint.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show which states the operators of a checkpoint or a savepoint have.

    \b
    Examples:
      headrace state list /data/orders
      headrace state list /data/savepoints/savepoint-3f2a-0c1d --json
    """
    with told_errors(as_json=as_json):
        from headrace.state import states_in

        found = states_in(absolute_place(location))
    if as_json:
        show_json([asdict(state) for state in found])
        return
    table = Table(box=None, pad_edge=False)
    for column in ("operator", "state", "type", "entries"):
        table.add_column(column, overflow="fold")
    for state in found:
        count = "" if state.entries is None else f"{state.entries:,}"
        table.add_row(escape(state.operator), escape(state.state), escape(state.type), count)
    tables().print(table)


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
        from headrace.state import first_rows

        place = absolute_place(location)
        found = first_rows(place, uid, name, limit)
        if found is None:
            with people().status("starting Spark, which is needed to read a checkpoint"):
                found = _read_with_spark(place, uid, name, limit)
    if as_json:
        show_json({"columns": found.columns, "entries": found.rows, "more": found.more})
        return
    table = Table(box=None, pad_edge=False)
    for column in found.columns:
        table.add_column(column, overflow="fold")
    for row in found.rows:
        table.add_row(*(escape(_text(row[column])) for column in found.columns))
    tables().print(table)
    if found.more:
        people().print(f"the first {limit}; --limit shows more", style="yellow")


def _read_with_spark(place: str, uid: str, name: str, limit: int) -> FirstRows:
    from headrace.state import FirstRows
    from headrace.state import read as read_state

    frame = read_state(place, uid, name)
    rows = [row.asDict(recursive=True) for row in frame.limit(limit + 1).collect()]
    return FirstRows(tuple(frame.columns), rows[:limit], len(rows) > limit)


def _text(cell: object) -> str:
    if isinstance(cell, bytes | bytearray):
        return f"{len(cell)} bytes"
    if isinstance(cell, dict):
        return ", ".join(f"{name}={_text(part)}" for name, part in cell.items())
    return "" if cell is None else str(cell)
