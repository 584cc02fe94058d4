"""An order below an aggregate that does not look at it is dropped.

    GroupAggregate(MAX(a))(Sort(b)(Scan))   ──▶   GroupAggregate(MAX(a))(Scan)

A stream that does not end could not be sorted.  In: a plan.  Out: one with fewer sorts.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.rel import nodes as n
from headrace.rel.rules.rewriting import rewritten

# The same for lines in any order.
_UNORDERED = {
    "COUNT", "SUM", "$SUM0", "AVG", "MIN", "MAX", "STDDEV_POP", "STDDEV_SAMP", "VAR_POP",
    "VAR_SAMP", "COLLECT", "SINGLE_VALUE",
}  # fmt: skip


def drop_sorts(root: n.Rel) -> n.Rel:
    """The rule."""
    return rewritten(root, _drop)


def _drop(node: n.Rel) -> n.Rel:
    if isinstance(node, n.GroupAggregate) and all(c.function in _UNORDERED for c in node.calls):
        return replace(node, input=_unsorted(node.input))
    return node


def _unsorted(node: n.Rel) -> n.Rel:
    match node:
        case n.Calc():
            return replace(node, input=_unsorted(node.input))
        case n.Sort(fetch=None, offset=0):
            return _unsorted(node.input)
        case _:
            return node
