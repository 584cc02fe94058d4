"""Which strategy runs the windows of a step: the first one that fits.

Next: windows/aligned.py, windows/sessions.py, windows/general.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import StateError
from headrace.runtime.windows.aligned import AlignedWindows
from headrace.runtime.windows.general import GeneralWindows
from headrace.runtime.windows.sessions import SessionWindows

if TYPE_CHECKING:
    from headrace.runtime.windows.kit import WindowKit
    from headrace.runtime.windows.strategy import WindowStrategy

# The fastest first; the last one fits always.
STRATEGIES: tuple[type[WindowStrategy], ...] = (AlignedWindows, SessionWindows, GeneralWindows)


def choose_strategy(
    kit: WindowKit, strategies: tuple[type[WindowStrategy], ...] = STRATEGIES
) -> WindowStrategy:
    """The first of the strategies that can run these windows."""
    return next(strategy for strategy in strategies if strategy.fits(kit))(kit)


def check_stored(own: WindowStrategy) -> None:
    """Stored windows of another strategy would be lost without a word.

    Raises:
        StateError: the store holds some.
    """
    kit = own.kit
    for other in STRATEGIES:
        if other is not type(own) and other.holds(kit):
            raise StateError(
                f"the stored windows of step {kit.runtime.name!r} were kept {other.kept}, which "
                "its assigner, trigger, evictor or function, or headrace.windows.share-panes, does "
                "not allow to continue with",
                where=kit.runtime.where,
                fix="change these back, or give the step another uid to start with empty windows",
            )
