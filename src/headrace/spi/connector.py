"""What a package tells about a connector that it provides: one line, its sources, its sinks.

In: an entry point of the group ``headrace.connectors`` in the package's pyproject.toml.
Out: a `Connector`.  Next: connectors/registry.py (finds it by name)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.spi.sink import Sink
    from headrace.spi.source import Source

__all__ = ["Connector"]


@dataclass(frozen=True, slots=True)
class Connector:
    """A system that headrace can read from or write to.

    Attributes:
        summary: one line for lists.
        sources: classes that read from it.
        sinks: classes that write to it.

    Example:
        In ``acme/headrace.py`` ``CONNECTOR = Connector("Acme's queue", sinks=(AcmeSink,))``, and
        in the package's pyproject.toml::

            [project.entry-points."headrace.connectors"]
            acme = "acme.headrace:CONNECTOR"
    """

    summary: str
    sources: tuple[type[Source], ...] = ()
    sinks: tuple[type[Sink], ...] = ()
