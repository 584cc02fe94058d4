"""The live windows of one key under a merging assigner, and where the state of each is kept.

Merged windows keep their contents under the name of one of the old windows, so that merging moves
only the others' contents:

    windows          state kept under
    [0,5)            [0,5)
    [8,13)           [8,13)
    + [4,9)  ->  [0,13)  kept under [0,5); the contents of [8,13) move there
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.window import MergingWindowAssigner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    # result window, merged windows, state window of the result, state windows to move from
    OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]


class _Collector(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.merges: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.merges.append((merge_result, list(to_be_merged)))


class MergingSet:
    """Windows of one key; `state_of` maps each to the window its state is kept under."""

    def __init__(self, assigner: Any, state_of: dict[Any, Any]) -> None:
        self._assigner = assigner
        self.state_of = state_of

    def add(self, window: Any, on_merge: OnMerge) -> Any:
        """Add a window; the window it is part of afterwards."""
        collector = _Collector()
        self._assigner.merge_windows([*self.state_of, window], collector)
        result = window
        absorbed = False
        for merged_window, parts in collector.merges:
            known = [part for part in parts if part in self.state_of]
            if window in parts:
                result, absorbed = merged_window, bool(known)
            if known:
                self._merge(merged_window, known, on_merge)
        if not absorbed:
            self.state_of.setdefault(result, result)
        return result

    def _merge(self, result: Any, parts: list[Any], on_merge: OnMerge) -> None:
        states = [self.state_of.pop(part) for part in parts]
        keep, *move = states
        self.state_of[result] = keep
        if parts != [result]:
            on_merge(result, parts, keep, move)

    def retire(self, window: Any) -> None:
        """The window is gone."""
        self.state_of.pop(window, None)
