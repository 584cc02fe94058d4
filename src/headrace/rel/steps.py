"""Nodes become steps of the graph: operators of runtime/table, keys, and edges between them.

    Aggregate(keys 0)(Calc(..)(Scan))   ──▶   source ─▶ Calc ─▶ HASH(0) ─▶ GroupAggregate

In: a plan and the changes of its nodes (changelog.py).  Out: DataStreams of lines; a node that is
read twice is one step.  Next: step_windows.py, step_joins.py, step_matches.py, then plan/planner.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.common.changes import Changes
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_builder import Origin, add_step
from headrace.errors import PlanError
from headrace.rel import nodes as n
from headrace.rel.properties import keys_of
from headrace.rel.trends import improving_key
from headrace.runtime.exchange.partition import Forward, Global, KeyGroups
from headrace.runtime.table.keying import LineKeying
from headrace.scalars.nodes import Literal
from headrace.scalars.session import ScalarSession

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.rel.changelog import ChangelogPlan
    from headrace.runtime.operators.base import Operator
    from headrace.runtime.table.rank import RankStrategy

NO_COLUMNS = n.Field("$none", t.IntType())


@dataclass(frozen=True)
class PlanSettings:
    """What the configuration says about a plan.

    Attributes:
        session: time zone and clock of scalars.
        ttl_ms: `table.exec.state.ttl`: how long state without a use is kept; 0 for ever.
        mini_batch: `table.exec.mini-batch.enabled`: one change a key and batch.
        bundles: whether groups with aggregates of the user change once a batch
            (`python.fn-execution.bundle.size` above 1).
        bounded: whether the plan runs in batch mode.
        idle_timeout_ms: `table.exec.source.idle-timeout`; None for none.
        drop_nulls: `table.exec.sink.not-null-enforcer`: lines with a NULL where a table has none
            are left out, and no error.
        lengths: `table.exec.sink.type-length-enforcer`: IGNORE, TRIM_PAD or ERROR.
        nested: `table.exec.sink.nested-constraint-enforcer`: IGNORE, ROWS or ROWS_AND_COLLECTIONS.
        materialize: `table.exec.sink.upsert-materialize`: AUTO, NONE or FORCE.
        repeated_changes: `table.exec.source.cdc-events-duplicate`.
        needs_on_conflict: `table.exec.sink.require-on-conflict`.
        tells_first_lines: `table.exec.deduplicate.insert-update-after-sensitive-enabled`.
        on_event: `scan.watermark.emit.strategy`: whether watermarks follow the line that raises
            them at once, and not at the end of a batch.
        parallelism: `table.exec.resource.default-parallelism`; None for the job's.
        sort_limit: `table.exec.sort.default-limit`; None for none.
        two_phases: whether windows may be aggregated in front of the exchange, too.
        uids: `table.exec.uid.generation`: PLAN_ONLY, ALWAYS or DISABLED.
        uid_format: `table.exec.uid.format`.
    """

    session: ScalarSession = field(default_factory=ScalarSession)
    ttl_ms: int = 0
    mini_batch: bool = False
    bundles: bool = True
    bounded: bool = False
    idle_timeout_ms: int | None = None
    drop_nulls: bool = False
    lengths: str = "IGNORE"
    nested: str = "IGNORE"
    materialize: str = "AUTO"
    repeated_changes: bool = False
    needs_on_conflict: bool = False
    tells_first_lines: bool = True
    on_event: bool = False
    parallelism: int | None = None
    sort_limit: int | None = None
    two_phases: bool = True
    uids: str = "PLAN_ONLY"
    uid_format: str = "<id>_<transformation>"

    @property
    def zone(self) -> str:
        """The time zone of the session."""
        return self.session.time_zone


class StepBuilder:
    """Makes the steps of plans in one environment.

    Args:
        env: whose graph gets the steps.
        settings: of the configuration.
        changes: of every node.
    """

    def __init__(
        self, env: StreamExecutionEnvironment, settings: PlanSettings, changes: ChangelogPlan
    ) -> None:
        self.env = env
        self.settings = settings
        self.changes = changes
        self._streams: dict[int, DataStream] = {}
        self._kept: list[n.Rel] = []

    def stream(self, node: n.Rel) -> DataStream:
        """The lines of a node."""
        found = self._streams.get(id(node))
        if found is None:
            self._kept.append(node)
            handler = HANDLERS.get(type(node))
            if handler is None:
                raise PlanError(
                    f"{type(node).__name__} cannot run yet",
                    fix="docs/sql.md lists what there is",
                )
            found = self._streams[id(node)] = handler(self, node)
        return found

    # --- what handlers share -------------------------------------------------------------------

    def type_of(self, node: n.Rel) -> RowDataTypeInfo:
        """The type of a node's lines."""
        return line_type(node.schema, changes=not self.changes.of(node).only_inserts)

    def before(self, node: n.Rel) -> bool:
        """Whether consumers of a node want -U in front of +U."""
        return Changes.UPDATE_BEFORE in self.changes.of(node)

    def add(
        self,
        node: n.Rel,
        operator: Operator,
        keys: Sequence[Sequence[int] | None] | None = None,
        name: str | None = None,
        *,
        alone: bool = False,
    ) -> DataStream:
        """A step over the inputs of a node.

        Args:
            node: whose lines the step gives.
            operator: what runs.
            keys: for each input the columns of its key; None for inputs that need not meet.
            name: for plans.
            alone: whether all lines go to one subtask, although there are no keys.
        """
        streams = [self.stream(part) for part in node.inputs]
        return self.add_over(node, streams, operator, keys, name, alone=alone)

    def add_over(
        self,
        node: n.Rel,
        streams: Sequence[DataStream],
        operator: Operator,
        keys: Sequence[Sequence[int] | None] | None = None,
        name: str | None = None,
        *,
        alone: bool = False,
        output: RowDataTypeInfo | None = None,
    ) -> DataStream:
        """The same over streams that are there already; `output` if it gives other lines."""
        places = keys or [None] * len(streams)
        inputs, keyings = [], []
        for stream, columns in zip(streams, places, strict=True):
            keying = None if columns is None else LineKeying(columns)
            keyings.append(keying)
            partitioning = (
                KeyGroups(keying) if keying is not None else Global() if alone else Forward()
            )
            inputs.append((stream._origins, partitioning))
        output = output or self.type_of(node)
        step = add_step(
            self.env,
            "table",
            name or type(node).__name__,
            operator,
            output,
            inputs,
            keyings=tuple(keyings),
        )
        step.inner = True
        step.description = f"changelogMode=[{self.changes.of(node)}]"
        return DataStream(self.env, [Origin(step, None, output)])


