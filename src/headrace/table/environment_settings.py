"""How a table environment is made: in which mode, with which names and options.

In: the user's program.  Out: `EnvironmentSettings`.  Next: table/table_environment.py
"""

from __future__ import annotations

from headrace.common.configuration import Configuration

__all__ = ["EnvironmentSettings"]

_MODE = "execution.runtime-mode"
_CATALOG, _DATABASE = "table.builtin-catalog-name", "table.builtin-database-name"


class EnvironmentSettings:
    """How a table environment is made; see `in_streaming_mode` and `in_batch_mode`."""

    class Builder:
        """Collects settings."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Take over options."""
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Bounded tables, and results when all is read."""
            self._configuration.set_string(_MODE, "BATCH")
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Tables that change, and results that follow."""
            self._configuration.set_string(_MODE, "STREAMING")
            return self

        def with_built_in_catalog_name(
            self, built_in_catalog_name: str
        ) -> EnvironmentSettings.Builder:
            """The name of the catalog that is there from the start."""
            self._configuration.set_string(_CATALOG, built_in_catalog_name)
            return self

        def with_built_in_database_name(
            self, built_in_database_name: str
        ) -> EnvironmentSettings.Builder:
            """The name of the database that is there from the start."""
            self._configuration.set_string(_DATABASE, built_in_database_name)
            return self

        def build(self) -> EnvironmentSettings:
            """The settings."""
            return EnvironmentSettings(self._configuration)

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = Configuration(configuration)

    def get_built_in_catalog_name(self) -> str:
        """The name of the catalog that is there from the start."""
        return self._configuration.get_string(_CATALOG, "default_catalog")

    def get_built_in_database_name(self) -> str:
        """The name of the database that is there from the start."""
        return self._configuration.get_string(_DATABASE, "default_database")

    def is_streaming_mode(self) -> bool:
        """Whether tables may change; else all is read before there are results."""
        return self._configuration.get_string(_MODE, "STREAMING").upper() != "BATCH"

    def get_configuration(self) -> Configuration:
        """The options."""
        return self._configuration

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """A builder."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Settings for tables that change."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Settings for bounded tables."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()
