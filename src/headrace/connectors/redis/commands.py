"""Redis commands as bytes, packed so that a Lua script on the server can read them.

In: commands, tuples such as ``("INCRBY", "clicks", 3)``.  Out: chunks of packed commands.
Next: writer.py, script.py (which unpacks them)

A chunk is a row of commands; a command is the number of its arguments, then for each its length and
its bytes. Numbers have four bytes, the highest first.
"""

from __future__ import annotations

import decimal
import struct
from typing import TYPE_CHECKING, Any

from headrace.errors import TypeMismatchError

if TYPE_CHECKING:
    from collections.abc import Callable

# Lua cannot hand more arguments than some 8,000 to a function.
MOST_ARGUMENTS = 4000

_number = struct.Struct(">I").pack


def pack_command(command: Any, record: Any, where: str) -> bytes:
    """One command as bytes.

    Raises:
        TypeMismatchError: it is not a command, or an argument has no form.
    """
    if not isinstance(command, tuple | list) or not command or not isinstance(command[0], str):
        raise TypeMismatchError(
            f"{command!r} ({type(command).__name__}), made from the record {record!r}, is not a "
            "command",
            where=where,
            fix='return a list of tuples: [("INCRBY", "clicks", 1), ("RPUSH", "log", "text")]',
        )
    if len(command) > MOST_ARGUMENTS:
        raise TypeMismatchError(
            f"a {command[0]} command has {len(command)} arguments, the most are {MOST_ARGUMENTS}",
            where=where,
            fix="split it into several commands",
        )
    parts = [_number(len(command))]
    for argument in command:
        form = _FORMS.get(type(argument)) or _form_of(argument)
        if form is None:
            raise TypeMismatchError(
                f"{argument!r} ({type(argument).__name__}) in {command[0]}, made from the record "
                f"{record!r}, has no form in Redis",
                where=where,
                fix="convert it to text, bytes or a number; json.dumps for dicts and lists",
            )
        content = form(argument)
        parts += (_number(len(content)), content)
    return b"".join(parts)


def _form_of(argument: Any) -> Callable[[Any], bytes] | None:
    if isinstance(argument, bool):
        return None  # 1, true or True: only the user knows what readers expect
    return next((form for kind, form in _FORMS.items() if isinstance(argument, kind)), None)


_FORMS: dict[type, Callable[[Any], bytes]] = {
    str: str.encode,
    bytes: bytes,
    bytearray: bytes,
    int: lambda value: b"%d" % value,
    float: lambda value: float.__repr__(value).encode(),
    decimal.Decimal: lambda value: str(value).encode(),
}