def line_type(schema: n.Schema, *, changes: bool) -> RowDataTypeInfo:
    """The type of lines with these columns; names that are there twice get a number."""
    from headrace.rel.resolve.select import unique_names

    columns = schema or (NO_COLUMNS,)
    names = unique_names([column.name for column in columns])
    fields = [t.RowField(name, column.type) for name, column in zip(names, columns, strict=True)]
    return RowDataTypeInfo(t.RowType(fields).not_null(), changes)


# --- ends ----------------------------------------------------------------------------------------


def _scan(build: StepBuilder, node: n.Scan) -> DataStream:
    return node.table.stream(build.env)


def _values(build: StepBuilder, node: n.Values) -> DataStream:
    from headrace.connectors.collection.source import CollectionSource

    rows = list(node.rows) if node.schema else [(0,)] * len(node.rows)
    source = CollectionSource(rows, line_type(node.schema, changes=False))
    from headrace.common.watermark_strategy import WatermarkStrategy

    return build.env.from_source(source, WatermarkStrategy.no_watermarks(), "values")


# --- lines ---------------------------------------------------------------------------------------


def _calc(build: StepBuilder, node: n.Calc) -> DataStream:
    from headrace.runtime.table.calc import CalcOperator
    from headrace.runtime.table.watermarked_calc import WatermarkedCalcOperator, asks_for_watermark

    # lines need a column to be counted by
    projections = node.projections or (Literal(0, NO_COLUMNS.type),)
    asks = asks_for_watermark((*projections, node.condition))
    operator = (WatermarkedCalcOperator if asks else CalcOperator)(
        build.type_of(node.input),
        build.type_of(node),
        projections,
        node.condition,
        session=build.settings.session,
    )
    return build.add(node, operator)


