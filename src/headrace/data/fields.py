"""Reads and replaces a field of a record: of a tuple, Row, list, dict or object."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable


def get_field(field: int | str) -> Callable[[Any], Any]:
    """A function that reads the field; position 0 of a plain value is the value itself."""

    def read(record: Any) -> Any:
        if field == 0 and _is_plain(record):
            return record
        try:
            if isinstance(field, str) and not isinstance(record, Row | dict):
                return getattr(record, field)
            return record[field]
        except (TypeError, IndexError, KeyError, AttributeError) as error:
            raise _no_field(field, record) from error

    return read


def with_field(field: int | str) -> Callable[[Any, Any], Any]:
    """A function that gives a copy of the record with another value in the field."""

    def write(record: Any, value: Any) -> Any:
        if isinstance(record, tuple):
            names = getattr(record, "_fields", None)
            if names is not None:
                name = field if isinstance(field, str) else names[field]
                return record._replace(**{name: value})  # type: ignore[attr-defined]
            assert isinstance(field, int)
            return (*record[:field], value, *record[field + 1 :])
        if dataclasses.is_dataclass(record) and not isinstance(record, type):
            return dataclasses.replace(record, **{str(field): value})
        if _is_plain(record):
            return value
        changed = copy.copy(record)
        changed[field] = value
        return changed

    return write


def _is_plain(record: Any) -> bool:
    """Whether a record has no fields, such as numbers of any kind, texts, bytes and times."""
    if isinstance(record, str | bytes | bytearray):
        return True
    return not hasattr(record, "__getitem__") and not dataclasses.is_dataclass(record)


def _no_field(field: int | str, record: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"record {record!r:.100} of type {type(record).__name__} has no field {field!r}",
        fix="give the position of a field of a tuple, or the name of a field of a row",
    )
