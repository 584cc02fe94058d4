"""Lookup joins: each line with what a table outside has for its keys.

    line ─▶ its keys, each distinct one once ─▶ cache ─▶ table outside, many keys at a time
         ◀─ the lines that have them, for which the condition holds; none: NULL if the join is left

A key with NULL is not asked for.  The result has the kinds of the lines.  A line that takes another
one back asks again: if the table outside has changed meanwhile, it takes back something else, as in
Flink without ``table.optimizer.non-deterministic-update.strategy``.
In: lines.  Out: lines with the table's columns behind them.  Next: spi/lookup_cache.py
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.codec import codec_for
from headrace.data.row_data import column_of
from headrace.errors import ConnectorError, InternalError
from headrace.runtime.table.base import TableOperator
from headrace.runtime.table.joins.emission import OutPlaces
from headrace.runtime.table.joins.pairs import PairCondition, empty_lines, taken
from headrace.runtime.table.keying import LineKeying
from headrace.runtime.table.lines import INSERT, LineType
from headrace.runtime.table.user_functions import function_context
from headrace.scalars.evaluate import Projector
from headrace.spi.lookup_cache import LookupCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.joins.hashes import Mask
    from headrace.runtime.table.joins.runs import Places
    from headrace.runtime.table.lines import Lines
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession
    from headrace.spi.lookup_cache import CacheRules
    from headrace.spi.table_connector import TableLookup

    Key = tuple[Any, ...]
    Rows = list[tuple[Any, ...]]

KEYS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class LookupRetry:
    """The LOOKUP hint: ask again for keys that have no lines.

    Attributes:
        delay_ms: how long to wait before.
        max_attempts: how often at most, behind the first time.
    """

    delay_ms: int
    max_attempts: int


class LookupJoinOperator(TableOperator):
    """FOR SYSTEM_TIME AS OF processing time, of a table that can be asked.

    Args:
        input_type: of the lines.
        table_type: of the lines of the table outside.
        output_type: both; changes if the input has them.
        lookup: asks the table.
        keys: what is asked for, over the columns of the input, in the order of `lookup`'s keys.
        kind: inner or left.
        condition: what else must hold, over the columns of both.
        session: of the query.
        cache: what is remembered of answers; None where `lookup` remembers by itself, or nobody.
        retry: whether to ask again; None for no.
    """

    def __init__(
        self,
        input_type: RowDataTypeInfo,
        table_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        *,
        lookup: TableLookup,
        keys: Sequence[Scalar],
        kind: str,
        condition: Scalar | None = None,
        session: ScalarSession,
        cache: CacheRules | None = None,
        retry: LookupRetry | None = None,
    ) -> None:
        super().__init__((input_type,), output_type)
        if kind not in ("inner", "left"):
            msg = f"a lookup join is inner or left, not {kind!r}"
            raise InternalError(msg)
        self.table_type = table_type
        self.lookup = lookup
        self.keys = Projector(keys, session)
        self.is_left = kind == "left"
        self.condition = None if condition is None else PairCondition(condition, session)
        self.cache = cache
        self.retry = retry
        self.wait: Callable[[float], None] = time.sleep

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        context = function_context(runtime)
        self.table_lines = LineType(codec_for(self.table_type))
        # rebuilt: a restart begins with nothing known
        self._known = None if self.cache is None else LookupCache(self.cache)
        try:
            self.keys.open(context)
            if self.condition is not None:
                self.condition.open(context)
            self.lookup.open()
        except Exception as error:
            raise self.failed(error) from error

    def close(self) -> None:
        self.keys.close()
        if self.condition is not None:
            self.condition.close()
        self.lookup.close()
        super().close()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if not len(lines):
            return
        try:
            line, columns = self._partners(lines)
            if self.condition is not None and len(line):
                holds = self._holds(lines, line, columns)
                line, columns = line[holds], taken(columns, np.flatnonzero(holds))
        except Exception as error:
            raise self.failed(error) from error
        self._emit(lines, line, columns)

    def _partners(self, lines: Lines) -> tuple[Places, list[pa.Array]]:
        """(places of lines, columns of the table), one for each pair."""
        keys = self.keys.run(lines.batch())
        codes = LineKeying(range(len(keys))).codes_of(keys, len(lines))
        answers = self._answers(self._distinct(keys, codes.numbers))
        counts = np.array([len(rows) for rows in answers], np.int64)
        starts = np.cumsum(counts) - counts
        per_line = counts[codes.numbers]
        line = np.repeat(np.arange(len(lines)), per_line)
        within = np.arange(len(line)) - np.repeat(np.cumsum(per_line) - per_line, per_line)
        rows = [row for answer in answers for row in answer]
        if not rows:
            return line, empty_lines(self.table_lines.types, 0)
        values = zip(*rows, strict=True)
        columns = [self.table_lines.array(n, list(column)) for n, column in enumerate(values)]
        return line, taken(columns, np.repeat(starts[codes.numbers], per_line) + within)

    def _distinct(self, keys: Sequence[pa.Array], numbers: Places) -> list[Key]:
        """Each key once, in the order of its number, as Python values of its types."""
        _, first = np.unique(numbers, return_index=True)
        types = [node.type for node in self.keys.nodes]
        pairs = zip(taken(keys, first), types, strict=True)
        return list(zip(*(column_of(kind).to_python(key) for key, kind in pairs), strict=True))

    def _holds(self, lines: Lines, line: Places, columns: Sequence[pa.Array]) -> Mask:
        assert self.condition is not None
        width, places = len(lines.columns), pa.array(line)

        def column(place: int) -> pa.Array:
            return columns[place - width] if place >= width else lines.columns[place].take(places)

        return self.condition.mask(column, len(line))

    def _emit(self, lines: Lines, line: Places, columns: Sequence[pa.Array]) -> None:
        out = OutPlaces()
        out.add(line, line, np.arange(len(line)), INSERT)
        if self.is_left:
            alone = np.flatnonzero(np.bincount(line, minlength=len(lines)) == 0)
            out.add(alone, alone, -1, INSERT)
        line, pair, _ = out.in_order()
        if not len(line):
            return
        if len(columns[0]):
            others = taken(columns, pair)
        else:
            others = empty_lines(self.table_lines.types, len(line))
        kinds = None if lines.kinds is None else lines.kinds[line]
        self.emit_columns([*taken(lines.columns, line), *others], kinds)

    # --- asking ----------------------------------------------------------------------------------

    def _answers(self, keys: list[Key]) -> list[Rows]:
        """The lines of each key."""
        found: dict[Key, Rows] = {key: [] for key in keys if None in key}
        cache = self._known
        if cache is not None:
            known = {key: cache.get(key) for key in keys if key not in found}
            found |= {key: rows for key, rows in known.items() if rows is not None}
        missing = [key for key in keys if key not in found]
        found |= self._ask_again(self._ask(missing), missing)
        if cache is not None:
            for key in missing:
                cache.put(key, found[key])
        return [found[key] for key in keys]

    def _ask(self, keys: Sequence[Key]) -> dict[Key, Rows]:
        found: dict[Key, Rows] = {}
        for first in range(0, len(keys), KEYS_AT_ONCE):
            some = list(keys[first : first + KEYS_AT_ONCE])
            rows = self.lookup.lookup(some)
            if len(rows) != len(some):
                raise ConnectorError(
                    f"a lookup gave {len(rows)} answers for {len(some)} keys",
                    fix="lookup() of the table's connector gives one list for each key",
                )
            found.update(zip(some, rows, strict=True))
        return found

    def _ask_again(self, found: dict[Key, Rows], keys: Sequence[Key]) -> dict[Key, Rows]:
        """Ask again for keys without lines, as often as the hint says."""
        for _ in range(self.retry.max_attempts if self.retry is not None else 0):
            assert self.retry is not None
            empty = [key for key in keys if not found[key]]
            if not empty:
                break
            self.wait(self.retry.delay_ms / 1000)
            found |= self._ask(empty)
        return found
