"""Tables that give upserts by key: what a line was before is looked up.

    Scan(upserts)                ──▶   ChangelogNormalize(Scan(upserts))
    Calc(Scan(upserts), where)   ──▶   Calc(ChangelogNormalize(Scan(upserts), where))
    Calc(k, a)(Scan(k, a, b))    ──▶   Calc(ChangelogNormalize(Calc(k, a)(Scan(k, a, b))))

The condition goes along, since a line that meets it no longer has to be deleted.  Columns that
nobody reads are not kept, so that a change of them alone is none.

In: a plan.  Out: one in which every update says what it replaces, if anybody wants to know.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.common.changes import Changes
from headrace.errors import PlanError
from headrace.rel import nodes as n
from headrace.rel.building import project, ref, used_columns
from headrace.rel.conditions import moved
from headrace.rel.rules.rewriting import rewritten


def normalize_upserts(root: n.Rel) -> n.Rel:
    """The rule."""
    return rewritten(root, _normalized)


def normalize_repeated(root: n.Rel) -> n.Rel:
    """The same for tables whose changes may come twice: by key it shows what is new."""
    return rewritten(root, _without_repetitions)


def _without_repetitions(node: n.Rel) -> n.Rel:
    if isinstance(node, n.Calc) and isinstance(node.input, n.ChangelogNormalize):
        return _narrowed(_with_condition(node, node.input))
    if not isinstance(node, n.Scan) or Changes.UPDATE_BEFORE not in node.table.changes:
        return node
    if not node.table.primary_key:
        raise PlanError(
            f"the changes of table {node.table.name} may come twice, and it has no key to tell",
            fix="declare PRIMARY KEY (...) NOT ENFORCED, or set "
            "table.exec.source.cdc-events-duplicate to false",
        )
    latest = n.DropUpdateBefore(node, schema=node.schema)
    return n.ChangelogNormalize(latest, node.table.primary_key, schema=node.schema)


def _normalized(node: n.Rel) -> n.Rel:
    if isinstance(node, n.Calc) and isinstance(node.input, n.ChangelogNormalize):
        return _narrowed(_with_condition(node, node.input))
    if not isinstance(node, n.Scan):
        return node
    changes = node.table.changes
    if Changes.UPDATE_AFTER in changes and Changes.UPDATE_BEFORE not in changes:
        return n.ChangelogNormalize(node, node.table.primary_key, schema=node.schema)
    return node


def _with_condition(node: n.Calc, normalize: n.ChangelogNormalize) -> n.Calc:
    if node.condition is None or normalize.condition is not None:
        return node
    known = replace(normalize, condition=node.condition)
    return replace(node, input=known, condition=None)


def _narrowed(node: n.Calc) -> n.Rel:
    """Over the key and the columns that are read."""
    normalize = node.input
    assert isinstance(normalize, n.ChangelogNormalize)
    below = normalize.input
    read = used_columns([*node.projections, node.condition, normalize.condition])
    kept = sorted(read | set(normalize.keys))
    if len(kept) == len(below.schema):
        return node
    place = {column: number for number, column in enumerate(kept)}.__getitem__
    names = [below.schema[column].name for column in kept]
    narrow = project(below, [ref(below, column) for column in kept], names)
    condition = normalize.condition
    known = replace(
        normalize,
        input=narrow,
        keys=tuple(map(place, normalize.keys)),
        condition=None if condition is None else moved(condition, place),
        schema=tuple(normalize.schema[column] for column in kept),
    )
    return replace(
        node,
        input=known,
        projections=tuple(moved(each, place) for each in node.projections),
        condition=None if node.condition is None else moved(node.condition, place),
    )
