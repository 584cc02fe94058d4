"""Arrays, maps, multisets and rows: their parts are cast one by one, and how they read as text.

    [1, 2, NULL]   {a=1, b=NULL}   (1, x)

In: the casts of the parts.  Out: casts of the whole.  Next: scalars/casts.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Body = Callable[[Any], Any]


def optional(body: Body | None) -> Body:
    """A cast that lets NULL through; None stands for one that changes nothing."""
    if body is None:
        return lambda value: value
    return lambda value: None if value is None else body(value)


def array_cast(element: Body | None) -> Body:
    """Casts every element."""
    change = optional(element)
    return lambda values: [change(value) for value in values]


def map_cast(key: Body | None, item: Body | None) -> Body:
    """Casts keys and values."""
    change_key, change_item = optional(key), optional(item)
    return lambda found: {change_key(k): change_item(v) for k, v in found.items()}


def row_cast(fields: list[Body | None]) -> Body:
    """Casts field by field."""
    changes = [optional(field) for field in fields]
    return lambda row: tuple(change(v) for change, v in zip(changes, row, strict=True))


def shown(text: Body) -> Body:
    """How a part reads in the text of the whole."""
    return lambda value: "NULL" if value is None else text(value)


def array_text(element: Body) -> Body:
    """``[1, 2]``."""
    show = shown(element)
    return lambda values: f"[{', '.join(show(value) for value in values)}]"


def map_text(key: Body, item: Body) -> Body:
    """``{a=1}``."""
    show_key, show_item = shown(key), shown(item)
    return lambda found: (
        f"{{{', '.join(f'{show_key(k)}={show_item(v)}' for k, v in found.items())}}}"
    )


def row_text(fields: list[Body]) -> Body:
    """``(1, x)``."""
    shows = [shown(field) for field in fields]
    return lambda row: f"({', '.join(show(v) for show, v in zip(shows, row, strict=True))})"
