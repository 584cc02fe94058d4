"""Keeps the JVM's start-up chatter out of the user's terminal.

What the JVM and the Python workers write to standard error passes through a thread here, which
drops lines that say nothing to a user; everything else, a user's own prints included, is passed on.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHATTER = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|Using Spark's default log4j profile"
    rb"|Setting default log level to"
    rb"|To adjust logging level use"
    rb"|Unable to load native-hadoop library"
    rb"|Streaming TransformWithStateInPandas Python worker"
    rb"|org\.apache\.spark\.deploy\.SparkSubmit"
)


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """While this is open, processes that are started write to a filtered standard error."""
    reader, writer = os.pipe()
    saved = os.dup(2)
    os.dup2(writer, 2)
    os.close(writer)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        threading.Thread(
            target=_pass_on, args=(reader,), name="headrace-jvm-output", daemon=True
        ).start()


def _pass_on(reader: int) -> None:
    after_chatter = False
    with os.fdopen(reader, "rb") as lines:
        for line in lines:
            chatter = _CHATTER.search(line) is not None
            blank_after = after_chatter and not line.strip()
            after_chatter = chatter or blank_after
            if not (chatter or blank_after):
                with contextlib.suppress(ValueError, OSError):  # the terminal is gone
                    sys.__stderr__.write(line.decode(errors="replace"))  # type: ignore[union-attr]
                    sys.__stderr__.flush()  # type: ignore[union-attr]
