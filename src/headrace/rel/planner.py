"""Plans: rules, changes, steps, and what EXPLAIN shows of them.

In: nodes as they were resolved.  Out: steps in the graph of an environment.
Next: rules/, changelog.py, steps.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.common.changes import Changes
from headrace.errors import ConfigurationError, PlanError
from headrace.rel import nodes as n
from headrace.rel.changelog import ChangelogPlan, upsert_key_fits
from headrace.rel.rules import RULES
from headrace.rel.rules.fold_values import fold_values
from headrace.rel.rules.narrow_scans import narrow_scans
from headrace.rel.rules.normalize_upserts import normalize_repeated
from headrace.rel.rules.rewriting import rewritten
from headrace.rel.rules.share_nodes import SharedNodes
from headrace.rel.settled_steps import settle
from headrace.rel.steps import PlanSettings, StepBuilder
from headrace.scalars.types import MAX_LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.rel.tables import TableTarget
    from headrace.scalars.session import ScalarSession

__all__ = ["PlanSettings", "TablePlanner"]


class TablePlanner:
    """Plans queries into one environment.

    Args:
        env: whose graph gets the steps.
        settings: of the configuration.
        compiled: whether its plans come from COMPILE PLAN.
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        settings: PlanSettings,
        *,
        compiled: bool = False,
    ) -> None:
        self._env = env
        self._settings = settings
        self._compiled = compiled

    def add_inserts(self, inserts: Sequence[tuple[n.Rel, TableTarget]]) -> None:
        """INSERT INTO, several at once: what their queries have in common runs once."""
        nodes = SharedNodes()
        roots = narrow_scans([self._sink(rel, target, nodes) for rel, target in inserts])
        changes = ChangelogPlan(roots, bounded=self._settings.bounded)
        builder = StepBuilder(self._env, self._settings, changes)
        first = len(self._env._graph.steps)
        for root in roots:
            builder.stream(root)
        settle(self._env._graph.steps[first:], self._settings, compiled=self._compiled)

    def to_stream(self, rel: n.Rel) -> tuple[DataStream, Changes, n.Schema]:
        """The lines of a query, the changes among them, and their columns."""
        [root] = narrow_scans([SharedNodes().shared(self._optimised(rel))])
        changes = ChangelogPlan([root], bounded=self._settings.bounded)
        builder = StepBuilder(self._env, self._settings, changes)
        first = len(self._env._graph.steps)
        stream = builder.stream(root)
        settle(self._env._graph.steps[first:], self._settings, compiled=self._compiled)
        return stream, changes.of(root), root.schema

    def changes_of(self, rel: n.Rel) -> Changes:
        """Which changes a query gives, if all are asked for."""
        root = self._optimised(rel)
        return ChangelogPlan([root], bounded=self._settings.bounded).of(root)

    def compiled(self, rel: n.Rel) -> n.Rel:
        """A plan after all rules, as COMPILE PLAN keeps it."""
        return self._optimised(rel)

    def _optimised(self, rel: n.Rel) -> n.Rel:
        if self._compiled:
            return rel
        found = optimised(rel, self._settings.session)
        if self._settings.bounded and self._settings.sort_limit is not None:
            found = rewritten(found, self._limited)
        return normalize_repeated(found) if self._settings.repeated_changes else found

    def _limited(self, node: n.Rel) -> n.Rel:
        """A sort has an end, if the options give it one."""
        if isinstance(node, n.Sort) and node.order and node.fetch is None and not node.offset:
            return replace(node, fetch=self._settings.sort_limit)
        return node

    def _sink(self, rel: n.Rel, target: TableTarget, nodes: SharedNodes) -> n.Rel:
        lines = enforced(self._optimised(rel), target, self._settings)
        sink = n.TableInsert(nodes.shared(lines), target, schema=())
        return replace(sink, materialize=self._materializes(sink))

    def _materializes(self, sink: n.TableInsert) -> bool:
        """Whether lines of one key of the sink may come from several lines of the query."""
        if (
            self._settings.bounded
            or not sink.table.primary_key
            or self._settings.materialize == "NONE"
        ):
            return False
        if self._settings.materialize == "FORCE":
            return True
        given = ChangelogPlan([sink.input]).of(sink.input)
        accepted = sink.table.accepts(given)
        self._check_conflicts(sink, accepted)
        if given.only_inserts:
            return False
        # who takes only inserts fails elsewhere, and who takes -U knows itself what is left
        if Changes.UPDATE_AFTER not in accepted or Changes.UPDATE_BEFORE in accepted:
            return False
        return not upsert_key_fits(sink)

    def _check_conflicts(self, sink: n.TableInsert, accepted: Changes) -> None:
        """Lines of several keys may meet in one of the table: somebody has to say what then."""
        upserts = Changes.UPDATE_AFTER in accepted and Changes.UPDATE_BEFORE not in accepted
        if not upserts or not self._settings.needs_on_conflict or sink.table.on_conflict:
            return
        if not upsert_key_fits(sink):
            raise PlanError(
                f"lines of the query that differ in their own key may have the same primary key of "
                f"{sink.table.name}, and the statement does not say which of them stays",
                fix="add ON CONFLICT DO DEDUPLICATE: the last one stays; or set "
                "'table.exec.sink.require-on-conflict' = 'false'",
            )

    def explain(self, roots: Sequence[n.Rel | tuple[n.Rel, TableTarget]]) -> str:
        """The plan before and after its rules, with the changes of each node."""
        from headrace.rel.explain import explained

        nodes = SharedNodes()
        ends = narrow_scans(
            [
                self._sink(*root, nodes)
                if isinstance(root, tuple)
                else nodes.shared(self._optimised(root))
                for root in roots
            ]
        )
        given = [root[0] if isinstance(root, tuple) else root for root in roots]
        changes = ChangelogPlan(ends, bounded=self._settings.bounded)
        return explained(given, ends, changes)


