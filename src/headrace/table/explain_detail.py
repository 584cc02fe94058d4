"""What explain may tell beside the plan.  Next: rel/planner.py"""

from __future__ import annotations

__all__ = ["ExplainDetail"]


class ExplainDetail:
    """Details of a plan."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3
