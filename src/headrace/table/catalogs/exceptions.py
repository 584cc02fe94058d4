"""Errors of catalogs, under the names that PyFlink gives them.

In: a name that is there already, or is not.  Out: errors with a fix.
Next: table/catalogs/catalog.py raises them
"""

from __future__ import annotations

from headrace.errors import ProgramError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "ProcedureNotExistException",
    "TableAlreadyExistException",
    "TableNotExistException",
    "TableNotPartitionedException",
]


class CatalogException(ProgramError):
    """Something of a catalog is not as it has to be."""


class DatabaseNotExistException(CatalogException):
    """There is no such database."""


class DatabaseAlreadyExistException(CatalogException):
    """There is such a database."""


class DatabaseNotEmptyException(CatalogException):
    """The database has tables or functions."""


class TableNotExistException(CatalogException):
    """There is no such table."""


class TableAlreadyExistException(CatalogException):
    """There is such a table."""


class TableNotPartitionedException(CatalogException):
    """The table has no partitions."""


class PartitionNotExistException(CatalogException):
    """There is no such partition."""


class PartitionAlreadyExistsException(CatalogException):
    """There is such a partition."""


class PartitionSpecInvalidException(CatalogException):
    """The table is not partitioned by these columns."""


class FunctionNotExistException(CatalogException):
    """There is no such function."""


class FunctionAlreadyExistException(CatalogException):
    """There is such a function."""


class ModelNotExistException(CatalogException):
    """There is no such model."""


class ModelAlreadyExistException(CatalogException):
    """There is such a model."""


class ProcedureNotExistException(CatalogException):
    """There is no such procedure."""
