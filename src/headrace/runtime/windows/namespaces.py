"""Windows as parts of state keys: plain data, since state outlives classes.

TimeWindow(0, 10) -> (0, 10), CountWindow(3) -> (3,), GlobalWindow -> (), others by their serializer
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from headrace.api.window import CountWindow, GlobalWindow, TimeWindow

if TYPE_CHECKING:
    from headrace.api.window import WindowAssigner


class WindowNamespaces:
    """Turns the windows of an assigner into plain data and back."""

    def __init__(self, assigner: WindowAssigner[Any, Any]) -> None:
        self._assigner = assigner

    def encode(self, window: Any) -> Any:
        """A window as plain data; windows of a user's own class may hold more than ours do."""
        if type(window) is TimeWindow:
            return (window.start, window.end)
        if type(window) is CountWindow:
            return (window.id,)
        if type(window) is GlobalWindow:
            return ()
        buffer = io.BytesIO()
        self._assigner.get_window_serializer().serialize(window, buffer)
        return buffer.getvalue()

    def decode(self, namespace: Any) -> Any:
        """The window behind `encode`."""
        if isinstance(namespace, bytes):
            return self._assigner.get_window_serializer().deserialize(io.BytesIO(namespace))
        if len(namespace) == 2:
            return TimeWindow(*namespace)
        return CountWindow(*namespace) if namespace else GlobalWindow.get()
