"""Errors as Flink's Java clients read them: with a Java object inside.

Where an operation or a job failed, Flink's answers hold a serialized `SerializedThrowable`, and its
client shows nothing but an error of its own where that is missing.  So it is written here, byte by
byte after Java's object serialization protocol (version 5): a class description, then three texts.
Other clients read ``class`` and ``stack-trace``.  Nothing is ever read in this format.
"""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING

from headrace.common.sensitive import masked_text
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject

_OBJECT, _CLASS, _TEXT, _NULL, _END, _REFERENCE = b"s", b"r", b"t", b"p", b"x", b"q"
_ARRAY = b"u"
_LONGEST = 20_000  # characters; a text's length is written in two bytes


def failure_cause(error: BaseException) -> JsonObject:
    """Flink's SerializedThrowable as JSON."""
    own = isinstance(error, HeadraceError)
    text = str(error) if own else f"{type(error).__name__}: {error}"
    module = type(error).__module__
    return failure_text(text, f"{module}.{type(error).__qualname__}")


def failure_text(text: str, name: str = "headrace.JobError") -> JsonObject:
    """The same, of a failure of which only the text is kept."""
    text = masked_text(text)
    java = base64.b64encode(_serialized_throwable(text, name)).decode()
    return {"class": name, "stack-trace": text, "serialized-throwable": java}


def _serialized_throwable(text: str, name: str) -> bytes:
    string, throwable = "Ljava/lang/String;", "Ljava/lang/Throwable;"
    first_text = struct.pack(">I", 0x7E0001)  # the second thing written: the name of String
    return b"".join(
        (
            struct.pack(">HH", 0xACED, 5),
            _OBJECT,
            _class("org.apache.flink.util.SerializedThrowable", 0x65169DF51FA713F3, 2, 3),
            _field("L", "fullStringifiedStackTrace"),
            _text(string),
            _field("L", "originalErrorClassName"),
            _REFERENCE + first_text,
            _field("[", "serializedException"),
            _text("[B"),
            _END,
            _class("java.lang.Exception", 0xD0FD1F3E1A3B1CC4, 2, 0),
            _END,
            _class("java.lang.Throwable", 0xD5C635273977B8CB, 3, 4),
            _field("L", "cause"),
            _text(throwable),
            _field("L", "detailMessage"),
            _REFERENCE + first_text,
            _field("[", "stackTrace"),
            _text("[Ljava/lang/StackTraceElement;"),
            _field("L", "suppressedExceptions"),
            _text("Ljava/util/List;"),
            _END + _NULL,
            # Throwable: cause, message, an empty stack trace, no suppressed ones
            _NULL,
            _text(text),
            _ARRAY + _class("[Ljava.lang.StackTraceElement;", 0x02462A3C3CFD2239, 2, 0),
            _END + _NULL + struct.pack(">I", 0),
            _OBJECT + _class("java.util.Collections$EmptyList", 0x7AB817B43CA79EDE, 2, 0),
            _END + _NULL + _END,
            # SerializedThrowable: stack trace, class name, no exception within
            _text(text),
            _text(name),
            _NULL,
        )
    )


def _class(name: str, version: int, flags: int, fields: int) -> bytes:
    return _CLASS + _utf(name) + struct.pack(">QBH", version, flags, fields)


def _field(kind: str, name: str) -> bytes:
    return kind.encode() + _utf(name)


def _text(text: str) -> bytes:
    return _TEXT + _utf(text[:_LONGEST])


def _utf(text: str) -> bytes:
    """Java's modified UTF-8: no zero bytes, characters beyond 16 bits as two."""
    units = text.encode("utf-16-be", "surrogatepass")
    written = bytearray()
    for (unit,) in struct.iter_unpack(">H", units):
        if 0 < unit < 0x80:
            written.append(unit)
        elif unit < 0x800:
            written += bytes((0xC0 | unit >> 6, 0x80 | unit & 0x3F))
        else:
            written += bytes((0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F))
    return struct.pack(">H", len(written)) + bytes(written)
