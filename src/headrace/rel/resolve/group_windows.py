"""The group windows of the Table API: ``table.window(Tumble...alias("w")).group_by(col("w"))``.

In: what table/window.py collected.  Out: the window of a GroupResolver.  Next: grouping.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.rel import nodes as n
from headrace.rel.resolve.grouping import GroupByWindow
from headrace.rel.resolve.problems import not_there, problem
from headrace.rel.resolve.table_functions import WINDOWS, window_spec
from headrace.scalars.nodes import Ref
from headrace.sql import api_ast, ast

if TYPE_CHECKING:
    from headrace.rel.resolve.grouping import GroupResolver as Groups


@dataclass(frozen=True)
class WindowGroups:
    """A group window by its alias.

    Attributes:
        alias: what properties are asked of: ``col("w").start``.
        kind: TUMBLE, HOP or SESSION.
        time: the column it goes by.
        size: an interval; of SESSION the gap. `RowInterval` for windows by count.
        slide: of HOP.
    """

    alias: str
    kind: str
    time: ast.SqlExpression
    size: ast.SqlExpression
    slide: ast.SqlExpression | None = None

    def takes(self, key: ast.SqlExpression) -> bool:
        """Whether a key of group_by is this window."""
        return isinstance(key, ast.Identifier) and key.parts == (self.alias,)

    def install(self, groups: Groups) -> None:
        """Lets a GroupResolver group by it."""
        time = groups.inner.scalar(self.time)
        if not isinstance(time, Ref):
            raise problem(
                "a group window goes by a column with a time",
                self.time,
                "a column with a watermark, or one that is proctime",
            )
        node = ast.FunctionCall((self.kind,), (self.time,))
        groups.window = GroupByWindow(self.kind, node, time, self._spec(groups.rel, time.index))
        groups.window_alias = self.alias

    def _spec(self, rel: n.Rel, time: int) -> n.WindowSpec:
        if isinstance(self.size, api_ast.RowInterval):
            return self._count_spec(rel.schema[time], time, self.size.rows)
        given: dict[str, ast.SqlExpression] = {
            "GAP" if self.kind == "SESSION" else "SIZE": self.size
        }
        if self.slide is not None:
            given["SLIDE"] = self.slide
        return window_spec(rel.schema[time], time, WINDOWS[self.kind], given, self.time)

    def _count_spec(self, field: n.Field, time: int, size: int) -> n.WindowSpec:
        """Windows of so many lines: those of processing time only, as in Flink."""
        if field.time is not n.TimeAttribute.PROCTIME:
            raise not_there(
                "a window of so many lines by event time", self.size, "use one by proctime"
            )
        slide = size
        if self.slide is not None:
            if not isinstance(self.slide, api_ast.RowInterval):
                raise problem("size and slide are both times, or both numbers of lines", self.slide)
            slide = self.slide.rows
        if self.kind == "SESSION" or size < 1 or slide < 1:
            raise problem("a window has at least one line, and sessions have times", self.size)
        kind = WINDOWS[self.kind]
        return n.WindowSpec(kind, time, size, slide, event_time=False, by_count=True)
