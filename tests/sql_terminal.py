"""``headrace sql`` at a pseudo-terminal, for tests that type and look."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\r")


class Terminal:
    """A client at a pseudo-terminal.

    Args:
        home: of headrace.
        arguments: of ``headrace sql``.
        patience_s: how long it may take until a text is shown.
    """

    def __init__(self, home: Path, *arguments: str, patience_s: float = PATIENCE_S) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headrace.cli", "sql", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={
                **os.environ,
                "HEADRACE_HOME": str(home),
                "TERM": "xterm",
                "PROMPT_TOOLKIT_NO_CPR": "1",
                "LINES": "24",
                "COLUMNS": "100",
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            preexec_fn=lambda: _take_terminal(slave),
        )
        os.close(slave)
        self._seen = ""
        self._patience_s = patience_s

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str) -> str:
        """What was shown up to a text and with it; what is asked for next comes behind it."""
        deadline = time.monotonic() + self._patience_s
        while text not in self._seen:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._master], [], [], max(0, left))
            assert ready, f"{text!r} was not shown, but:\n{self._seen[-2000:]}"
            assert left > 0, f"{text!r} was not shown in time, but:\n{self._seen[-2000:]}"
            self._seen += _CODES.sub("", os.read(self._master, 65536).decode(errors="replace"))
        shown, _, self._seen = self._seen.partition(text)
        return shown + text

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)


def _take_terminal(slave: int) -> None:
    """Make it the terminal of the new session, so that Ctrl-C becomes a signal."""
    import fcntl
    import termios

    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
