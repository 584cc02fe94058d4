"""What a text is made of: IS_ALPHA, IS_DECIMAL, IS_DIGIT; and NEGATE.

In: values.  Out: BOOLEAN.  Next: scalars/functions/comparison.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.functions.arithmetic import ENTRIES as ARITHMETIC
from headrace.scalars.functions.entry import BoundCall, FunctionEntry
from headrace.scalars.functions.rules import NUMERIC, STRING, either, takes
from headrace.scalars.java_numbers import read_double

if TYPE_CHECKING:
    from headrace.scalars.functions.entry import RowBody


def _is_alpha(text: str) -> bool:
    return text.isalpha()


def _is_digit(text: str) -> bool:
    return text != "" and all(char.isdigit() for char in text)


def _is_decimal(text: str) -> bool:
    try:
        read_double(text)
    except ValueError:
        return False
    return True


def _entry(name: str, doc: str, of_text: RowBody, of_number: RowBody) -> FunctionEntry:
    def body(call: BoundCall) -> RowBody:
        check = of_text if kinds.is_character(call.arguments[0]) else of_number
        whole = kinds.is_integral(call.arguments[0])
        return lambda value: (
            value is not None and bool(check(value) if check is of_text else of_number(whole))
        )

    return FunctionEntry(
        name=name,
        category="conditional",
        doc=doc,
        forms=(f"{name}(string)",),
        rule=takes(either(STRING, NUMERIC), gives=t.BooleanType(), nullable=False),
        row_of=body,
        strict=False,
    )


_MINUS = next(entry for entry in ARITHMETIC if entry.name == "-")
ENTRIES = (
    _entry("IS_ALPHA", "Whether all characters are letters.", _is_alpha, lambda _: False),
    _entry("IS_DIGIT", "Whether all characters are digits.", _is_digit, lambda whole: whole),
    _entry("IS_DECIMAL", "Whether a text is a number.", _is_decimal, lambda _: True),
    FunctionEntry(
        name="NEGATE",
        category="arithmetic",
        doc="The negative.",
        forms=("-numeric", "-interval"),
        rule=lambda operands: _MINUS.rule(operands) if len(operands) == 1 else None,
        row_of=_MINUS.row_of,
        arrow_of=_MINUS.arrow_of,
        internal=True,
    ),
)
