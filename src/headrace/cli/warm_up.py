"""`headrace warm-up`: makes Spark start faster on this machine.

Out: an archive of Java classes (hosts/spark/fast_start.py), or its removal.
"""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.output import AsJson, people, show_json, told_errors


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("warm-up")(warm_up)


def warm_up(
    remove: Annotated[bool, typer.Option("--remove", help="Remove the archive.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make later starts of a local Spark on this machine faster.

    Runs a small job and keeps what its Java has loaded, about 190 MB in $HEADRACE_HOME/cache
    (~/.headrace/cache). Run it once for every version of Java and Spark. Jobs on clusters do not
    use it.

    \b
    Examples:
      headrace warm-up
      headrace warm-up --remove
    """
    from headrace.hosts.spark.fast_start import archive_file, make_archive

    with told_errors(as_json=as_json):
        if remove:
            archive = archive_file()
            there = archive.exists()
            archive.unlink(missing_ok=True)
            told = f"removed {archive}" if there else f"there is no archive at {archive}"
        else:
            people().print(
                "running a small job and writing an archive; this takes about half a minute"
            )
            archive = make_archive()
            told = f"from now on a local Spark starts with {archive}"
        if as_json:
            show_json({"archive": str(archive), "there": archive.exists()})
        else:
            people().print(told, soft_wrap=True)
