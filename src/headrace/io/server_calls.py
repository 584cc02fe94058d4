"""What all sinks of servers share: client libraries, patience, texts without passwords.

In: a call that may fail because a server is away for a moment.  Out: its result, or its last error.
Staging: spi/staging.py
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
from headrace.io.waiting import at_most, told_when_long

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from headrace.errors import HeadraceError

T = TypeVar("T")
ConnectionT = TypeVar("ConnectionT")

_log = logging.getLogger(__name__)

# Of the servers that this process has called: those whose last call was answered.
_answering: set[str] = set()


@dataclass(frozen=True, slots=True)
class Retries:
    """How long to be patient with a server that is away.

    Attributes:
        attempts: how often a call is made in all; the default gives up after some 6 seconds.
        first_delay_s: the first pause; each later one is twice as long.
        longest_delay_s: no pause is longer.
        within_s: no attempt begins later than this after the first; None for no such limit.
    """

    attempts: int = 6
    first_delay_s: float = 0.2
    longest_delay_s: float = 5.0
    within_s: float | None = None

    def delays_s(self) -> Iterator[float]:
        """The pauses between the attempts."""
        for number in range(self.attempts - 1):
            delay_s = min(self.longest_delay_s, self.first_delay_s * 2**number)
            # Many workers lose a server at the same moment; they should not all return at once.
            yield delay_s * random.uniform(0.8, 1.2)

    def delays_within(self, since: float) -> Iterator[float]:
        """The pauses that end in time, if the first attempt was at `since`."""
        for delay_s in self.delays_s():
            if self.within_s is not None and time.monotonic() + delay_s > since + self.within_s:
                return
            yield delay_s

    def described(self, longest_try_s: float | None) -> str:
        """In words, given how long one attempt can take: ``for 6 tries of 10 s at most``."""
        if self.within_s is not None:
            return at_most(self.within_s)
        tries = "one try" if self.attempts == 1 else f"{self.attempts} tries"
        return f"for {tries}" + (
            "" if longest_try_s is None else f" of {longest_try_s:g} s at most"
        )


def call_with_retries(
    action: Callable[[], T],
    retries: Retries,
    *,
    passes: Callable[[Exception], bool],
    what: str,
    longest_try_s: float | None = None,
    answers: bool = False,
) -> T:
    """Calls until it works, the error will not pass by itself, or the patience is over.

    Args:
        action: must leave nothing behind when it fails, or find it again.
        retries: the patience.
        passes: whether an error may be gone a moment later.
        what: who is called and what for, for the log.
        longest_try_s: how long one call waits for a server that does not answer, if that is known.
        answers: whether the server is known to answer. Then a long silence is work, and only
            calls that failed are told in the log.
    """
    failures: list[Exception] = []

    def last() -> str | None:
        return str(failures[-1]) if failures else None

    delays_s = retries.delays_within(time.monotonic())
    with told_when_long(what, retries.described(longest_try_s), last, only_with_reason=answers):
        while True:
            try:
                return action()
            except Exception as error:
                delay_s = next(delays_s, None) if passes(error) else None
                if delay_s is None:
                    raise
                failures.append(error)
                _log.info("waiting for %s; trying again in %.1f s: %s", what, delay_s, error)
                time.sleep(delay_s)


class ServerClient(ABC, Generic[ConnectionT]):
    """One server as a connector sees it: calls with patience, errors in our words.

    Subclasses say how a call is made once, which errors pass by themselves, and what an error
    means.

    Args:
        where: the server and what is written there, for errors; without a password.
        retries: the patience with a server that is away.
        library_error: the base of all errors of the client library.
        longest_try_s: how long one call waits for a server that does not answer.
    """

    def __init__(
        self,
        where: str,
        retries: Retries,
        library_error: type[Exception],
        *,
        longest_try_s: float | None = None,
    ) -> None:
        self.where = where
        self._retries = retries
        self._library_error = library_error
        self._longest_try_s = longest_try_s

    def run(self, what: str, call: Callable[[ConnectionT], T]) -> T:
        """Makes a call; again, a few times, while the server is away.

        So `call` may run after it has succeeded, when the answer was lost: it must have the same
        effect when it is repeated, or find out.

        Args:
            what: the call in words, after "cannot".
            call: gets a connection.
        """
        try:
            result = call_with_retries(
                lambda: self._once(call),
                self._retries,
                passes=self._passes,
                what=f"{self.where} to {what}",
                longest_try_s=self._longest_try_s,
                answers=self.where in _answering,
            )
        except self._library_error as error:
            _answering.discard(self.where)
            raise self._explained(error, what) from error
        _answering.add(self.where)
        return result

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
