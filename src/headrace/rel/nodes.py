"""Relational nodes: what a query means, with columns by number and types known.

    Scan ──▶ WatermarkAssigner ──▶ Calc ──▶ GroupAggregate ──▶ TableInsert

In: resolve/ (from SQL) and table/ (from calls).  rules/ rewrites them, changelog.py decides what
changes they give, steps/ makes steps of them.  Nodes are frozen; equal ones are one node, so a
statement set shares what its queries have in common.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.common.opaque import Record
    from headrace.rel.tables import TableOrigin, TableTarget
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.matches import MatchExpression, MatchSkip, MatchStage
    from headrace.scalars.nodes import Scalar


class TimeAttribute(StrEnum):
    """What makes a column more than a timestamp: watermarks, or the wall clock."""

    ROWTIME = "rowtime"
    PROCTIME = "proctime"


class Field(NamedTuple):
    """A column of a node's output."""

    name: str
    type: DataType
    time: TimeAttribute | None = None


Schema = tuple[Field, ...]


class JoinKind(StrEnum):
    """How lines without a partner are treated."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


class WindowKind(StrEnum):
    """The windows of SQL."""

    TUMBLE = "tumble"
    HOP = "hop"
    CUMULATE = "cumulate"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """How lines are put into windows.

    Attributes:
        kind: which windows.
        time: the place of the time attribute, or of `window_time` of another window.
        size_ms: of a window; of a session its gap.
        slide_ms: of HOP the slide, of CUMULATE the step.
        offset_ms: where windows begin, from midnight of 1970-01-01.
        event_time: whether watermarks close them, or the wall clock.
        local: whether the time is a TIMESTAMP_LTZ, whose windows follow the session's zone.
        partition: of sessions: the places of the columns that tell them apart.
        by_count: whether size and slide are numbers of lines.
        asks_clock: whether somebody asks when they are processed, which only a stream can tell.
    """

    kind: WindowKind
    time: int
    size_ms: int
    slide_ms: int = 0
    offset_ms: int = 0
    event_time: bool = True
    local: bool = False
    partition: tuple[int, ...] = ()
    by_count: bool = False
    asks_clock: bool = False


class SortKey(NamedTuple):
    """A column to sort by; in Flink NULL is the lowest value unless told otherwise."""

    column: int
    descending: bool = False
    nulls_last: bool = False


@dataclass(frozen=True)
class Rel:
    """A node: `inputs` are below it, `schema` is what comes out of it."""

    schema: Schema = field(kw_only=True)

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """The nodes whose output it takes."""
        return ()


@dataclass(frozen=True)
class Scan(Rel):
    """A table of a catalog, or a DataStream."""

    table: TableOrigin


@dataclass(frozen=True)
class Values(Rel):
    """Lines that stand in the query."""

    rows: tuple[tuple[Record, ...], ...]


@dataclass(frozen=True)
class Unary(Rel):
    """A node with one input."""

    input: Rel

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """The one."""
        return (self.input,)


@dataclass(frozen=True)
class Binary(Rel):
    """A node with two inputs; columns of the right one count on behind those of the left."""

    left: Rel
    right: Rel

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """Left and right."""
        return (self.left, self.right)


@dataclass(frozen=True)
class Calc(Unary):
    """A projection of the lines for which the condition is true."""

    projections: tuple[Scalar, ...]
    condition: Scalar | None = None


@dataclass(frozen=True, slots=True)
class WatermarkPolicy:
    """What a table's own options say about its watermarks.

    Attributes:
        on_event: whether they follow the line that raises them at once; None for the session's.
        idle_timeout_ms: after which time a silent source holds nobody up; None for the session's.
        alignment: a group of sources, and how many ms one of them may be ahead; None for none.
    """

    on_event: bool | None = None
    idle_timeout_ms: int | None = None
    alignment: tuple[str, int] | None = None


@dataclass(frozen=True)
class WatermarkAssigner(Unary):
    """WATERMARK FOR column AS expression: the column becomes a time attribute."""

    column: int
    expression: Scalar
    policy: WatermarkPolicy = WatermarkPolicy()


@dataclass(frozen=True)
class Correlate(Unary):
    """Every line with the lines that a table function makes of it; UNNEST is one, too."""

    function: Record  # the object that `udtf` made, or the name of a built-in one
    arguments: tuple[Scalar, ...]
    kind: Literal[JoinKind.INNER, JoinKind.LEFT]
    condition: Scalar | None = None


@dataclass(frozen=True)
class Union(Rel):
    """UNION ALL."""

    parts: tuple[Rel, ...]

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """All parts."""
        return self.parts


@dataclass(frozen=True)
class SetOperation(Binary):
    """INTERSECT or EXCEPT."""

    kind: Literal["intersect", "except"]
    all: bool


@dataclass(frozen=True)
class GroupAggregate(Unary):
    """GROUP BY: the keys, then the calls.

    Attributes:
        ttl_ms: how long a group is kept; None for the setting of the job.
    """

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    ttl_ms: int | None = None


@dataclass(frozen=True)
class Expand(Unary):
    """Every line once for each projection: what GROUPING SETS are made of."""

    projections: tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True)
class TableAggregate(Unary):
    """flat_aggregate: the keys, then the columns of each line that the function emits."""

    keys: tuple[int, ...]
    call: AggregateCall


@dataclass(frozen=True)
class WindowTvf(Unary):
    """TUMBLE, HOP, CUMULATE, SESSION: adds window_start, window_end, window_time."""

    window: WindowSpec


class WindowProperty(StrEnum):
    """What a window aggregate can tell of its window."""

    START = "start"
    END = "end"
    TIME = "time"  # the end less a millisecond: a time attribute


@dataclass(frozen=True)
class WindowAggregate(Unary):
    """GROUP BY window: the keys, then the calls, then what is asked of the window.

    Attributes:
        attached: the input has windows already (a column each for start and end, at
            `window_columns`), since something stands between the TVF and the GROUP BY.
    """

    window: WindowSpec
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    properties: tuple[WindowProperty, ...]
    attached: tuple[int, int] | None = None


@dataclass(frozen=True)
class OverAggregate(Unary):
    """Aggregates over the lines around each: the input, then the calls.

    Attributes:
        partition: the places of PARTITION BY.
        order: of ORDER BY; the first decides over time or not.
        rows: whether the frame counts lines, or is a range of time.
        preceding: lines or milliseconds; None for unbounded.
        following: the same behind the line; streams know 0 only.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    rows: bool
    preceding: int | None
    calls: tuple[AggregateCall, ...]
    following: int | None = 0


