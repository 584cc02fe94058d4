"""What all sinks of servers share: client libraries, patience, texts without passwords.

In: a call that may fail because a server is away for a moment.  Out: its result, or its last error.
Used by connectors/redis/client.py and those of other servers.  Staging: spi/staging.py
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import random
import re
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from headrace.errors import HeadraceError

T = TypeVar("T")
ConnectionT = TypeVar("ConnectionT")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retries:
    """How long to be patient with a server that is away.

    Attributes:
        attempts: how often a call is made in all; the default gives up after some 6 seconds.
        first_delay_s: the first pause; each later one is twice as long.
        longest_delay_s: no pause is longer.
    """

    attempts: int = 6
    first_delay_s: float = 0.2
    longest_delay_s: float = 5.0

    def delays_s(self) -> Iterator[float]:
        """The pauses between the attempts."""
        for number in range(self.attempts - 1):
            delay_s = min(self.longest_delay_s, self.first_delay_s * 2**number)
            # Many workers lose a server at the same moment; they should not all return at once.
            yield delay_s * random.uniform(0.8, 1.2)


def call_with_retries(
    action: Callable[[], T], retries: Retries, *, passes: Callable[[Exception], bool], what: str
) -> T:
    """Calls until it works, the error will not pass by itself, or the patience is over.

    Args:
        action: must leave nothing behind when it fails, or find it again.
        retries: the patience.
        passes: whether an error may be gone a moment later.
        what: the call in words, for the log.
    """
    for delay_s in retries.delays_s():
        try:
            return action()
        except Exception as error:
            if not passes(error):
                raise
            _log.warning("could not %s; trying again in %.1f s: %s", what, delay_s, error)
            time.sleep(delay_s)
    return action()


class ServerClient(ABC, Generic[ConnectionT]):
    """One server as a connector sees it: calls with patience, errors in our words.

    Subclasses say how a call is made once, which errors pass by themselves, and what an error
    means.

    Args:
        where: the server and what is written there, for errors; without a password.
        retries: the patience with a server that is away.
        library_error: the base of all errors of the client library.
    """

    def __init__(self, where: str, retries: Retries, library_error: type[Exception]) -> None:
        self.where = where
        self._retries = retries
        self._library_error = library_error

    def run(self, what: str, call: Callable[[ConnectionT], T]) -> T:
        """Makes a call; again, a few times, while the server is away.

        So `call` may run after it has succeeded, when the answer was lost: it must have the same
        effect when it is repeated, or find out.

        Args:
            what: the call in words, after "cannot".
            call: gets a connection.
        """
        try:
            return call_with_retries(
                lambda: self._once(call), self._retries, passes=self._passes, what=what
            )
        except self._library_error as error:
            raise self._explained(error, what) from error

    @abstractmethod
    def _once(self, call: Callable[[ConnectionT], T]) -> T:
        """Makes a call once, on a connection of this process."""

    @abstractmethod
    def _passes(self, error: Exception) -> bool:
        """Whether an error may be gone a moment later."""

    @abstractmethod
    def _explained(self, error: Exception, what: str) -> HeadraceError:
        """An error of the library as one of ours."""


def client_library(module: str, *, extra: str) -> ModuleType:
    """The imported client library of a server.

    Raises:
        EnvironmentSetupError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EnvironmentSetupError(
            f"the connector needs the Python package {module!r}, which cannot be imported: {error}",
            where="this machine; workers need the package too",
            fix=f"pip install 'headrace[{extra}]'",
        ) from error


def without_password(address: str) -> str:
    """An address of a server as it may be shown: ``redis://user:***@host``."""
    address = re.sub(r"(://[^:/@]*:)[^@/]*@", r"\1***@", address)
    return re.sub(r"(password\s*=\s*)('(?:\\.|[^'])*'|[^\s&]+)", r"\1***", address)


def sink_hash(job_id: str, sink_uid: str) -> str:
    """A short name for one sink of one job, from which names on the server are made."""
    return hashlib.sha256(f"{job_id}\n{sink_uid}".encode()).hexdigest()[:16]
