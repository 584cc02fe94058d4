"""Patience with servers, and what is shown of their addresses."""

from __future__ import annotations

import pytest

from headrace.io.server_calls import Retries, call_with_retries, without_password


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, without making them."""
    made: list[float] = []
    monkeypatch.setattr("headrace.io.server_calls.time.sleep", made.append)
    return made


class Flaky:
    def __init__(self, failures: int, error: Exception) -> None:
        self.failures = failures
        self.error = error
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return "done"


def call(action: Flaky, retries: Retries) -> str:
    return call_with_retries(
        action, retries, passes=lambda error: isinstance(error, OSError), what="call"
    )


def test_a_call_is_repeated_until_it_works(pauses: list[float]) -> None:
    action = Flaky(3, OSError("away"))
    assert call(action, Retries()) == "done"
    assert action.calls == 4
    assert len(pauses) == 3


def test_patience_ends_with_the_last_error(pauses: list[float]) -> None:
    action = Flaky(99, OSError("away"))
    with pytest.raises(OSError, match="away"):
        call(action, Retries(attempts=5, first_delay_s=1, longest_delay_s=3))
    assert action.calls == 5
    for pause, planned in zip(pauses, [1, 2, 3, 3], strict=True):
        assert 0.8 * planned <= pause <= 1.2 * planned


def test_an_error_that_stays_is_raised_at_once(pauses: list[float]) -> None:
    action = Flaky(1, ValueError("wrong password"))
    with pytest.raises(ValueError, match="wrong password"):
        call(action, Retries())
    assert (action.calls, pauses) == (1, [])


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:p@h:5432/db", "postgresql://me:***@h:5432/db"),
        ("postgresql://me@h/db?password=p%20q&x=1", "postgresql://me@h/db?password=***&x=1"),
        ("redis://:p@h:6379/0", "redis://:***@h:6379/0"),
        ("rediss://u:p:q@h", "rediss://u:***@h"),
        ("host=h password=p user=me", "host=h password=*** user=me"),
        ("host=h password = 'p \\' q' user=me", "host=h password = *** user=me"),
        ("postgresql://h1:1,h2:2/db", "postgresql://h1:1,h2:2/db"),
    ],
)
def test_passwords_are_not_shown(address: str, shown: str) -> None:
    assert without_password(address) == shown
