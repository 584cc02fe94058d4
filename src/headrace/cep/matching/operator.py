"""MATCH_RECOGNIZE: lines of each key in order through the automaton, a line out for each match.

    event time        lines wait until event time has passed them; late ones are dropped
    processing time   lines go on as they come
    BATCH             all lines of a key, in the order of their time

    lines ─▶ what each says about the variables, a batch at a time ─▶ NFA, key by key ─▶ measures

In: lines, keyed by PARTITION BY.  Out: the columns of PARTITION BY, then the measures.
Next: cep/nfa.py
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.cep.compiler import compile_pattern
from headrace.cep.matching.arrivals import ArrivedLines, MaskedLine
from headrace.cep.matching.expressions import MatchFunction
from headrace.cep.matching.masks import LineMasks
from headrace.cep.matching.patterns import LineCondition, pattern_of
from headrace.cep.nfa import NFA, MatchState
from headrace.data.records import MAX_TIMESTAMP
from headrace.runtime.table.base import TimedTableOperator
from headrace.runtime.table.ordering import Ordering
from headrace.runtime.table.times import rowtimes
from headrace.runtime.table.user_functions import function_context
from headrace.runtime.table.waiting import WaitingLines
from headrace.scalars.evaluate import Condition
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.cep.matching.arrivals import DueLines
    from headrace.cep.nfa import PatternMatch
    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.ordering import Part
    from headrace.runtime.watermarks import InputClocks
    from headrace.scalars.matches import MatchExpression, MatchSkip, MatchStage
    from headrace.scalars.session import ScalarSession

    Line = tuple[Any, ...]
    Timed = tuple[int, Line]

_MATCHES = StateSpec("matches", "table")


@dataclass(frozen=True, slots=True)
class MatchSpec:
    """What a MATCH_RECOGNIZE asks for.

    Attributes:
        partition: the places of PARTITION BY.
        time: the place of the time that orders lines; None for processing time.
        order: of lines of one time: of each column its place, whether descending, whether NULL
            comes last.
        stages: the variables of PATTERN, in order.
        measures: what is given of a match.
        skip: where the search goes on behind one.
        within_ms: how long one may last; None for any time.
    """

    partition: tuple[int, ...]
    time: int | None
    order: tuple[Part, ...]
    stages: tuple[MatchStage, ...]
    measures: tuple[MatchExpression, ...]
    skip: MatchSkip
    within_ms: int | None = None


class MatchOperator(TimedTableOperator):
    """Looks for a pattern in the lines of each key.

    Args:
        spec: what is asked for.
        input_type: of the lines, which are only inserted.
        output_type: the columns of PARTITION BY, then the measures.
        session: of the query.
    """

    def __init__(
        self,
        spec: MatchSpec,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        session: ScalarSession,
    ) -> None:
        super().__init__([input_type], output_type)
        self.spec = spec
        self.session = session

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *WaitingLines.specs(), _MATCHES)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.event_time = self.spec.time is not None
        self.timers = self.event_timers if self.event_time else self.processing_timers
        self.ordering = Ordering(self.spec.order)
        # survives restart: what waits for its time; key -> partial matches and their lines
        self.waiting = WaitingLines(self.states)
        self.matches = self.states.table(_MATCHES.name)
        # of this batch; what is not due at its end becomes state
        self.arrived = ArrivedLines()
        # of the timers that fire at the moment: key -> its lines in order
        self.due: dict[Any, list[Timed]] = {}
        try:
            self._open_functions()
        except Exception as error:
            raise self.failed(error) from error

    def _open_functions(self) -> None:
        width = len(self.input_types[0].get_field_names())
        context = function_context(self.runtime)
        stages, session = self.spec.stages, self.session
        self.functions: list[MatchFunction] = []
        self.prefilters: dict[str, Condition] = {}
        conditions: dict[str, LineCondition] = {}
        for number, stage in enumerate(stages):
            if stage.prefilter is not None:
                self.prefilters[stage.variable] = Condition(stage.prefilter, session)
                self.prefilters[stage.variable].open(context)
            if stage.condition is not None:
                before = [each.variable for each in stages[: number + 1]]
                conditions[stage.variable] = self._condition(stage, before, width)
        pattern = pattern_of(stages, conditions, self.spec.skip, self.spec.within_ms)
        self.nfa = NFA(compile_pattern(pattern), self.runtime.clock)
        self.masks = LineMasks(self.nfa.automaton, self.prefilters)
        self.measures = [MatchFunction(each, width, session) for each in self.spec.measures]
        for function in (*self.functions, *self.measures):
            function.open(self)
        # measures look at the match alone
        self.no_line: Line = (None,) * width

    def _condition(self, stage: MatchStage, before: list[str], width: int) -> LineCondition:
        assert stage.condition is not None
        function = MatchFunction(stage.condition, width, self.session)
        self.functions.append(function)
        prefilter = self.prefilters.get(stage.variable)
        return LineCondition(
            stage.variable,
            before,
            function,
            None if prefilter is None else prefilter.row(),
            is_iterative=stage.prefilter != stage.condition.scalar,
        )

    def close(self) -> None:
        for function in (*self.functions, *self.measures):
            function.close()
        for prefilter in self.prefilters.values():
            prefilter.close()
        super().close()

    # --- lines ---------------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:
        lines = self.lines(records)
        if not len(lines):
            return
        if self.spec.time is None:
            now = np.full(len(lines), self.runtime.clock(), dtype=np.int64)
            self.arrived.add(lines, now, self.line_keys(lines))
            self._run_due()
            return
        times = rowtimes(lines.columns[self.spec.time], self.runtime.name)
        in_time = times > self.current_watermark
        if not in_time.all():
            self.runtime.metrics.late_records_dropped += int((~in_time).sum())
            lines, times = lines.pick(np.flatnonzero(in_time)), times[in_time]
        if len(lines):
            self.arrived.add(lines, times, self.line_keys(lines))

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        # also without lines: partial matches may be over
        self.due.setdefault(key, []).extend(self.waiting.take(key, self.current_watermark))
        following = self.waiting.next_time(key)
        if following is not None:
            self.timers.register(following, key)

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self.due.setdefault(key, [])

    def after_timers(self) -> None:
        self._run_due()

    def flush(self) -> None:
        for key, time, row in self.arrived.rest():
            if self.waiting.add(key, time, row):
                self.timers.register(time, key)
        super().flush()

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.arrived.clear()
        self.due = {}

    # --- the automaton -------------------------------------------------------------------------

    def _run_due(self) -> None:
        stored, self.due = self.due, {}
        until = self.current_watermark if self.event_time else MAX_TIMESTAMP
        arrived = self.arrived.until(until)
        if not stored and arrived is None:
            return
        try:
            found: list[Line] = []
            for key, lines in self._by_key(stored, arrived).items():
                found += map(self._measured, self._matches(key, lines))
        except Exception as error:
            raise self.failed(error) from error
        self.emit_rows(found)

    def _by_key(
        self, stored: dict[Any, list[Timed]], arrived: DueLines | None
    ) -> dict[Any, list[MaskedLine]]:
        """The lines of each key that may matter, in order."""
        waited = {
            key: [MaskedLine(time, row, self.nfa.automaton.mask(row)) for time, row in lines]
            for key, lines in stored.items()
        }
        if arrived is None:
            found = waited
        else:

            def has_state(key: Any) -> bool:
                return key in waited or self.matches.get(key) is not None

            found = arrived.of_keys(self.masks, self._begins, has_state)
            for key, lines in waited.items():
                # those of one time came before
                merged = [*lines, *found.get(key, ())]
                found[key] = sorted(merged, key=itemgetter(0)) if lines else merged
        if self.spec.order:
            return {key: self._in_order(lines) for key, lines in found.items()}
        return found

    def _begins(self, mask: int) -> bool:
        """Whether a line may begin a match; without a match it does not matter otherwise."""
        automaton = self.nfa.automaton
        moves = automaton.moves(automaton.start, mask)
        return moves is None or any(move.is_take for move in moves)

    def _in_order(self, lines: list[MaskedLine]) -> list[MaskedLine]:
        """Lines of one time by the other columns of ORDER BY."""
        by_order = self.ordering.key
        return [
            each
            for _, group in groupby(lines, key=itemgetter(0))
            for each in sorted(group, key=lambda line: by_order(line.row))
        ]

    def _matches(self, key: Any, lines: list[MaskedLine]) -> Iterable[PatternMatch]:
        """The matches that lines of a key complete, in order."""
        nfa, packed = self.nfa, self.matches.get(key)
        state = nfa.initial_state() if packed is None else MatchState.unpack(packed)
        found: list[PatternMatch] = []
        limited = self.spec.within_ms is not None
        for time, row, mask in lines:
            if limited:
                found += nfa.advance_time(state, time)[0]
            found += nfa.process(state, row, time, mask)
        if limited and self.event_time:
            found += nfa.advance_time(state, self.current_watermark)[0]
        elif limited and not lines:  # as in Flink a key's time goes no further than its line
            found += nfa.advance_time(state, self.runtime.clock())[0]
        if not state.is_initial:
            self.matches.put(key, state.pack())
            self._wake_when_over(key, state)
        elif packed is not None:
            self.matches.remove(key)
        return found

    def _wake_when_over(self, key: Any, state: MatchState) -> None:
        """Partial matches whose time is over are forgotten, also if their key is silent."""
        over = self.nfa.next_timeout(state)
        if over is not None and over < MAX_TIMESTAMP and self.timers.takes_more:
            self.timers.register(over, key)

    def _measured(self, match: PatternMatch) -> Line:
        seen = FoundMatch(match, self.runtime.clock)
        first = match.path[0][1]
        return (
            *[first[place] for place in self.spec.partition],
            *[measure(self.no_line, seen) for measure in self.measures],
        )


class FoundMatch:
    """A match, as measures see it."""

    def __init__(self, match: PatternMatch, clock: Any) -> None:
        self._match = match
        self._by_variable = match.events()
        self.clock = clock

    def lines(self, variable: str | None) -> Sequence[Line]:
        """The lines of a variable, or of all of them, in order."""
        if variable is None:
            return [line for _, line, _ in self._match.path]
        return self._by_variable.get(variable, ())

    def time(self) -> int:
        """The event time of the line that completed it."""
        return self._match.timestamp
