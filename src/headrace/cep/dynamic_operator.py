"""Looks for patterns that come as documents while the job runs.

    input 0   events, keyed: wait until event time has passed them (processing time: do not wait)
    input 1   documents, broadcast: a new version holds for all events that are matched from then on

    key ─▶ {(id, version): partial matches}      in one entry of the key's state

In: events and documents.  Out: what the user's function makes of matches; late events, partial
matches that timed out and refused documents by side outputs.  Next: cep/pattern_versions.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.api.state import MapStateDescriptor
from headrace.cep.functions import MatchedEvents
from headrace.cep.operator import CepContext, no_timestamp, side_outputs
from headrace.cep.pattern_versions import PatternVersions
from headrace.common.typeinfo import Types
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.errors import HeadraceError
from headrace.runtime.operators.broadcast import BroadcastMap, BroadcastStates, broadcast_states
from headrace.runtime.operators.keyed import TimedOperator
from headrace.runtime.operators.late import LateRecords
from headrace.runtime.operators.process import ProcessOutput
from headrace.runtime.table.waiting import WaitingLines
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from headrace.cep.nfa import MatchState, PatternMatch
    from headrace.cep.pattern_versions import PatternVersion, VersionKey
    from headrace.common.opaque import UserFunction
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.state.recorded import Recorded
    from headrace.runtime.watermarks import InputClocks

EVENTS, DOCUMENTS = 0, 1
_MATCHES = StateSpec("matches", "table")
_PATTERNS = MapStateDescriptor("patterns", Types.STRING(), Types.STRING())


@dataclass(frozen=True, slots=True)
class DynamicPatterns:
    """How patterns that come as documents are looked for.

    Attributes:
        event_time: whether events wait for the watermark; else they are matched as they come.
        keeps_old: whether matches under way in an older version go on.
        columns: the names of the events' columns, if they are known.
        refused_tag: the side output of documents that cannot be used; without one they end the job.
        late_tag: the side output of late events.
    """

    event_time: bool
    keeps_old: bool
    columns: tuple[str, ...] | None
    refused_tag: str | None
    late_tag: str | None


class DynamicContext(CepContext):
    """The ctx of a PatternProcessFunction, which also says which pattern was found."""

    version: PatternVersion

    def pattern_id(self) -> str:
        """The id of the pattern's document."""
        return self.version.id

    def pattern_version(self) -> int:
        """The version of the pattern's document."""
        return self.version.version


