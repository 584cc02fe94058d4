"""AND, OR, NOT with three values: true, false, and NULL for what is not known.

scalars/compile.py computes AND and OR lazily; the bodies here are the reference.

In: BOOLEAN.  Out: BOOLEAN.  Next: scalars/lazy_parts.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars.functions.entry import FunctionEntry
from headrace.scalars.functions.rules import BOOLEAN, takes

if TYPE_CHECKING:
    from headrace.scalars.functions.entry import ArrowBody, RowBody


def all_true(*values: bool | None) -> bool | None:
    """AND."""
    if any(value is False for value in values):
        return False
    return None if None in values else True


def any_true(*values: bool | None) -> bool | None:
    """OR."""
    if any(value is True for value in values):
        return True
    return None if None in values else False


def _entry(name: str, doc: str, row: RowBody, arrow: ArrowBody) -> FunctionEntry:
    return FunctionEntry(
        name=name,
        category="logical",
        doc=doc,
        forms=(f"boolean {name} boolean",),
        rule=takes(BOOLEAN, BOOLEAN, repeats=True, gives=t.BooleanType()),
        row=row,
        arrow=arrow,
        strict=False,
    )


ENTRIES = (
    _entry("AND", "Whether both are true.", all_true, pc.and_kleene),
    _entry("OR", "Whether one of them is true.", any_true, pc.or_kleene),
    FunctionEntry(
        name="NOT",
        category="logical",
        doc="The opposite.",
        forms=("NOT boolean",),
        rule=takes(BOOLEAN, gives=t.BooleanType()),
        row=lambda value: not value,
        arrow=pc.invert,
    ),
)
