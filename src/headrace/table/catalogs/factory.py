"""CREATE CATALOG: catalogs by the option ``type``.  Next: table/catalogs/catalog.py"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.table.catalogs.catalog import GenericInMemoryCatalog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.table.catalogs.catalog import Catalog


def catalog_of(name: str, options: Mapping[str, str]) -> Catalog:
    """The catalog that options describe.

    Raises:
        ConfigurationError: an option is missing or unknown.
        UnsupportedStepError: headrace has no such catalog.
    """
    kind = options.get("type")
    if kind is None:
        raise ConfigurationError(
            f"catalog {name!r} has no 'type'", fix="WITH ('type' = 'generic_in_memory')"
        )
    if kind != "generic_in_memory":
        raise UnsupportedStepError(
            f"there are no catalogs of type {kind!r}",
            fix="use 'generic_in_memory', and CREATE TABLE with the connector you need",
        )
    for key in options:
        if key not in ("type", "default-database", "property-version"):
            raise ConfigurationError(
                f"catalog {name!r} has an unknown option {key!r}", fix="it has default-database"
            )
    return GenericInMemoryCatalog(name, options.get("default-database", "default"))