class DynamicPatternOperator(TimedOperator):
    """Shows every event of a key to the versions of all patterns.

    Args:
        function: gets the matches.
        settings: how to look for them.
    """

    inputs = 2

    def __init__(self, function: UserFunction, settings: DynamicPatterns) -> None:
        super().__init__(function)
        self.settings = settings
        self.event_time = settings.event_time

    def state_specs(self) -> tuple[StateSpec, ...]:
        own = (*WaitingLines.specs(), _MATCHES, *broadcast_states([_PATTERNS]))
        return (*super().state_specs(), *own)

    def open(self, runtime: OperatorRuntime) -> None:
        self.broadcasts = BroadcastStates([_PATTERNS], runtime)
        super().open(runtime)
        settings = self.settings
        self.timers = self.event_timers if self.event_time else self.processing_timers
        # survives restart: what waits for its time; key -> partial matches of all versions
        self.waiting = WaitingLines(self.states)
        self.matches = self.states.table(_MATCHES.name)
        self.patterns = PatternVersions(
            runtime.clock, settings.columns, keeps_old=settings.keeps_old
        )
        self._load_patterns()
        self.late = LateRecords(runtime, settings.late_tag)
        self.out = ProcessOutput(self.output)
        self.context = DynamicContext(self)
        self.on_match = self.function.process_match
        self.on_timeout = getattr(self.function, "process_timed_out_match", None)

    def _load_patterns(self) -> None:
        stored = self.broadcasts.get(_PATTERNS, BroadcastMap)
        self.patterns.load(iter(stored.items()))

    def declared_states(self) -> dict[str, Recorded]:
        return super().declared_states() | self.broadcasts.records.declared()

    # --- time ------------------------------------------------------------------------------------

    def watermark(self, timestamp: int, input: int) -> None:
        """Event time is that of the events: documents have none, and must not hold it."""
        if input == EVENTS:
            self.clocks.update(DOCUMENTS, timestamp)
            super().watermark(timestamp, EVENTS)

    def idle(self, input: int) -> None:
        if input == EVENTS:
            self.clocks.set_idle(DOCUMENTS)
            super().idle(EVENTS)

    # --- records ---------------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:
        if input == DOCUMENTS:
            self._take_documents(records)
        elif self.event_time:
            self._keep_waiting(records)
        else:
            self._match_now(records)

    def _take_documents(self, records: Records) -> None:
        stored = self.broadcasts.get(_PATTERNS, BroadcastMap)
        refused: list[str] = []
        for document in records.values:
            try:
                changed = self.patterns.take(document)
            except HeadraceError as error:
                if self.settings.refused_tag is None:
                    raise
                refused.append(str(error))
                continue
            if changed is not None:
                stored.put(changed, self.patterns.stored_text(changed))
        # all subtasks get every document; one of them tells
        if refused and self.runtime.subtask == 0:
            assert self.settings.refused_tag is not None
            self.output.emit_side(self.settings.refused_tag, Records(refused, None))

    def _keep_waiting(self, records: Records) -> None:
        keys = self.keys(records, EVENTS)
        for key, (event, timestamp) in zip(keys, records.pairs(), strict=True):
            if timestamp is None or timestamp == MIN_TIMESTAMP:
                raise self.failed(no_timestamp("CEP.dynamic_patterns"), event)
            if timestamp <= self.current_watermark:
                self.late.add(event, timestamp)
            elif self.waiting.add(key, timestamp, event):
                self.timers.register(timestamp, key)
        self.late.flush()

    def _match_now(self, records: Records) -> None:
        now = self.runtime.clock()
        for key, event in zip(self.keys(records, EVENTS), records.values, strict=True):
            self._match(key, [(now, event)], now)
        self.out.flush()

    # --- timers ----------------------------------------------------------------------------------

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        now = self.current_watermark
        self._match(key, self.waiting.take(key, now), now)
        following = self.waiting.next_time(key)
        if following is not None:
            self.timers.register(following, key)

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._match(key, [], self.runtime.clock())

    def after_timers(self) -> None:
        self.out.flush()

    # --- the automata ----------------------------------------------------------------------------

    def _match(self, key: Any, events: list[tuple[int, Any]], now: int) -> None:
        """Show events of a key to all versions, and then tell them how late it is."""
        self.scope.set(key)
        before = self.matches.get(key)
        states = self._states(before or {})
        event: Any = None
        try:
            for timestamp, event in events:
                for version, state in states.values():
                    self._advance(version, state, timestamp)
                    found = version.nfa.process(state, event, timestamp)
                    self._emit(version, found, timestamp)
            for version, state in states.values():
                self._advance(version, state, now)
        except Exception as error:
            raise self.failed(error, event) from error
        self._keep(key, states, had_some=before is not None)

    def _states(
        self, packed: dict[VersionKey, Any]
    ) -> dict[VersionKey, tuple[PatternVersion, MatchState]]:
        found = {}
        for name, version in self.patterns.running().items():
            state = version.state(packed.get(name))
            if state is not None:
                found[name] = (version, state)
        return found

    def _keep(
        self,
        key: Any,
        states: dict[VersionKey, tuple[PatternVersion, MatchState]],
        *,
        had_some: bool,
    ) -> None:
        kept = {}
        for name, (version, state) in states.items():
            if not state.is_initial:
                kept[name] = state.pack()
                over = version.nfa.next_timeout(state)
                if over is not None and over < MAX_TIMESTAMP and self.timers.takes_more:
                    self.timers.register(over, key)
        if kept:
            self.matches.put(key, kept)
        elif had_some:
            self.matches.remove(key)

    def _advance(self, version: PatternVersion, state: MatchState, timestamp: int) -> None:
        waited, timed_out = version.nfa.advance_time(state, timestamp)
        self._emit(version, waited, timestamp)
        if self.on_timeout is not None:
            for match in timed_out:
                self._enter(version, match.timestamp)
                found = side_outputs(self.on_timeout(MatchedEvents(match), self.context))
                self.out.extend(found, match.timestamp if self.event_time else None)

    def _emit(self, version: PatternVersion, matches: list[PatternMatch], timestamp: int) -> None:
        for match in matches:
            self._enter(version, timestamp)
            results = self.on_match(MatchedEvents(match), self.context)
            self.out.extend(results, timestamp if self.event_time else None)

    def _enter(self, version: PatternVersion, timestamp: int) -> None:
        self.context.version, self.context.current = version, timestamp

    # --- the end of a batch ----------------------------------------------------------------------

    def drop_keys(self) -> None:
        self.broadcasts.flush()
        super().drop_keys()

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.broadcasts.forget()
        self._load_patterns()

    def flush(self) -> None:
        super().flush()
        self.broadcasts.flush()