def _watermark(build: StepBuilder, node: n.WatermarkAssigner) -> DataStream:
    from headrace.runtime.table.watermarks import WatermarkOperator

    own, settings = node.policy, build.settings
    idle = settings.idle_timeout_ms if own.idle_timeout_ms is None else own.idle_timeout_ms
    operator = WatermarkOperator(
        node.column,
        node.expression,
        build.type_of(node.input),
        settings.session,
        idle_timeout_ms=idle,
        on_event=settings.on_event if own.on_event is None else own.on_event,
        alignment=own.alignment,
    )
    return build.add(node, operator)


def _correlate(build: StepBuilder, node: n.Correlate) -> DataStream:
    from headrace.runtime.table.correlate import CorrelateOperator

    operator = CorrelateOperator(
        node.function,
        node.arguments,
        build.type_of(node.input),
        build.type_of(node),
        condition=node.condition,
        left=node.kind is n.JoinKind.LEFT,
        session=build.settings.session,
    )
    return build.add(node, operator)


def _expand(build: StepBuilder, node: n.Expand) -> DataStream:
    from headrace.runtime.table.expand import ExpandOperator

    operator = ExpandOperator(
        build.type_of(node.input), build.type_of(node), node.projections, build.settings.session
    )
    return build.add(node, operator)


def _union(build: StepBuilder, node: n.Union) -> DataStream:
    """Parts may differ in whether they have changes, and in nullability: one form for all."""
    from headrace.rel.building import refs
    from headrace.runtime.table.calc import CalcOperator

    output = build.type_of(node)
    streams = []
    for part in node.parts:
        stream = build.stream(part)
        if build.type_of(part) != output:
            operator = CalcOperator(
                build.type_of(part), output, refs(part), session=build.settings.session
            )
            stream = build.add_over(node, [stream], operator, name="Union")
        streams.append(stream)
    return streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]


# --- groups --------------------------------------------------------------------------------------


def _aggregate(build: StepBuilder, node: n.GroupAggregate) -> DataStream:
    from headrace.runtime.table.group_aggregate import GroupAggregateOperator

    operator = GroupAggregateOperator(
        build.type_of(node.input),
        build.type_of(node),
        node.keys,
        node.calls,
        before=build.before(node),
        ttl_ms=build.settings.ttl_ms if node.ttl_ms is None else node.ttl_ms,
        mini_batch=build.settings.mini_batch or not build.changes.tells_each(node),
        bundles=build.settings.bundles,
        session=build.settings.session,
    )
    return build.add(node, operator, [node.keys], "GroupAggregate")


def _table_aggregate(build: StepBuilder, node: n.TableAggregate) -> DataStream:
    from headrace.runtime.table.table_aggregate import TableAggregateOperator

    operator = TableAggregateOperator(
        build.type_of(node.input),
        build.type_of(node),
        node.keys,
        node.call,
        ttl_ms=build.settings.ttl_ms,
        session=build.settings.session,
    )
    return build.add(node, operator, [node.keys])


def _normalize(build: StepBuilder, node: n.ChangelogNormalize) -> DataStream:
    from headrace.runtime.table.changelog_normalize import ChangelogNormalizeOperator

    operator = ChangelogNormalizeOperator(
        build.type_of(node.input),
        build.type_of(node),
        before=build.before(node),
        ttl_ms=build.settings.ttl_ms,
        condition=node.condition,
        session=build.settings.session,
    )
    return build.add(node, operator, [node.keys])


