"""What a program says about a window: assigner, trigger, evictor, lateness and function.

Made by datastream/windowed_stream.py, run by runtime/operators/window.py.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from headrace.api.window import MergingWindowAssigner
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace.api.window import Evictor, Trigger, WindowAssigner
    from headrace.common.opaque import UserFunction


class WindowDescription:
    """All settings of one window step; picklable."""

    def __init__(self, assigner: WindowAssigner[Any, Any]) -> None:
        self.assigner = assigner
        self.trigger: Trigger[Any, Any] = assigner.get_default_trigger(None)
        self.evictor: Evictor[Any, Any] | None = None
        self.allowed_lateness_ms = 0
        self.late_tag: str | None = None
        self.over_all = False
        # whether overlapping windows may share what they have in common
        self.share_panes = True
        # at most one of reduce and aggregate; without either all records are kept
        self.reduce: UserFunction = None
        self.aggregate: UserFunction = None
        self.function: UserFunction = None

    @property
    def merging(self) -> bool:
        """Whether windows of this assigner grow together."""
        return isinstance(self.assigner, MergingWindowAssigner)

    @property
    def overlapping(self) -> bool:
        """Whether a record may belong to several windows of a grid."""
        grid = self.assigner.window_shape().grid
        return grid is not None and grid.overlapping

    def set_trigger(self, trigger: Trigger[Any, Any]) -> None:
        """Use another trigger; sessions need one that can merge."""
        if self.merging and not trigger.can_merge():
            raise InvalidArgumentError(
                f"{trigger!r} cannot merge, so it does not work with {self.assigner!r}",
                fix="use a trigger whose can_merge() is true and that implements on_merge",
            )
        self.trigger = trigger

    def reducing(self, reduce: UserFunction, function: UserFunction) -> WindowDescription:
        """This window with a reduce function."""
        described = copy.copy(self)
        described.reduce, described.function = reduce, function
        return described

    def aggregating(self, aggregate: UserFunction, function: UserFunction) -> WindowDescription:
        """This window with an aggregate function."""
        described = copy.copy(self)
        described.aggregate, described.function = aggregate, function
        return described

    def buffering(self, function: UserFunction) -> WindowDescription:
        """This window with a function over all its records."""
        described = copy.copy(self)
        described.function = function
        return described
