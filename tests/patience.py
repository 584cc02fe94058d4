"""How long tests wait for what must happen: one limit for all of them, and one way to wait.

In: HEADRACE_TEST_PATIENCE, by how much a machine is slower than others (2 for twice as long).
Out: `wait_until`; `PATIENCE_S` for calls that take a limit of their own; `TEST_TIMEOUT_S`, after
which pytest ends a test that still runs (tests/conftest.py).

A test that passes does not take longer because the limit is generous, so there is no reason for
a short one.  A test that asserts that something does NOT happen has no use for a clock: it waits
for an event that can only come later.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

SLOWER = float(os.environ.get("HEADRACE_TEST_PATIENCE", "1"))
PATIENCE_S = 240.0 * SLOWER
# pytest's way to end a test takes its whole process along, and all that the process had still to
# run: what waits inside of the test has to lose its patience first, and to say for what.
TEST_TIMEOUT_S = 3 * PATIENCE_S
_LOOKS_EVERY_S = 0.01


def wait_until(
    condition: Callable[[], _T],
    what: str | Callable[[], object] = "it did not happen",
    *,
    every_s: float = _LOOKS_EVERY_S,
) -> _T:
    """Waits until the condition holds, and returns what it gave.

    Args:
        condition: is asked again and again; what it raises ends the test.
        what: is told when patience ends: what did not happen; a function is asked then.
        every_s: how often it is asked; more seldom if the question costs something.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > deadline:
            told = what() if callable(what) else what
            raise AssertionError(f"after {PATIENCE_S:.0f} s: {told}")
        time.sleep(every_s)
    return found
