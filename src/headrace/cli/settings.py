"""Settings of a program that is started by a command: switches and ``-D key=value``.

In: words of the command line.  Out: HEADRACE_* variables, which the program's code may overrule.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.output import absolute_place
from headrace.common.configuration import PREFIX, Configuration, effective_configuration
from headrace.errors import ConfigurationError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

Program = Annotated[str, typer.Argument(metavar="PROGRAM", help="A script, or module:function.")]
ProgramArguments = Annotated[
    list[str] | None, typer.Argument(metavar="ARGS", help="Arguments for the program.")
]
Parallelism = Annotated[
    int | None, typer.Option("--parallelism", "-p", min=1, help="Subtasks of every step.")
]
Definitions = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="KEY=VALUE", help="An option; can be repeated."),
]

MapUid = Annotated[
    list[str] | None,
    typer.Option(
        "--map-uid",
        metavar="OLD:NEW",
        help="A step whose uid has changed since the savepoint; can be repeated.",
    ),
]


def uid_mapping(pairs: Sequence[str] | None) -> dict[str, str]:
    """What --map-uid says.

    Raises:
        InvalidArgumentError: a pair has no colon, or a name on only one side of it.
    """
    mapping = {}
    for pair in pairs or ():
        old, _, new = (part.strip() for part in pair.partition(":"))
        if not old or not new:
            raise InvalidArgumentError(
                f"--map-uid {pair!r} is not old:new", fix="for instance --map-uid count:totals"
            )
        mapping[old] = new
    return mapping


def savepoint_settings(
    location: str | None,
    *,
    allow_dropped: bool,
    map_uid: Sequence[str] | None,
    elsewhere: bool = False,
) -> dict[str, str]:
    """What --from-savepoint and the switches around it set; a place elsewhere stays as it is."""
    mapping = uid_mapping(map_uid)
    settings = {}
    if location is not None:
        settings["execution.state-recovery.path"] = (
            location if elsewhere else absolute_place(location)
        )
    if allow_dropped:
        settings["execution.state-recovery.ignore-unclaimed-state"] = "true"
    if mapping:
        text = ",".join(f"{old}:{new}" for old, new in mapping.items())
        settings["execution.state-recovery.uid-mapping"] = text
    return settings


def read_settings(
    definitions: Sequence[str] | None,
    *,
    parallelism: int | None = None,
    master: str | None = None,
    name: str | None = None,
    mode: str | None = None,
) -> dict[str, str]:
    """Settings by -D, and those that have a switch of their own.

    Raises:
        ConfigurationError: a definition has no ``=``, names no option, or its value is not allowed.
    """
    settings = {}
    for definition in definitions or ():
        key, equals, value = definition.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(
                f"-D {definition!r} is not key=value",
                fix="for instance -D pipeline.name=orders",
            )
        settings[key.strip()] = value.strip()
    if parallelism is not None:
        settings["parallelism.default"] = str(parallelism)
    if master is not None:
        settings["spark.master"] = master
    if mode is not None:
        settings["headrace.execution.mode"] = mode
    if name is not None:
        settings["pipeline.name"] = name
        settings["headrace.jobs.unique-names"] = "true"
    try:
        effective_configuration(Configuration.from_dict(dict(settings)), environment={})
    except ConfigurationError as error:
        error.where = "the command line"
        raise
    return settings


def put_settings(settings: dict[str, str]) -> None:
    """Set options for the program: below its own code, above variables and files."""
    for key, value in settings.items():
        os.environ[f"{PREFIX}{key}"] = value