def _drop_before(build: StepBuilder, node: n.DropUpdateBefore) -> DataStream:
    from headrace.runtime.table.drop_update_before import DropUpdateBeforeOperator

    operator = DropUpdateBeforeOperator(build.type_of(node.input))
    return build.add(node, operator)


# --- Top-N, order --------------------------------------------------------------------------------


def order_parts(order: Sequence[n.SortKey]) -> tuple[tuple[int, bool, bool], ...]:
    """An order as the runtime knows it."""
    return tuple((key.column, key.descending, key.nulls_last) for key in order)


def _rank(build: StepBuilder, node: n.Rank) -> DataStream:
    if node.window is not None:
        from headrace.rel.step_windows import window_rank

        return window_rank(build, node)
    from headrace.runtime.table.rank import RankSpec, rank_operator

    strategy, row_key = _rank_strategy(build, node)
    spec = RankSpec(
        order_parts(node.order),
        node.first,
        node.last,
        node.with_number,
        node.last_column,
        node.function,
        strategy,
        row_key,
        build.before(node),
        build.settings.ttl_ms,
    )
    operator = rank_operator(spec, build.type_of(node.input), build.type_of(node))
    return build.add(node, operator, [node.partition])


def _rank_strategy(
    build: StepBuilder, node: n.Rank | n.Sort
) -> tuple[RankStrategy, tuple[int, ...]]:
    from headrace.runtime.table.rank import RankStrategy

    if build.changes.of(node.input).only_inserts:
        first = node.input.schema[node.order[0].column] if node.order else None
        by_clock = first is not None and first.time is n.TimeAttribute.PROCTIME
        if by_clock and not node.order[0].descending:
            return RankStrategy.FIRST, ()
        return RankStrategy.APPEND, ()
    key = improving_key(node, build.changes.of)
    return (RankStrategy.RETRACT, ()) if key is None else (RankStrategy.UPDATE, key)


def _deduplicate(build: StepBuilder, node: n.Deduplicate) -> DataStream:
    if node.window is not None:
        from headrace.rel.step_windows import window_deduplicate

        return window_deduplicate(build, node)
    from headrace.runtime.table.deduplicate import DeduplicateSpec, deduplicate_operator

    if not build.changes.of(node.input).only_inserts:
        return _deduplicate_changes(build, node)
    spec = DeduplicateSpec(
        node.keep_last,
        node.time if node.event_time else None,
        insert_only=build.changes.of(node).only_inserts,
        before=build.before(node),
        inserts=build.settings.tells_first_lines,
        ttl_ms=build.settings.ttl_ms,
    )
    operator = deduplicate_operator(spec, build.type_of(node.input), build.type_of(node))
    return build.add(node, operator, [node.keys])


def _deduplicate_changes(build: StepBuilder, node: n.Deduplicate) -> DataStream:
    """Of lines that are taken back it is a Top-1."""
    from headrace.runtime.table.rank import RankSpec, RankStrategy, rank_operator

    order = ((node.time, node.keep_last, node.keep_last),)
    spec = RankSpec(
        order,
        1,
        1,
        strategy=RankStrategy.RETRACT,
        before=build.before(node),
        ttl_ms=build.settings.ttl_ms,
    )
    operator = rank_operator(spec, build.type_of(node.input), build.type_of(node))
    return build.add(node, operator, [node.keys], "Rank")


