"""Which connectors are installed, ours and those of other packages, and each by its name.

In: entry points of the group ``headrace.connectors``.  Out: `Connector`s (spi/connector.py).
Ours are registered in the same way, in pyproject.toml.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from headrace.errors import ConnectorError, InvalidArgumentError
from headrace.spi.connector import Connector

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Connector", "available", "find"]

GROUP = "headrace.connectors"


def available() -> dict[str, str]:
    """The installed connectors: from name to the package that provides it; nothing is imported.

    Example:
        >>> "postgres" in available()
        True
    """
    return {name: _package(points[0]) for name, points in sorted(_registered().items())}


def find(name: str) -> Connector:
    """The connector of that name.

    Example:
        >>> find("redis").sinks
        (<class 'headrace.connectors.redis.sink.RedisSink'>,)

    Raises:
        InvalidArgumentError: no installed package has one.
        ConnectorError: two packages have one, or it cannot be imported.
    """
    registered = _registered()
    points = registered.get(name, [])
    if not points:
        raise _unknown(name, sorted(registered))
    if len(points) > 1:
        raise ConnectorError(
            f"two packages provide a connector {name!r}: {' and '.join(map(_package, points))}",
            where=f"entry points of the group {GROUP}",
            fix="uninstall one of them, or import the class by its path",
        )
    return _loaded(points[0])


def _registered() -> dict[str, list[EntryPoint]]:
    # Imported late: it takes some 20 ms, and workers never ask.
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    return found


def _loaded(point: EntryPoint) -> Connector:
    where = f"{point.value}, of {_package(point)}"
    try:
        connector = point.load()
    except Exception as error:  # whatever the import of a foreign package raises
        raise ConnectorError(
            f"the connector {point.name!r} cannot be imported: {type(error).__name__}: {error}",
            where=where,
            fix="install what it needs, or another version of the package",
        ) from error
    if not isinstance(connector, Connector):
        raise ConnectorError(
            f"the connector {point.name!r} is a {type(connector).__name__}, not a Connector",
            where=where,
            fix="make the entry point name a headrace.spi.connector.Connector",
        )
    return connector


def _unknown(name: str, known: list[str]) -> InvalidArgumentError:
    close = difflib.get_close_matches(str(name).lower(), known, n=2)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    return InvalidArgumentError(
        f"no installed package provides a connector {name!r}{hint}",
        where="headrace.connectors.find",
        fix=f"install the package that provides it, or choose among {', '.join(known) or 'none'}",
    )


def _package(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
