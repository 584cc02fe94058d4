"""What installed packages provide: entry points are looked up and loaded here, and nowhere else.

In: the name of a group.  Out: its entry points, and what they stand for.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import ConnectorError, HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint

    from headrace.common.opaque import ForeignObject

__all__ = ["entries", "load_only", "loading", "package_of"]


def entries(group: str) -> dict[str, list[EntryPoint]]:
    """The entry points of a group by name; two packages may use the same one."""
    # Imported late: it takes some 20 ms, and workers never ask.
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, []).append(point)
    return found


def load_only(what: str, points: list[EntryPoint]) -> ForeignObject:
    """What the one entry point of a name stands for.

    Args:
        what: the word for it, for messages.
        points: all entry points of that name.

    Raises:
        ConnectorError: there are two, or it cannot be imported.
    """
    point = points[0]
    if len(points) > 1:
        packages = " and ".join(map(package_of, points))
        raise ConnectorError(
            f"two packages provide a {what} {point.name!r}: {packages}",
            where=f"entry points of the group {point.group}",
            fix="uninstall one of them, or import the class by its path",
        )
    with loading(what, point):
        return point.load()


@contextmanager
def loading(what: str, point: EntryPoint) -> Iterator[None]:
    """Tells whose package it was that failed while its code is imported and called."""
    try:
        yield
    except HeadraceError:
        raise
    except Exception as error:  # whatever the code of a foreign package raises
        raise ConnectorError(
            f"the {what} {point.name!r} cannot be imported: {type(error).__name__}: {error}",
            where=f"entry point {point.name!r} of {point.group}: {point.value}, "
            f"of {package_of(point)}",
            fix="install what it needs, or another version of the package",
        ) from error


def package_of(point: EntryPoint) -> str:
    """The package that provides it, with its version."""
    return "an unknown package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
