"""What a resolver asks of catalogs: tables and functions by name.

In: names of a statement.  Out: relational nodes and functions.  table/ implements it.
Next: resolve/resolver.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.rel.nodes import Rel


class FunctionSource(Protocol):
    """Finds functions."""

    def find_function(self, path: tuple[str, ...]) -> UserFunctionDefinition | None:
        """The function of the user with a name; None if there is none, so it may be SQL's own."""


class Catalogs(FunctionSource, Protocol):
    """Finds tables and functions."""

    def find_table(
        self, path: tuple[str, ...], options: dict[str, str] | None = None
    ) -> tuple[tuple[str, ...], Rel] | None:
        """The full path of a table or view, and what it gives.

        That is a Scan with its computed columns and watermark above it, or a view's query.

        Args:
            path: as written: a name alone, with its database, or with its catalog as well.
            options: of the hint OPTIONS, which change those of the table.
        """

    def table_names(self) -> list[str]:
        """The names of the current database, for messages."""
