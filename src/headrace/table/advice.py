"""Advice on a plan, as Flink gives it: EXPLAIN PLAN_ADVICE.  Next: rel/explain.py"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.table.table_config import TableConfig

_TITLE = "== Optimized Physical Plan =="
_MINI_BATCH = (
    "advice[1]: [ADVICE] You might want to enable local-global two-phase optimization by "
    "configuring ('table.exec.mini-batch.enabled' to 'true', "
    "'table.exec.mini-batch.allow-latency' to a positive long value, "
    "'table.exec.mini-batch.size' to a positive long value)."
)


def with_advice(text: str, config: TableConfig) -> str:
    """The text of EXPLAIN with what could be done better."""
    batches = config.get("table.exec.mini-batch.enabled", "false").lower() == "true"
    before, _, behind = text.partition(_TITLE)
    advice = _MINI_BATCH if re.search(r"^(\s*\+- )?GroupAggregate\(", behind, re.MULTILINE) else ""
    shown = advice if advice and not batches else "No available advice..."
    return f"{before}== Optimized Physical Plan With Advice =={behind.rstrip()}\n\n{shown}"
