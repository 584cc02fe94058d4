"""Turns a result record into text that is equal on both engines exactly when the records are.

In: values as execute_and_collect gives them.  Out: text for golden files.  Next: compare.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = (type(None), bool, int, float, str, bytes)


def text(value: Any) -> str:
    """Python-like text of a value; containers keep their type, maps and sets are sorted."""
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if kind is tuple:
        return f"({_join(value)}{',' if len(value) == 1 else ''})"
    if kind is list:
        return f"[{_join(value)}]"
    if kind is dict:
        pairs = sorted(f"{text(key)}: {text(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if kind in (set, frozenset):
        return f"{kind.__name__}({{{', '.join(sorted(text(item) for item in value))}}})"
    if kind.__name__ == "Row":
        return _row(value)
    if kind.__name__ == "Instant":
        return f"Instant({value.seconds}, {value.nanos})"
    if kind.__name__ == "TimeWindow":
        return f"TimeWindow({value.start}, {value.end})"
    # Decimal, date, time, datetime, bytearray and whatever a pickled stream carries.
    shown = repr(value)
    return shown if kind.__name__ in shown else f"{kind.__name__}<{shown}>"


def _join(values: Iterable[Any]) -> str:
    return ", ".join(text(value) for value in values)


def _row(row: Any) -> str:
    # Row gives its names only as as_dict(), which raises when it has none.
    try:
        names: list[str] | None = list(row.as_dict())
    except (TypeError, AttributeError):
        names = None
    items = [text(item) for item in row]
    if names is not None and len(names) == len(items):
        items = [f"{name}={item}" for name, item in zip(names, items, strict=True)]
    kind = row.get_row_kind().name
    prefix = "" if kind == "INSERT" else f"{kind}:"
    return f"Row({prefix}{', '.join(items)})"