def _sort(build: StepBuilder, node: n.Sort) -> DataStream:
    from headrace.runtime.table.sort import (
        FullSortOperator,
        ProctimeSortOperator,
        RowtimeSortOperator,
    )

    lines = build.type_of(node.input)
    limited = node.fetch is not None or node.offset
    if build.settings.bounded:
        full = FullSortOperator(
            order_parts(node.order),
            lines,
            build.type_of(node),
            offset=node.offset,
            fetch=node.fetch,
        )
        return build.add(node, full, [()])
    if limited:
        return _limit(build, node)
    time = node.input.schema[node.order[0].column].time
    if time is None or node.order[0].descending:
        raise PlanError(
            "a stream that does not end cannot be sorted: the order has to begin with a time "
            "attribute, ascending",
            fix="add LIMIT n, order by the column that has the WATERMARK, or run in batch mode",
        )
    rest = order_parts(node.order[1:])
    operator: Operator
    if time is n.TimeAttribute.PROCTIME:
        operator = ProctimeSortOperator(rest, lines)
    else:
        operator = RowtimeSortOperator(node.order[0].column, rest, lines)
    return build.add(node, operator, [()])


def _limit(build: StepBuilder, node: n.Sort) -> DataStream:
    from headrace.runtime.table.rank import RankSpec, rank_operator

    if node.fetch is None:
        raise PlanError(
            "OFFSET without LIMIT never ends on a stream", fix="add LIMIT n, or run in batch mode"
        )
    strategy, row_key = _rank_strategy(build, node)
    spec = RankSpec(
        order_parts(node.order),
        node.offset + 1,
        node.offset + node.fetch,
        strategy=strategy,
        row_key=row_key,
        before=build.before(node),
        ttl_ms=build.settings.ttl_ms,
    )
    operator = rank_operator(spec, build.type_of(node.input), build.type_of(node))
    return build.add(node, operator, [()], "Limit" if not node.order else "SortLimit")


# --- the table -----------------------------------------------------------------------------------


def _constraints(build: StepBuilder, node: n.EnforceConstraints) -> DataStream:
    from headrace.runtime.table import constraints as c
    from headrace.runtime.table.nested_constraints import NestedPolicy

    operator = c.ConstraintOperator(
        build.type_of(node),
        node.not_null,
        [c.ColumnLength(*each) for each in node.lengths],
        nulls=c.DROP if node.drop else c.ERROR,
        too_long=c.TRIM_PAD if node.trim else c.ERROR,
        nested=node.nested,
        policy=NestedPolicy(
            node.collections,
            build.settings.lengths != c.IGNORE,
            build.settings.lengths == c.TRIM_PAD,
        ),
    )
    return build.add(node, operator)


def _sink(build: StepBuilder, node: n.TableInsert) -> DataStream:
    stream = build.stream(node.input)
    changes = build.changes.of(node.input)
    if node.materialize:
        from headrace.runtime.table.sink_materializer import SinkMaterializerOperator

        lines = build.type_of(node.input)
        keys = [tuple(sorted(key)) for key in keys_of(node.input)]
        operator = SinkMaterializerOperator(
            lines, keys[0] if keys else (), ttl_ms=build.settings.ttl_ms
        )
        stream = build.add_over(
            node.input, [stream], operator, [node.table.primary_key], "SinkMaterializer"
        )
    node.table.attach(stream, changes)
    return stream


def _handlers() -> dict[type[n.Rel], Callable[..., DataStream]]:
    from headrace.rel import step_joins, step_matches, step_windows

    return {
        n.Scan: _scan,
        n.Values: _values,
        n.Calc: _calc,
        n.WatermarkAssigner: _watermark,
        n.Correlate: _correlate,
        n.Expand: _expand,
        n.Union: _union,
        n.GroupAggregate: _aggregate,
        n.TableAggregate: _table_aggregate,
        n.ChangelogNormalize: _normalize,
        n.DropUpdateBefore: _drop_before,
        n.EnforceConstraints: _constraints,
        n.Rank: _rank,
        n.Deduplicate: _deduplicate,
        n.Sort: _sort,
        n.TableInsert: _sink,
        **step_windows.HANDLERS,
        **step_joins.HANDLERS,
        **step_matches.HANDLERS,
    }


HANDLERS: dict[type[n.Rel], Callable[..., DataStream]] = {}
HANDLERS.update(_handlers())
