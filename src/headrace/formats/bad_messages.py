"""The error for a message that a schema cannot read: what it looks like, and what to do.

In: the message and what went wrong.  Out: `BadMessageError`.  Next: errors.py
"""

from __future__ import annotations

from headrace.errors import BadMessageError

__all__ = ["bad_message"]

_SHOWN_BYTES = 200


def bad_message(
    message: bytes | None, format: str, error: Exception | str, schema: type, lenient: str = ""
) -> BadMessageError:
    """The error, to be raised from the one that says why.

    Args:
        message: the bytes; their beginning is shown.
        format: such as JSON.
        error: why.
        schema: the class that was reading.
        lenient: the setting of the schema that skips such messages, if it has one.
    """
    skip = f", or have what cannot be read left out with {lenient}" if lenient else ""
    return BadMessageError(
        f"a message cannot be read as {format}: {_reason(error)}; it is {preview(message)}",
        where=schema.__name__,
        fix=f"write what the schema's type declares, or declare what is written{skip}",
    )


def preview(message: bytes | None) -> str:
    """The beginning of a message, and its length if that is not all."""
    if message is None:
        return "None: it has no value"
    shown = bytes(message[:_SHOWN_BYTES])
    rest = f"... ({len(message):,} bytes)" if len(message) > _SHOWN_BYTES else ""
    return f"{shown!r}{rest}"


def _reason(error: Exception | str) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error) or type(error).__name__
