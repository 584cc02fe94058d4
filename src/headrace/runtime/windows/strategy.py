"""The seam between the window operator and the ways to run windows.

    records ─▶ process ────────────┐
    watermark ─▶ advance_watermark ┼─▶ kit.emit, kit.reject
    timer ─▶ on_timer ─────────────┘
    the batch ends ─▶ flush            another process went on ─▶ reload

Strategies are equals: windows/aligned.py keeps panes that all keys share, windows/sessions.py the
live sessions of a key, windows/general.py one window after the other, for any trigger, evictor
and assigner.  windows/strategies.py chooses; tests/unit/runtime/test_window_strategies.py holds
every one of them to the same cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.api.time_domain import TimeDomain
    from headrace.data.records import Records
    from headrace.runtime.key_codes import Codes
    from headrace.runtime.windows.kit import WindowKit
    from headrace.spi.state import StateSpec


class WindowStrategy:
    """One way to keep and evaluate the windows of one step in one subtask."""

    # how windows are kept, to end a sentence with
    kept: ClassVar[str]
    # what it stores beside what functions ask for
    states: ClassVar[tuple[StateSpec, ...]]

    def __init__(self, kit: WindowKit) -> None:
        self.kit = kit

    @classmethod
    def fits(cls, kit: WindowKit) -> bool:
        """Whether this strategy gives the same results as the general one."""
        raise NotImplementedError

    @classmethod
    def holds(cls, kit: WindowKit) -> bool:
        """Whether the store holds windows that this strategy has kept for the step."""
        raise NotImplementedError

    def process(self, keys: list[Any], values: Iterable[Any], times: Iterable[int]) -> None:
        """Put records into their windows; a record without a timestamp has MIN_TIMESTAMP."""
        raise NotImplementedError

    def process_columns(self, codes: Callable[[], Codes], records: Records) -> bool:
        """The same for records that are an Arrow batch, as columns; False if that cannot be.

        Args:
            codes: gives the keys of the records.
            records: all of them.
        """
        return False

    def advance_watermark(self, watermark: int) -> None:
        """Event time has moved: fire and drop what it has passed, in the order of time."""

    def on_timer(self, domain: TimeDomain, time: int, key: Any, namespace: Any) -> None:
        """A timer that this strategy has set in `kit.states.timers` is due."""

    def reload(self) -> None:
        """Start from what the store holds."""

    def flush(self) -> None:
        """The batch ends: write what must survive; the operator writes `kit.states`."""

    def count_entries(self) -> int:
        """How many entries are kept beside `kit.states`: tests look for leaks."""
        return 0

    def count_timers(self) -> int:
        """How many timers wait beside those of `kit.states`."""
        return 0
