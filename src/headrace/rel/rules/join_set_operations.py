"""INTERSECT and EXCEPT as joins of lines that are equal in all columns.

    a INTERSECT b   ──▶   distinct(a) SEMI JOIN b        a EXCEPT b   ──▶   distinct(a) ANTI JOIN b
    a EXCEPT ALL b  ──▶   each line as often as a has it more often than b: count, then repeat

In: a plan with SetOperation.  Out: one without.
"""

from __future__ import annotations

from headrace.common import data_types as t
from headrace.rel import nodes as n
from headrace.rel.building import project, ref, refs, union
from headrace.rel.functions import call
from headrace.rel.resolve.grouping import aggregate, distinct
from headrace.rel.rules.rewriting import rewritten
from headrace.runtime.table.correlate import REPEAT
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.nodes import Case, Literal


def join_set_operations(root: n.Rel) -> n.Rel:
    """The rule."""
    return rewritten(root, _joined)


def _joined(node: n.Rel) -> n.Rel:
    if not isinstance(node, n.SetOperation):
        return node
    if node.all:
        return _repeated(node)
    left = distinct(node.left)
    keys = tuple(range(len(node.schema)))
    kind = n.JoinKind.SEMI if node.kind == "intersect" else n.JoinKind.ANTI
    return n.Join(left, node.right, kind, keys, keys, None, (True,) * len(keys), schema=node.schema)


def _repeated(node: n.SetOperation) -> n.Rel:
    """Counts lines of both sides, and gives each as often as the difference or the least says."""
    width = len(node.schema)
    names = [f"c{i}" for i in range(width)] + ["in_left", "in_right"]
    one, none = (Literal(value, t.BigIntType().not_null()) for value in (1, 0))
    left = project(node.left, (*refs(node.left), one, none), names)
    right = project(node.right, (*refs(node.right), none, one), names)
    counted = aggregate(
        union((left, right)),
        tuple(range(width)),
        [AggregateCall("SUM", (width + i,), t.BigIntType().not_null()) for i in (0, 1)],
    )
    in_left, in_right = ref(counted, width), ref(counted, width + 1)
    if node.kind == "except":
        times = call("-", (in_left, in_right))
    else:
        fewer = call("<", (in_left, in_right))
        times = Case(((fewer, in_left),), in_right, in_left.type)
    repeated = n.Correlate(
        counted,
        REPEAT,
        (times,),
        n.JoinKind.INNER,
        schema=(*counted.schema, n.Field("$n", t.BigIntType().not_null())),
    )
    columns = [ref(repeated, i) for i in range(width)]
    return project(repeated, columns, [field.name for field in node.schema])
