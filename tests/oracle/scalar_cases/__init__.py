"""Calls of scalar functions that PyFlink is asked about; tests/oracle/ask_scalars.py asks.

A case is a function of headrace and its arguments, each a type and a value; `sql` is there where
SQL writes the call in another way, with the arguments as {0}, {1}.
"""

from __future__ import annotations

from typing import Any

Argument = tuple[str, Any]


def case(function: str, *arguments: Argument, sql: str | None = None) -> dict[str, Any]:
    """One call."""
    given = {"function": function, "arguments": [list(each) for each in arguments]}
    return given if sql is None else given | {"sql": sql}


def s(value: str | None) -> Argument:
    """A STRING that may be NULL."""
    return ("STRING", value)


def c(value: str) -> Argument:
    """A literal in quotes."""
    return (f"CHAR({len(value)}) NOT NULL" if value else "VARCHAR(1) NOT NULL", value)


def i(value: int | None) -> Argument:
    """An INT that may be NULL."""
    return ("INT", value)


def n(value: int) -> Argument:
    """An integer literal."""
    return ("INT NOT NULL", value)


def b(value: str | None) -> Argument:
    """BYTES in hexadecimal."""
    return ("BYTES", value)
