"""Settings of a program that is started by a command: switches and ``-D key=value``.

In: words of the command line.  Out: HEADRACE_* variables, which the program's code may overrule.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.common.configuration import PREFIX, Configuration, effective_configuration
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

Program = Annotated[str, typer.Argument(metavar="PROGRAM", help="A script, or module:function.")]
ProgramArguments = Annotated[
    list[str] | None, typer.Argument(metavar="ARGS", help="Arguments of the program.")
]
Parallelism = Annotated[
    int | None, typer.Option("--parallelism", "-p", min=1, help="Subtasks of every step.")
]
Definitions = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="KEY=VALUE", help="An option; may be given several times."),
]


def read_settings(
    definitions: Sequence[str] | None,
    *,
    parallelism: int | None = None,
    master: str | None = None,
    name: str | None = None,
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
                f"-D {definition!r} has no key=value",
                fix="write for example -D pipeline.name=orders",
            )
        settings[key.strip()] = value.strip()
    if parallelism is not None:
        settings["parallelism.default"] = str(parallelism)
    if master is not None:
        settings["spark.master"] = master
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
