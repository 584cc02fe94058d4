"""Which object of a host reads which class of source: found by the class, the nearest base first.

    source class ──▶ its own adapter ──▶ adapters of installed packages ──▶ those of its bases

In: the adapters that come with a host, and those that packages provide (entry points).
Out: the adapter of a source, or an error that says what to do.  A host has one such table:
hosts/spark/sources/opening.py, hosts/local/sources.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.errors import UnsupportedStepError
from headrace.spi.packages import entries, loading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.spi.source import Source

__all__ = ["SourceAdapters"]

AdapterT = TypeVar("AdapterT")


class SourceAdapters(Generic[AdapterT]):
    """The adapters of one host.

    A package adds its own through an entry point, a function that is called with this table::

        [project.entry-points."headrace.spark_sources"]
        acme = "acme.headrace_adapters:register"

        def register(adapters):
            adapters.register(AcmeSource, AcmeAdapter())

    Args:
        host: how errors name the host, such as ``Spark``.
        group: the group of entry points to look in.
        shipped: what comes with headrace, by class of source.
        fix: what a user can do whose source has no adapter here.
    """

    def __init__(
        self, host: str, *, group: str, shipped: Mapping[type, AdapterT], fix: str
    ) -> None:
        self._host = host
        self._group = group
        self._fix = fix
        self._adapters: dict[type, AdapterT] = dict(shipped)
        self._looked_around = False

    def register(self, source_class: type, adapter: AdapterT) -> None:
        """Have sources of this class and of classes derived from it read by ``adapter``."""
        self._adapters[source_class] = adapter

    def of(self, source: Source, *, where: object = None) -> AdapterT:
        """The adapter of a source.

        Args:
            source: any source of a program.
            where: the user's line, for the error.

        Raises:
            UnsupportedStepError: this host has none for its class.
            ConnectorError: a package's adapters could not be loaded.
        """
        found = self._adapters.get(type(source))
        if found is not None:
            return found  # the common case costs no search among installed packages
        self._look_around()
        for base in type(source).__mro__:
            if base in self._adapters:
                return self._adapters[base]
        raise UnsupportedStepError(
            f"{self._host} has no reader for a source of class {type(source).__name__}",
            where=None if where is None else str(where),
            fix=self._fix,
        )

    def _look_around(self) -> None:
        if self._looked_around:
            return
        for point in (point for points in entries(self._group).values() for point in points):
            with loading("reader", point):
                point.load()(self)
        self._looked_around = True
