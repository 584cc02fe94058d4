"""What the threads of this process are doing, in the words of Flink's thread dump.

Out: the name and the stack of every thread; stacks have lines of code, never values.
"""

from __future__ import annotations

import sys
import threading
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

    from headrace.common.opaque import JsonObject


def thread_infos() -> list[JsonObject]:
    """All threads that Python knows, with their stacks: the innermost call comes last."""
    frames = sys._current_frames()
    known = {thread.ident: thread.name for thread in threading.enumerate()}
    return [
        {"threadName": name, "stringifiedThreadInfo": _told(name, ident, frames[ident])}
        for ident, name in _named(known, frames).items()
    ]


def _named(known: dict[int | None, str], frames: dict[int, FrameType]) -> dict[int, str]:
    """Names of all threads with a stack: those that libraries start in C have none of their own."""
    return {ident: known.get(ident, f"thread-{ident}") for ident in frames}


def _told(name: str, ident: int, frame: FrameType) -> str:
    return f'"{name}" Id={ident}\n' + "".join(traceback.format_stack(frame))
