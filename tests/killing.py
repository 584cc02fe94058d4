"""A program that is killed again and again, at moments that a dice chooses."""

from __future__ import annotations

import random
import subprocess
import time
from typing import TYPE_CHECKING

from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable


def kill_again_and_again(command: list[str], progress: Callable[[], int], seed: int) -> None:
    """Kill a program four times, each time after some progress; then let it come to its end.

    Args:
        command: starts it.
        progress: a number that grows while it works.
        seed: of the dice.
    """
    dice = random.Random(seed)
    killed = 0
    for _ in range(4):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        before = progress()
        wait_until(
            lambda process=process, before=before: (  # type: ignore[misc]
                process.poll() is not None or progress() >= before + 3
            ),
            "the program makes no progress",
        )
        time.sleep(dice.random() * 0.1)
        killed += process.poll() is None
        process.kill()
        process.communicate()
    assert killed  # on a quick machine it may be done before its fourth death
    run_to_end(command)


def run_to_end(command: list[str]) -> None:
    """Run a program that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
