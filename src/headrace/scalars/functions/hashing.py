"""Digests and encodings: MD5, SHA*, BASE64, HASH_CODE.

In: texts and bytes.  Out: entries.  Next: scalars/functions/text_misc.py
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds
from headrace.scalars.functions.entry import BoundCall, FunctionEntry, RowBody
from headrace.scalars.functions.rules import (
    BINARY,
    BOOLEAN,
    INT,
    NUMERIC,
    STRING,
    VARCHAR,
    either,
    takes,
)
from headrace.scalars.functions.strings import to_utf16

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT_OR_BYTES = either(STRING, BINARY)
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")
_SHA2: dict[int, Callable[..., Any]] = {
    224: hashlib.sha224,
    256: hashlib.sha256,
    384: hashlib.sha384,
    512: hashlib.sha512,
}


def _bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8") if isinstance(value, str) else value


def digest(algorithm: Callable[..., Any], value: str | bytes) -> str:
    """The digest of a value in hexadecimal digits."""
    made: str = algorithm(_bytes(value), usedforsecurity=False).hexdigest()
    return made


def sha2(value: str | bytes, bits: int) -> str:
    """The digest of the SHA-2 family with so many bits."""
    if bits not in _SHA2:
        message = f"there is no SHA2 of {bits} bits"
        raise InvalidArgumentError(message, fix="ask for 224, 256, 384 or 512 bits")
    return digest(_SHA2[bits], value)


def to_base64(value: str | bytes) -> str:
    """The bytes of a value in BASE64."""
    return base64.b64encode(_bytes(value)).decode("ascii")


def from_base64(value: str | bytes) -> str:
    """The text whose bytes were written in BASE64."""
    given = _bytes(value)
    if not _BASE64.fullmatch(given):
        message = f"FROM_BASE64 was given {value!r}, which is not BASE64"
        raise InvalidArgumentError(message, fix="give text that TO_BASE64 could have made")
    decoded = binascii.a2b_base64(given + b"=" * (-len(given) % 4))
    return decoded.decode("utf-8", "replace")


def _int32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _text_hash(text: str) -> int:
    """Java's hashCode of a text without its sign; the smallest number keeps it."""
    found = 0
    for unit in to_utf16(text):
        found = (found * 31 + ord(unit)) & 0xFFFFFFFF
    return _int32(abs(_int32(found)))


def _long_hash(number: int) -> int:
    unsigned = number & 0xFFFFFFFFFFFFFFFF
    return _int32((unsigned ^ (unsigned >> 32)) & 0xFFFFFFFF)


def _double_hash(number: float) -> int:
    bits: int = struct.unpack(">q", struct.pack(">d", number))[0]
    return _long_hash(0x7FF8000000000000 if number != number else bits)


def _float_hash(number: float) -> int:
    bits: int = struct.unpack(">i", struct.pack(">f", number))[0]
    return 0x7FC00000 if number != number else bits


def _hash_body(call: BoundCall) -> RowBody:
    match call.arguments[0]:
        case t.BooleanType():
            return lambda value: 1231 if value else 1237
        case t.BigIntType():
            return _long_hash
        case t.FloatType():
            return _float_hash
        case t.DoubleType():
            return _double_hash
        case argument:
            return _text_hash if kinds.is_character(argument) else int


_HASHED = either(
    STRING, BOOLEAN, lambda operand: None if kinds.is_decimal(operand.type) else NUMERIC(operand)
)


def _digest_entry(name: str, algorithm: Callable[..., Any], width: int) -> FunctionEntry:
    return FunctionEntry(
        name=name,
        category="hash",
        doc=f"The {name} digest in hexadecimal digits.",
        forms=(f"{name}(string)",),
        rule=takes(TEXT_OR_BYTES, gives=t.CharType(width)),
        row=partial(digest, algorithm),
    )


ENTRIES = (
    _digest_entry("MD5", hashlib.md5, 32),
    _digest_entry("SHA1", hashlib.sha1, 40),
    _digest_entry("SHA224", hashlib.sha224, 56),
    _digest_entry("SHA256", hashlib.sha256, 64),
    _digest_entry("SHA384", hashlib.sha384, 96),
    _digest_entry("SHA512", hashlib.sha512, 128),
    FunctionEntry(
        name="SHA2",
        category="hash",
        doc="The digest of the SHA-2 family with 224, 256, 384 or 512 bits.",
        forms=("SHA2(string, bits)",),
        rule=takes(TEXT_OR_BYTES, INT, gives=t.VarCharType(128)),
        row=sha2,
    ),
    FunctionEntry(
        name="TO_BASE64",
        category="string",
        doc="The bytes of the text in BASE64.",
        forms=("TO_BASE64(string)",),
        rule=takes(TEXT_OR_BYTES, gives=VARCHAR),
        row=to_base64,
    ),
    FunctionEntry(
        name="FROM_BASE64",
        category="string",
        doc="The text whose bytes were written in BASE64; an error for anything else.",
        forms=("FROM_BASE64(string)",),
        rule=takes(TEXT_OR_BYTES, gives=VARCHAR),
        row=from_base64,
    ),
    FunctionEntry(
        name="HASH_CODE",
        category="hash",
        doc="Java's hash of a value, of texts without its sign.",
        forms=("HASH_CODE(value)",),
        rule=takes(_HASHED, gives=t.IntType()),
        row_of=_hash_body,
    ),
)
