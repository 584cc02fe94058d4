"""Which connectors are installed, ours and those of other packages, and each by its name.

In: entry points of the group ``headrace.connectors``.  Out: `Connector`s (spi/connector.py).
Ours are registered in the same way, in pyproject.toml.
"""

from __future__ import annotations

import difflib

from headrace.errors import ConnectorError, InvalidArgumentError
from headrace.spi.connector import Connector
from headrace.spi.packages import entries, load_only, package_of

__all__ = ["Connector", "available", "find"]

GROUP = "headrace.connectors"


def available() -> dict[str, str]:
    """The installed connectors: from name to the package that provides it; nothing is imported.

    Example:
        >>> "postgres" in available()
        True
    """
    return {name: package_of(points[0]) for name, points in sorted(entries(GROUP).items())}


def find(name: str) -> Connector:
    """The connector of that name.

    Example:
        >>> find("redis").sinks
        (<class 'headrace.connectors.redis.sink.RedisSink'>,)

    Raises:
        InvalidArgumentError: no installed package has one.
        ConnectorError: two packages have one, or it cannot be imported.
    """
    registered = entries(GROUP)
    if name not in registered:
        raise _unknown(name, sorted(registered))
    connector = load_only("connector", registered[name])
    if not isinstance(connector, Connector):
        point = registered[name][0]
        raise ConnectorError(
            f"the connector {name!r} is a {type(connector).__name__}, not a Connector",
            where=f"{point.value}, of {package_of(point)}",
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
