"""Rewrites of plans: fold_values, then RULES in their order.  Each file shows before and after.

In: a plan as it was resolved.  Out: one with the operators that run.  Next: rel/planner.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.rel.rules.drop_sorts import drop_sorts
from headrace.rel.rules.find_top_n import find_top_n
from headrace.rel.rules.join_set_operations import join_set_operations
from headrace.rel.rules.normalize_upserts import normalize_upserts
from headrace.rel.rules.prune_columns import prune_columns
from headrace.rel.rules.push_filters import push_filters

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.rel.nodes import Rel

# those that look at plans alone; fold_values evaluates, and so needs the session (rel/planner.py)
RULES: tuple[Callable[[Rel], Rel], ...] = (
    drop_sorts,
    find_top_n,
    join_set_operations,
    push_filters,
    prune_columns,
    normalize_upserts,
)
