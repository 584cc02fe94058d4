"""Ctrl-C at a chosen moment: before the n-th step that the interpreter takes in a call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


def interrupted_everywhere(call: Callable[[], object]) -> Iterator[int]:
    """Make the call again and again, each time interrupted at a later step, until it gets through.

    Yields the number of the step after each call that was interrupted: look then at what the call
    has left behind. Real signals strike at a part of these steps only.
    """
    step = 0
    while True:
        step += 1
        if not _is_interrupted(call, step):
            return
        yield step


def _is_interrupted(call: Callable[[], object], step: int) -> bool:
    left = step

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False
