"""Records that came after the clock had passed them, on their way to a side output.

In: late records, one at a time.  Out: one list of them for each list of records that came in; an
exchange or a sink then encodes and writes them together.  Without a tag they are only counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.data.records import Records

if TYPE_CHECKING:
    from headrace.runtime.operators.base import OperatorRuntime


class LateRecords:
    """The late records of one input.

    Args:
        runtime: of the operator.
        tag: the side output that they leave through, if the program wants them.
    """

    __slots__ = ("_runtime", "_tag", "_times", "_values")

    def __init__(self, runtime: OperatorRuntime, tag: str | None) -> None:
        self._runtime = runtime
        self._tag = tag
        self._values: list[Any] = []
        self._times: list[int] = []

    def add(self, value: Any, time: int) -> None:
        """One more, behind those that were added before."""
        if self._tag is None:
            self._runtime.metrics.late_records_dropped += 1
        else:
            self._values.append(value)
            self._times.append(time)

    def flush(self) -> None:
        """Emit what was added, in order."""
        if self._values:
            assert self._tag is not None
            late = Records(self._values, self._times)
            self._values, self._times = [], []
            self._runtime.output.emit_side(self._tag, late)
