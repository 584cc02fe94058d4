"""How headrace 0.1 named its states: the layouts of what was stored before states were declared.

In: the path of a state, or of one of its pages, from a store or a savepoint that says nothing of
it.  Out: its StateSpec.  Nothing is added here: later states are declared by their operators.
"""

from __future__ import annotations

from headrace.spi.state import CLOCK, StateSpec

_NAMED = (
    StateSpec("generator", None, "subtask"),
    StateSpec("timers/", "timers"),
    StateSpec("panes", "panes"),
    StateSpec("broadcast/", "table", "broadcast"),
    StateSpec("contents", "windows"),
    StateSpec("trigger/", "windows"),
    StateSpec("window-state/", "windows"),
    StateSpec("left-records", "paired"),
    StateSpec("right-records", "paired"),
    CLOCK,
)
_SPREAD = ("timers", "panes")


def spec_in_0_1(path: str) -> StateSpec:
    """The state that a page belongs to, by the page's path within its operator."""
    for spec in _NAMED:
        found = spec.member_of(path, spread=spec.layout in _SPREAD)
        if found is not None:
            return StateSpec(found, spec.layout, spec.scope)
    return StateSpec(path, "table")
