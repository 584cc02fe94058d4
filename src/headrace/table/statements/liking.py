"""CREATE TABLE ... LIKE: what a table takes over of another.

In: two tables and the options of LIKE.  Out: one table.  Next: table/statements/tables.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.errors import InvalidArgumentError
from headrace.table.catalogs.objects import CatalogBaseTable
from headrace.table.schema import Schema

if TYPE_CHECKING:
    from headrace.sql.ddl_ast import LikeClause
    from headrace.table.schema import DeclaredColumn

# what is done if nothing is said
_DEFAULTS = {
    "CONSTRAINTS": "INCLUDING",
    "DISTRIBUTION": "INCLUDING",
    "PARTITIONS": "INCLUDING",
    "OPTIONS": "OVERWRITING",
    "WATERMARKS": "INCLUDING",
    "GENERATED": "INCLUDING",
    "METADATA": "INCLUDING",
}


def _strategies(like: LikeClause) -> dict[str, str]:
    options = {feature: strategy for strategy, feature in like.options}
    found = dict(_DEFAULTS)
    if "ALL" in options:
        found = dict.fromkeys(found, options["ALL"])
    return found | {feature: s for feature, s in options.items() if feature != "ALL"}


def merged(base: CatalogBaseTable, own: CatalogBaseTable, like: LikeClause) -> CatalogBaseTable:
    """A table with what it takes over of another."""
    if base._view is not None:
        raise InvalidArgumentError("Source table of the LIKE clause can not be a VIEW")
    how = _strategies(like)
    return CatalogBaseTable(
        Schema(
            _columns(base._schema, own._schema, how),
            _one(base._schema._watermark, own._schema._watermark, how["WATERMARKS"], "watermark"),
            _one(
                base._schema._primary_key,
                own._schema._primary_key,
                how["CONSTRAINTS"],
                "primary key",
            ),
        ),
        _options(base._options, own._options, how["OPTIONS"]),
        own._comment,
        _partitions(base._partition_keys, own._partition_keys, how["PARTITIONS"]),
    )


def _columns(base: Schema, own: Schema, how: dict[str, str]) -> list[DeclaredColumn]:
    mine = {column.name: column for column in own._columns}
    found: list[DeclaredColumn] = []
    for column in base._columns:
        strategy = "INCLUDING"
        if column.expression is not None:
            strategy = how["GENERATED"]
        elif column.metadata:
            strategy = how["METADATA"]
        if strategy == "EXCLUDING":
            continue
        if column.name in mine:
            if column.physical or strategy != "OVERWRITING":
                raise InvalidArgumentError(
                    f"A column named '{column.name}' already exists in the base table.",
                    fix="leave it out, or use OVERWRITING GENERATED for computed columns",
                )
            found.append(mine.pop(column.name))
        else:
            found.append(column)
    return [*found, *mine.values()]


T = TypeVar("T")


def _one(base: T | None, own: T | None, strategy: str, what: str) -> T | None:
    if strategy == "EXCLUDING" or base is None:
        return own
    if own is None:
        return base
    if strategy == "OVERWRITING":
        return own
    raise InvalidArgumentError(f"There already exists a {what} in the base table.")


def _options(base: dict[str, str], own: dict[str, str], strategy: str) -> dict[str, str]:
    if strategy == "EXCLUDING":
        return own
    twice = sorted(base.keys() & own.keys())
    if twice and strategy == "INCLUDING":
        raise InvalidArgumentError(
            f"There already exists an option ['{twice[0]}' -> '{base[twice[0]]}'] "
            "in the base table."
        )
    return base | own


def _partitions(base: tuple[str, ...], own: tuple[str, ...], strategy: str) -> tuple[str, ...]:
    if strategy == "EXCLUDING" or not base:
        return own
    if own:
        raise InvalidArgumentError("The base table already has partitions defined.")
    return base
