"""Names of objects in catalogs: with their database, or with catalog and database.

In: text and parts.  Out: `ObjectPath`, `ObjectIdentifier`.  Next: table/catalogs/catalog.py
"""

from __future__ import annotations

from functools import total_ordering

from headrace.errors import InvalidArgumentError

__all__ = ["ObjectIdentifier", "ObjectPath"]


@total_ordering
class ObjectPath:
    """A database and an object in it.

    Args:
        database_name: of the database.
        object_name: of a table, view or function.
    """

    def __init__(self, database_name: str | None = None, object_name: str | None = None) -> None:
        if not database_name or not object_name:
            raise InvalidArgumentError("a path has a database and an object")
        self._parts = (database_name, object_name)

    def get_database_name(self) -> str:
        """The database."""
        return self._parts[0]

    def get_object_name(self) -> str:
        """The object."""
        return self._parts[1]

    def get_full_name(self) -> str:
        """Both, with a dot between."""
        return ".".join(self._parts)

    def compare_to(self, other: ObjectPath) -> int:
        """Below 0, 0 or above 0: whether it comes before the other, is it, or comes behind."""
        return (self._parts > other._parts) - (self._parts < other._parts)

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """The path of ``database.object``."""
        parts = full_name.split(".")
        if len(parts) != 2:
            raise InvalidArgumentError(
                f"Cannot split '{full_name}' to get databaseName and objectName",
                fix="write database.object",
            )
        return ObjectPath(*parts)

    def __str__(self) -> str:
        return self.get_full_name()

    def __repr__(self) -> str:
        return f"ObjectPath({self})"

    def __hash__(self) -> int:
        return hash(self._parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self._parts == other._parts

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ObjectPath):
            return NotImplemented
        return self._parts < other._parts


class ObjectIdentifier:
    """A catalog, a database and an object in it."""

    def __init__(self, catalog_name: str, database_name: str, object_name: str) -> None:
        self._parts = (catalog_name, database_name, object_name)

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """The identifier of three names."""
        if None in (catalog_name, database_name, object_name):
            raise InvalidArgumentError("an identifier has a catalog, a database and an object")
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The catalog."""
        return self._parts[0]

    def get_database_name(self) -> str:
        """The database."""
        return self._parts[1]

    def get_object_name(self) -> str:
        """The object."""
        return self._parts[2]

    def to_object_path(self) -> ObjectPath:
        """Without the catalog."""
        return ObjectPath(self._parts[1], self._parts[2])

    def to_list(self) -> list[str]:
        """The three names."""
        return list(self._parts)

    def as_serializable_string(self) -> str:
        """The names as SQL can read them."""
        return ".".join(f"`{part.replace('`', '``')}`" for part in self._parts)

    def as_summary_string(self) -> str:
        """The names for people."""
        return ".".join(self._parts)

    def __str__(self) -> str:
        return self.as_serializable_string()

    def __hash__(self) -> int:
        return hash(self._parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._parts == other._parts
