"""Decides which changes every node of a plan gives: three passes, as Flink's planner makes them.

    1. upwards    which kinds of change a node gives (I, U, D), and whether its consumer takes them
    2. downwards  who needs the old line (-U) in front of each new one (+U)
    3. downwards  who needs every change within a batch, and not only what is left behind it

Pass 3 is ours.  A join pairs a change with all lines of its other side: an aggregate that told it
every step of the way would make it as many pairs for each line that comes.
In: a plan whose rules have run.  Out: `Changes` for each node.  A sink with a primary key that
takes upserts asks for new lines only, and if some node below cannot do that, for both.
Next: steps.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.changes import Changes
from headrace.errors import PlanError
from headrace.rel import nodes as n
from headrace.rel.properties import is_key, keys_of
from headrace.scalars.nodes import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

INSERT, UPDATE, DELETE = Changes.INSERT, Changes.UPDATE_AFTER, Changes.DELETE
_UPDATING = UPDATE | DELETE
# in pass 1 UPDATE_AFTER stands for updates as such
_ALL = INSERT | UPDATE | DELETE
# what they give at the end of a batch follows from what they were given at its end
_PASS_ON = (n.Calc, n.Union, n.Expand, n.GroupAggregate, n.OverAggregate, n.Rank)


class ChangelogPlan:
    """The changes of each node of a plan.

    Args:
        roots: the ends of the plan: sinks, or what is handed on as a stream.
        bounded: whether all of its input ends: then only the last state of a table is given.
    """

    def __init__(self, roots: Iterable[n.Rel], *, bounded: bool = False) -> None:
        self._kinds: dict[int, Changes] = {}
        self._before: dict[int, bool] = {}
        self._each: dict[int, bool] = {}
        self._kept: list[n.Rel] = []  # ids are only theirs while they live
        self._bounded = bounded
        for root in roots:
            self._find_kinds(root)
            self._require(root)
            self._tell(root, each=True)

    def of(self, node: n.Rel) -> Changes:
        """What a node gives."""
        kinds = self._kinds[id(node)]
        if UPDATE in kinds and self._before.get(id(node), True):
            kinds |= Changes.UPDATE_BEFORE
        return kinds

    def tells_each(self, node: n.Rel) -> bool:
        """Whether somebody sees every change of a batch, and not only what is left behind it."""
        return self._each[id(node)]

    # --- pass 1 --------------------------------------------------------------------------------

    def _find_kinds(self, node: n.Rel) -> Changes:
        known = self._kinds.get(id(node))
        if known is not None:
            return known
        given = [self._find_kinds(part) for part in node.inputs]
        self._kept.append(node)
        if self._bounded:
            # operators of bounded queries give the last state of their table, once
            found = INSERT
        else:
            _check_input(node, given)
            found = _gives(node, given)
        self._kinds[id(node)] = found
        return found

    # --- pass 2 --------------------------------------------------------------------------------

    def _require(self, root: n.Rel) -> None:
        if isinstance(root, n.TableInsert):
            self._require_for_sink(root)
            return
        self._accept(self._try(root, before=True))

    def _require_for_sink(self, sink: n.TableInsert) -> None:
        given = self._kinds[id(sink.input)]
        accepted = sink.table.accepts(given | _before_if(UPDATE in given))
        _check_sink(sink, given, accepted)
        wants_before = Changes.UPDATE_BEFORE in accepted or sink.materialize
        tries = (True,) if wants_before else (False, True)
        for before in tries:
            found = self._try(sink.input, before=before)
            if found is not None:
                self._accept({**found, id(sink): before})
                return
        raise AssertionError("both kinds of update can always be given")

    def _accept(self, found: dict[int, bool] | None) -> None:
        assert found is not None
        for node, before in found.items():
            self._before[node] = self._before.get(node, False) or before

    def _try(self, node: n.Rel, *, before: bool) -> dict[int, bool] | None:
        """What each node below would give; None if it cannot do without -U."""
        if UPDATE not in self._kinds[id(node)]:
            before = False
        wanted = self._wanted(node, before=before)
        if wanted is None:
            return None
        found = {id(node): before}
        for part, with_before in zip(node.inputs, wanted, strict=True):
            below = self._try(part, before=with_before)
            if below is None:
                return None
            for key, value in below.items():
                found[key] = found.get(key, False) or value
        return found

    def _wanted(self, node: n.Rel, *, before: bool) -> list[bool] | None:
        """For each input whether -U is needed to give `before`; None if there is no way."""
        match node:
            case n.Calc():
                return self._wanted_by_calc(node, before=before)
            case n.Correlate() if node.condition is not None and not before:
                return None if UPDATE in self._kinds[id(node.input)] else [False]
            case n.TimeIntervalJoin() | n.WindowJoin():
                return [True, True]
            case n.TemporalJoin():
                return [before, False]
            case n.Join():
                return self._wanted_by_join(node, before=before)
            case n.ChangelogNormalize():
                return [False]
            case n.DropUpdateBefore():
                return [True]
            case (
                n.WatermarkAssigner()
                | n.Union()
                | n.Correlate()
                | n.LookupJoin()
                | n.WindowTvf()
                | n.EnforceConstraints()
                | n.TableInsert()
            ):
                return [before] * len(node.inputs)
            case _:
                return [True] * len(node.inputs)

    def _wanted_by_calc(self, node: n.Calc, *, before: bool) -> list[bool] | None:
        updates = UPDATE in self._kinds[id(node.input)]
        if before or not updates or node.condition is None:
            return [before]
        # a line that no longer fulfils the condition would stay behind without its -U
        columns = columns_of(node.condition)
        if any(columns <= key for key in keys_of(node.input)):
            return [False]
        return None

    def _wanted_by_join(self, node: n.Join, *, before: bool) -> list[bool] | None:
        if before:
            return [True, True]
        sides = ((node.left, node.left_keys), (node.right, node.right_keys))
        for side, keys in sides:
            if UPDATE in self._kinds[id(side)] and not _key_has(side, keys):
                return None
        return [False, False]

    # --- pass 3 --------------------------------------------------------------------------------

    def _tell(self, node: n.Rel, *, each: bool) -> None:
        known = self._each.get(id(node))
        if known is not None and (known or not each):
            return
        self._each[id(node)] = each
        for part in node.inputs:
            self._tell(part, each=_wants_each(node, each=each))


def _wants_each(node: n.Rel, *, each: bool) -> bool:
    """Whether a node needs every change of its input to give what its consumers need."""
    if type(node) is n.Join:  # those of times and windows see no changes, or every version
        return False
    return each or not isinstance(node, _PASS_ON)


def _key_has(side: n.Rel, join_keys: tuple[int, ...]) -> bool:
    """Whether a key of the side's lines contains the join's key: updates then stay in place."""
    return any(frozenset(join_keys) <= key for key in keys_of(side))


def _before_if(condition: bool) -> Changes:  # noqa: FBT001 - reads as it is meant
    return Changes.UPDATE_BEFORE if condition else Changes(0)


# --- what nodes give -----------------------------------------------------------------------------


def _gives(node: n.Rel, given: list[Changes]) -> Changes:
    rule = _GIVES.get(type(node))
    if rule is not None:
        return rule(node, given)
    return _union(given) if given else INSERT


def _union(given: list[Changes]) -> Changes:
    found = Changes(0)
    for kinds in given:
        found |= kinds
    return found or INSERT


def _scan(node: n.Scan, given: list[Changes]) -> Changes:
    return node.table.changes & ~Changes.UPDATE_BEFORE


def _aggregate(node: n.GroupAggregate, given: list[Changes]) -> Changes:
    found = INSERT | UPDATE
    # a global aggregate always has its one line
    return found | DELETE if given[0] & _UPDATING else found


def _inserts(node: n.Rel, given: list[Changes]) -> Changes:
    return INSERT


def _all(node: n.Rel, given: list[Changes]) -> Changes:
    return _ALL


def _first(node: n.Rel, given: list[Changes]) -> Changes:
    return given[0]


def _deduplicate(node: n.Deduplicate, given: list[Changes]) -> Changes:
    if node.window is not None:
        return INSERT
    if given[0] == INSERT and not node.keep_last:  # by event time it waits for the watermark
        return INSERT
    return INSERT | UPDATE if given[0] == INSERT else _ALL


def _rank(node: n.Rank, given: list[Changes]) -> Changes:
    return INSERT if node.window is not None else _ALL


def _over(node: n.OverAggregate, given: list[Changes]) -> Changes:
    by_time = node.order and node.input.schema[node.order[0].column].time is not None
    return INSERT if by_time else _ALL


def _join(node: n.Join, given: list[Changes]) -> Changes:
    if node.kind in (n.JoinKind.INNER, n.JoinKind.SEMI):
        return _union(given)
    return _ALL


def _sort(node: n.Sort, given: list[Changes]) -> Changes:
    if not node.order:  # LIMIT
        return INSERT if given[0] == INSERT else _ALL
    return INSERT if node.fetch is None and not node.offset else _ALL


_GIVES: dict[type[n.Rel], Callable[..., Changes]] = {
    n.Scan: _scan,
    n.GroupAggregate: _aggregate,
    n.TableAggregate: _all,
    n.WindowAggregate: _inserts,
    n.OverAggregate: _over,
    n.RowMatch: _inserts,
    n.Rank: _rank,
    n.Deduplicate: _deduplicate,
    n.Join: _join,
    n.TimeIntervalJoin: _inserts,
    n.WindowJoin: _inserts,
    n.TemporalJoin: _first,
    n.LookupJoin: _first,
    n.SetOperation: _all,
    n.Sort: _sort,
    n.ChangelogNormalize: _all,
}


# --- what nodes take -----------------------------------------------------------------------------

_ONLY_INSERTS: dict[type[n.Rel], str] = {
    n.TimeIntervalJoin: "an interval join",
    n.WindowJoin: "a window join",
    n.RowMatch: "MATCH_RECOGNIZE",
}


def _check_input(node: n.Rel, given: list[Changes]) -> None:
    what = _ONLY_INSERTS.get(type(node))
    if isinstance(node, n.OverAggregate) and _over(node, given) == INSERT:
        what = "an OVER aggregate by time"
    if isinstance(node, n.Rank | n.Deduplicate) and node.window is not None:
        what = "a Top-N or deduplication of windows"
    if isinstance(node, n.Sort) and _sort(node, given) == INSERT and node.order:
        what = "a sort by time"
    if what is not None and any(kinds != INSERT for kinds in given):
        culprit = next(
            part for part, kinds in zip(node.inputs, given, strict=True) if kinds != INSERT
        )
        raise PlanError(
            f"{what} takes lines that are only inserted, but {_title(culprit)} below it also "
            f"changes lines it has given ({_union(given)})",
            fix="aggregate, join or deduplicate by windows instead, whose results are final",
        )


def _check_sink(sink: n.TableInsert, given: Changes, accepted: Changes) -> None:
    missing = given & ~(accepted | Changes.UPDATE_BEFORE)
    if not missing:
        return
    culprit = _source_of_updates(sink.input)
    raise PlanError(
        f"table {sink.table.name} takes {_words(accepted)} only, but the query also gives "
        f"{_words(missing)}: {_title(culprit)} changes lines that it has given",
        fix="write into a table that takes updates (print, upsert-kafka, jdbc with a primary key), "
        "use windows, whose results are final, or run in batch mode",
    )


def _words(changes: Changes) -> str:
    """``new lines (+I)``, and so on."""
    named = (
        (Changes.INSERT, "new lines (+I)"),
        (Changes.UPDATE_BEFORE, "what updates replace (-U)"),
        (Changes.UPDATE_AFTER, "updates (+U)"),
        (Changes.DELETE, "deletions (-D)"),
    )
    return ", ".join(words for kind, words in named if kind in changes)


def _source_of_updates(node: n.Rel) -> n.Rel:
    """The lowest node that makes updates of inserts."""
    for part in node.inputs:
        found = _source_of_updates(part)
        if not isinstance(found, n.Scan) or not found.table.changes.only_inserts:
            return found
    makes = type(node) in _GIVES and not isinstance(node, n.Scan)
    return node if makes or not node.inputs else _source_of_updates(node.inputs[0])


def _title(node: n.Rel) -> str:
    if isinstance(node, n.Scan):
        return f"table {node.table.name}"
    return type(node).__name__


def upsert_key_fits(sink: n.TableInsert) -> bool:
    """Whether the lines of one key of the sink are always changes of one line of the query."""
    return is_key(sink.input, sink.table.primary_key)
