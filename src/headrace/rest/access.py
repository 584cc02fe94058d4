"""Who may do what: bearer tokens with roles, in a file that holds their hashes.

    {"tokens": [{"name": "ci", "role": "submit", "sha256": "…", "created": 1795006217713}]}

In: the header Authorization.  Out: a Role, or none.  Tokens are 256 random bits, so a plain SHA-256
of them cannot be turned back; a password would need more.  Next: rest/guard.py asks
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.errors import ConfigurationError, InvalidArgumentError
from headrace.io.private_files import write_private

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.common.opaque import JsonObject

_PREFIX = "hr_"  # so that scanners of leaked secrets can find ours


class Role(IntEnum):
    """What somebody may do; each includes those before it."""

    READ = 1  # look at jobs, logs and metrics
    OPERATE = 2  # savepoints, stop, cancel, rescale
    SUBMIT = 3  # bring programs, which is: run code; end the dispatcher

    @staticmethod
    def named(text: str) -> Role:
        """By its name.

        Raises:
            InvalidArgumentError: there is none.
        """
        try:
            return Role[text.upper()]
        except KeyError:
            raise InvalidArgumentError(
                f"there is no role {text!r}", fix="one of: read, operate, submit"
            ) from None


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """Somebody who may come in."""

    name: str
    role: Role
    sha256: str
    created: int

    def to_json(self) -> JsonObject:
        """As the file has it."""
        return {
            "name": self.name,
            "role": self.role.name.lower(),
            "sha256": self.sha256,
            "created": self.created,
        }


class TokenFile:
    """The file of tokens; a change is noticed with the next request."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._entries: tuple[TokenEntry, ...] = ()

    def entries(self) -> tuple[TokenEntry, ...]:
        """Everybody in the file.

        Raises:
            ConfigurationError: it is not there, or not such a file.
        """
        try:
            found = self.path.stat()
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from None
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        with self._lock:
            if seen != self._seen:
                self._entries = self._read()
                self._seen = seen
            return self._entries

    def role_of(self, token: str) -> Role | None:
        """The role of a token; None for a wrong one.

        All entries are compared, and in constant time: how long it takes says nothing.
        """
        given = _hash(token)
        role: Role | None = None
        for entry in self.entries():
            if hmac.compare_digest(given, entry.sha256):
                role = entry.role
        return role

    def create(self, name: str, role: Role) -> str:
        """Add somebody, and return the token, which is nowhere kept.

        Raises:
            InvalidArgumentError: the name is taken.
        """
        entries = self.entries() if self.path.exists() else ()
        if any(entry.name == name for entry in entries):
            raise InvalidArgumentError(
                f"there is a token named {name!r} already",
                where=str(self.path),
                fix="choose another --name, or revoke that one first",
            )
        token = _PREFIX + secrets.token_urlsafe(32)
        self._write((*entries, TokenEntry(name, role, _hash(token), wall_clock())))
        return token

    def revoke(self, name: str) -> None:
        """Take somebody out.

        Raises:
            InvalidArgumentError: nobody has the name.
        """
        entries = self.entries()
        left = tuple(entry for entry in entries if entry.name != name)
        if len(left) == len(entries):
            known = ", ".join(entry.name for entry in entries) or "nobody"
            raise InvalidArgumentError(
                f"there is no token named {name!r}", where=str(self.path), fix=f"known: {known}"
            )
        self._write(left)

    def _read(self) -> tuple[TokenEntry, ...]:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            return tuple(
                TokenEntry(
                    str(entry["name"]),
                    Role[str(entry["role"]).upper()],
                    str(entry["sha256"]),
                    int(entry.get("created", 0)),
                )
                for entry in content["tokens"]
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unreadable(f"{type(error).__name__}: {error}") from None

    def _write(self, entries: tuple[TokenEntry, ...]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_private(self.path, {"tokens": [entry.to_json() for entry in entries]})

    def _unreadable(self, why: str) -> ConfigurationError:
        return ConfigurationError(
            f"the file of tokens cannot be read ({why}), so nobody can be let in",
            where=f"headrace.rest.tokens: {self.path}",
            fix="`headrace cluster token create` makes one",
        )


def bearer_token(authorization: str) -> str | None:
    """The token in the header Authorization; None if there is none."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
