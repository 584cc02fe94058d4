"""Errors of catalogs under PyFlink's path.  Next: table/catalogs/exceptions.py"""

from __future__ import annotations

from headrace.table.catalogs.exceptions import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    ModelAlreadyExistException,
    ModelNotExistException,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    PartitionSpecInvalidException,
    ProcedureNotExistException,
    TableAlreadyExistException,
    TableNotExistException,
    TableNotPartitionedException,
)

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
