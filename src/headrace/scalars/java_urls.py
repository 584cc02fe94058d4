"""Addresses as Java's URL reads them, and its encoding of forms.

    http://user@host:80/path?query#ref   ──▶   HOST, PATH, QUERY, REF, PROTOCOL, FILE, ...

In: functions/text_misc.py.  Out: parts of addresses.  Next: scalars/functions/text_misc.py
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote_plus

# The protocols that a JVM knows of itself; others are malformed addresses to it.
_PROTOCOLS = ("http", "https", "ftp", "file", "jar", "mailto")
_PROTOCOL = re.compile(r"(?:url:)?([a-zA-Z][a-zA-Z0-9+.-]*):", re.IGNORECASE)
_PORT = re.compile(r":(\d*)$")
_MAX_PORT = 2**31 - 1


@lru_cache(maxsize=256)
def url_parts(address: str) -> dict[str, str | None] | None:
    """The parts of an address by Flink's names; None if Java does not take it."""
    address = address.strip("".join(map(chr, range(33))))
    found = _PROTOCOL.match(address)
    if found is None or found[1].lower() not in _PROTOCOLS:
        return None
    rest, mark, ref = address[found.end() :].partition("#")
    parts: dict[str, str | None] = {"PROTOCOL": found[1].lower(), "REF": ref if mark else None}
    path, mark, query = rest.partition("?")
    parts["QUERY"] = query if mark else None
    parts |= {"AUTHORITY": None, "USERINFO": None, "HOST": ""}
    if path.startswith("//"):
        authority, slash, path = path[2:].partition("/")
        path = slash + path
        if not _read_authority(authority, parts):
            return None
    parts["PATH"] = path
    parts["FILE"] = path + (f"?{query}" if mark else "")
    return parts


def _read_authority(authority: str, parts: dict[str, str | None]) -> bool:
    parts["AUTHORITY"] = authority
    user, at, host = authority.rpartition("@")
    if at:
        parts["USERINFO"] = user
    if host.startswith("["):
        closing = host.find("]")
        parts["HOST"], port = host[: closing + 1], host[closing + 1 :]
        if closing < 0 or (port and not _PORT.fullmatch(port)):
            return False
    else:
        bare, colon, port = host.partition(":")
        parts["HOST"] = bare
        if colon and port and not (port.isdigit() and int(port) <= _MAX_PORT):
            return False
    return True


def encode_form(text: str) -> str:
    """The text as forms send it: blanks as plus signs, all but letters, digits and .-*_ as %xx."""
    return quote_plus(text, safe="*").replace("~", "%7E")


def decode_form(text: str) -> str | None:
    """The text that a form sent; None if a % has no two digits behind it."""
    done: list[str] = []
    place = 0
    while place < len(text):
        if text[place] != "%":
            done.append(" " if text[place] == "+" else text[place])
            place += 1
            continue
        found = re.compile("(?:%[0-9a-fA-F]{2})+").match(text, place)
        if found is None or text[found.end() : found.end() + 1] == "%":
            return None
        done.append(bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"))
        place = found.end()
    return "".join(done)