@dataclass(frozen=True)
class Rank(Unary):
    """Top-N: the lines of each partition whose number is within `first` .. `last`.

    Attributes:
        function: how they are numbered.
        last: a number, or the place of a column that says it.
        with_number: whether the number is the last column.
        window: the columns of window_start and window_end, for Top-N within windows.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    function: Literal["ROW_NUMBER", "RANK", "DENSE_RANK"]
    first: int
    last: int
    with_number: bool
    last_column: int | None = None
    window: tuple[int, int] | None = None


@dataclass(frozen=True)
class Deduplicate(Unary):
    """The first or the last line of each key, by a time attribute."""

    keys: tuple[int, ...]
    time: int
    event_time: bool
    keep_last: bool
    window: tuple[int, int] | None = None


@dataclass(frozen=True)
class RowMatch(Unary):
    """MATCH_RECOGNIZE: for each match the columns of PARTITION BY, then the measures.

    Attributes:
        partition: the places of PARTITION BY.
        order: of ORDER BY; the first is the time.
        stages: the variables of PATTERN, in order.
        measures: over what they see of a match.
        skip: where the search goes on behind a match.
        within_ms: how long a match may last; None for any time.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    stages: tuple[MatchStage, ...]
    measures: tuple[MatchExpression, ...]
    skip: MatchSkip
    within_ms: int | None = None


@dataclass(frozen=True)
class Join(Binary):
    """A regular join.

    Attributes:
        left_keys, right_keys: columns that must be equal, each counted from its own side.
        null_safe: for each pair whether NULL equals NULL.
        condition: what else must hold, over the columns of both.
        ttl_ms: how long each side is kept; None for the setting of the job.
    """

    kind: JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Scalar | None = None
    null_safe: tuple[bool, ...] = ()
    ttl_ms: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True)
class TimeIntervalJoin(Join):
    """A join whose times are within bounds: left + lower <= right <= left + upper."""

    left_time: int = 0
    right_time: int = 0
    lower_ms: int = 0
    upper_ms: int = 0
    event_time: bool = True


@dataclass(frozen=True)
class WindowJoin(Join):
    """A join of lines of the same window; both sides have window_start and window_end."""

    left_window: tuple[int, int] = (0, 0)
    right_window: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class TemporalJoin(Join):
    """FOR SYSTEM_TIME AS OF a versioned table.

    Attributes:
        left_time: the place of the time attribute that asks.
        right_time: the place of the version's time on the right side; None in processing time.
    """

    left_time: int = 0
    right_time: int | None = None


@dataclass(frozen=True, slots=True)
class LookupRetries:
    """The hint LOOKUP: keys without lines are asked for again.

    Attributes:
        delay_ms: how long to wait before.
        max_attempts: how often at most, behind the first time.
    """

    delay_ms: int
    max_attempts: int


@dataclass(frozen=True)
class LookupJoin(Unary):
    """Every line with what a table outside has for its keys."""

    table: TableOrigin
    kind: Literal[JoinKind.INNER, JoinKind.LEFT]
    keys: tuple[tuple[str, Scalar], ...]  # the outside's column, and what it must equal
    condition: Scalar | None = None
    retries: LookupRetries | None = None


@dataclass(frozen=True)
class Sort(Unary):
    """ORDER BY, with or without OFFSET and FETCH; of an unbounded input only by time."""

    order: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None


@dataclass(frozen=True)
class ChangelogNormalize(Unary):
    """Upserts by key as full changes.

    Attributes:
        keys: columns.
        condition: which lines there are; one that meets it no longer is deleted.
    """

    keys: tuple[int, ...]
    condition: Scalar | None = None


@dataclass(frozen=True)
class DropUpdateBefore(Unary):
    """Leaves -U out."""


@dataclass(frozen=True)
class EnforceConstraints(Unary):
    """What a table demands of its lines: NOT NULL columns, and lengths.

    Attributes:
        not_null: the places of columns without NULL.
        drop: whether lines with a NULL are left out, or an error.
        lengths: place, length, and whether it is fixed, of columns that are checked.
        trim: whether such values are cut and padded, or an error.
        nested: columns with their declared types, whose fields are held to them, too.
        collections: whether elements of arrays and maps are, as well.
    """

    not_null: tuple[int, ...]
    drop: bool
    lengths: tuple[tuple[int, int, bool], ...]
    trim: bool
    nested: tuple[tuple[int, DataType], ...] = ()
    collections: bool = False


@dataclass(frozen=True)
class TableInsert(Unary):
    """INSERT INTO.

    Attributes:
        table: where to.
        materialize: whether the last line of each key has to be found first.
    """

    table: TableTarget
    materialize: bool = False
