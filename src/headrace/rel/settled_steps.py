"""What options say about all steps of a plan: how many subtasks, and under which names.

    table.exec.resource.default-parallelism   of steps that have none of their own
    table.exec.uid.generation, .format        `<id>_<transformation>` ──▶ "3_group-aggregate"

In: the steps that a plan has added to its environment.  Out: the same, settled.
Next: graph/nodes.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.graph.nodes import Step
    from headrace.rel.steps import PlanSettings


def settle(steps: Sequence[Step], settings: PlanSettings, *, compiled: bool) -> None:
    """Give steps what the options say.

    Args:
        steps: those of one plan, in the order in which they were made.
        settings: the options.
        compiled: whether the plan was read from a file: its steps are counted from 1, so that
            they are called the same in every program.
    """
    for number, step in enumerate(steps, start=1):
        if settings.parallelism is not None and step.parallelism is None:
            step.parallelism = settings.parallelism
        if step.uid is None and _named(settings, compiled=compiled):
            step.uid = _uid(settings.uid_format, number if compiled else step.id, step)


def _named(settings: PlanSettings, *, compiled: bool) -> bool:
    return settings.uids == "ALWAYS" or (compiled and settings.uids == "PLAN_ONLY")


def _uid(pattern: str, number: int, step: Step) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", step.name.split(":")[0]).lower().replace(" ", "-")
    parts = {
        "<id>": str(number),
        "<type>": f"stream-exec-{name}",
        "<version>": "1",
        "<transformation>": name,
    }
    for placeholder, text in parts.items():
        pattern = pattern.replace(placeholder, text)
    return pattern