def enforced(rel: n.Rel, target: TableTarget, settings: PlanSettings) -> n.Rel:
    """The lines that a table takes: those that keep what its columns promise."""
    if target.row_type is None:
        return rel
    wanted = [field.data_type for field in target.row_type.fields]
    given = [field.type for field in rel.schema]
    not_null = tuple(
        place
        for place, (kind, found) in enumerate(zip(wanted, given, strict=True))
        if not kind.is_nullable and found.is_nullable
    )
    lengths = () if settings.lengths == "IGNORE" else _lengths(wanted)
    nested = _nested(wanted, settings)
    if not not_null and not lengths and not nested:
        return rel
    return n.EnforceConstraints(
        rel,
        not_null,
        settings.drop_nulls,
        lengths,
        settings.lengths == "TRIM_PAD",
        nested,
        settings.nested == "ROWS_AND_COLLECTIONS",
        schema=rel.schema,
    )


def _nested(
    kinds: Sequence[t.DataType], settings: PlanSettings
) -> tuple[tuple[int, t.DataType], ...]:
    """The columns whose parts are looked at."""
    if settings.nested == "IGNORE":
        return ()
    if settings.nested == "ROWS_AND_COLLECTIONS" and settings.lengths == "TRIM_PAD":
        raise ConfigurationError(
            "texts in arrays and maps cannot be cut and padded",
            fix="set table.exec.sink.nested-constraint-enforcer to ROWS, or "
            "table.exec.sink.type-length-enforcer to ERROR",
        )
    looked_into = (t.RowType,) if settings.nested == "ROWS" else (t.RowType, t.ArrayType, t.MapType)
    return tuple((i, kind) for i, kind in enumerate(kinds) if isinstance(kind, looked_into))


def _lengths(kinds: Sequence[t.DataType]) -> tuple[tuple[int, int, bool], ...]:
    found = []
    for place, kind in enumerate(kinds):
        if isinstance(kind, t.CharType | t.BinaryType):
            found.append((place, kind.length, True))
        elif isinstance(kind, t.VarCharType | t.VarBinaryType) and kind.length < MAX_LENGTH:
            found.append((place, kind.length, False))
    return tuple(found)


def optimised(rel: n.Rel, session: ScalarSession) -> n.Rel:
    """The plan with the operators that run.

    Args:
        rel: the plan as it was resolved.
        session: of the query: what constants are computed with.
    """
    rel = fold_values(rel, session)
    for rule in RULES:
        rel = rule(rel)
    return rel
