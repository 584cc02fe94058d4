"""The patterns that a job looks for at the moment, each with its newest version and older ones.

    document ─▶ take ─┬─▶ a new version: the newest from now on
                      └─▶ refused: cannot be read, or is not newer than what is known

In: documents, and what was stored of earlier ones.  Out: automata by (id, version).  Pure: the
operator keeps it in broadcast state.  Next: cep/dynamic_operator.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.cep.automaton import AutomatonState, StateKind
from headrace.cep.compiler import compile_pattern
from headrace.cep.documents import PatternDocument
from headrace.cep.nfa import NFA, NOT_STARTED, MatchState
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    # the id of a pattern and a version of it
    VersionKey = tuple[str, int]


class PatternVersion:
    """One version of a pattern, ready to be stepped through.

    Args:
        document: what it looks for.
        clock: the wall clock, for conditions.
        is_newest: whether new matches may begin; else only those under way go on.
    """

    def __init__(
        self, document: PatternDocument, clock: Callable[[], int], *, is_newest: bool
    ) -> None:
        assert document.pattern is not None
        automaton = compile_pattern(document.pattern)
        self.id = document.id
        self.version = document.version
        self.is_newest = is_newest
        if not is_newest:
            # a start without edges, behind all others: stored numbers of states stay what they are
            automaton.states[automaton.start].kind = StateKind.NORMAL
            closed = AutomatonState("$closed$", "$closed$", StateKind.START)
            automaton = type(automaton)(
                [*automaton.states, closed], automaton.terms, automaton.window_ms, automaton.skip
            )
        self.nfa = NFA(automaton, clock)

    def state(self, packed: tuple[Any, ...] | None) -> MatchState | None:
        """What a key remembers for this version; None if nothing can come of it."""
        if packed is None:
            return self.nfa.initial_state() if self.is_newest else None
        state = MatchState.unpack(packed)
        start = self.nfa.automaton.start
        state.partial = [
            (one[0], start, *one[2:]) if one[0] == NOT_STARTED else one for one in state.partial
        ]
        return state


class PatternVersions:
    """All patterns, in the order of their ids.

    Args:
        clock: the wall clock, for conditions.
        columns: the names of the events' columns, if they are known.
        keeps_old: whether matches under way in an older version go on.
    """

    def __init__(
        self, clock: Callable[[], int], columns: Collection[str] | None, *, keeps_old: bool
    ) -> None:
        self._clock = clock
        self._columns = columns
        self._keeps_old = keeps_old
        # id -> version -> document; the highest version is the newest
        self._documents: dict[str, dict[int, dict[str, Any]]] = {}
        self._running: dict[VersionKey, PatternVersion] | None = None

    # --- storing ---------------------------------------------------------------------------------

    def load(self, stored: Iterator[tuple[str, str]]) -> None:
        """Begin with what was stored: for each id what `stored_text` gave."""
        self._running = None
        self._documents = {
            name: {document["version"]: document for document in json.loads(text)}
            for name, text in stored
        }

    def stored_text(self, name: str) -> str:
        """What is to be stored of a pattern."""
        return json.dumps(list(self._documents[name].values()), ensure_ascii=False)

    # --- documents -------------------------------------------------------------------------------

    def take(self, given: object) -> str | None:
        """Let a document hold from now on.

        Returns:
            the id of the pattern that changed; None for a document that is known already.

        Raises:
            InvalidArgumentError: it cannot be used; with the reason.
        """
        if not isinstance(given, str | bytes | Mapping):
            raise InvalidArgumentError(
                f"a pattern document is a text of JSON or a dict, not {type(given).__name__}",
                where="pattern document",
                fix="map the records of the pattern stream to texts",
            )
        document = PatternDocument.read(given, self._columns)
        found, known = document.to_dict(), self._documents.get(document.id, {})
        newest = max(known, default=None)
        if newest is not None and document.version <= newest:
            if known.get(document.version) == found:
                return None
            raise InvalidArgumentError(
                f"version {document.version} is not newer than version {newest}, which holds "
                "already",
                where=f"pattern document {document.id!r}, $.version",
                fix=f"send it as version {newest + 1}",
            )
        old = known if self._keeps_old else {}
        self._documents[document.id] = {**old, document.version: found}
        self._running = None
        return document.id

    # --- running ---------------------------------------------------------------------------------

    def running(self) -> dict[VersionKey, PatternVersion]:
        """The versions that events are shown to, in the order of ids, older versions first."""
        if self._running is None:
            self._running = dict(self._made())
        return self._running

    def _made(self) -> Iterator[tuple[VersionKey, PatternVersion]]:
        for name in sorted(self._documents):
            known = self._documents[name]
            for version in sorted(known):
                document = PatternDocument.read(known[version])
                if document.pattern is not None:
                    newest = version == max(known)
                    made = PatternVersion(document, self._clock, is_newest=newest)
                    yield (name, version), made
