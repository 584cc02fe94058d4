"""Plays a case to headrace's operator, and writes down what comes out as java/Patterns.java does.

In: cases.py's cases.  Out: answers like Flink's (flink.py).  Next: test_cep.py compares
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headrace.api.output_tag import OutputTag
from headrace.cep.dynamic_operator import DynamicPatternOperator, DynamicPatterns
from headrace.cep.functions import PatternProcessFunction
from headrace.cep.operator import CepOperator
from headrace.data.records import Records
from headrace.errors import HeadraceError
from headrace.testing.harness import KeyedHarness, TwoInputHarness
from oracle.cep.patterns import Event, pattern_of
from oracle.cep.texts import document_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.cep.cases import Case, Json

LATE = OutputTag("late")

# Where the input is cut into batches, with a restart after each: nowhere, or behind every item.
Cuts = Literal["none", "all"]


def answer(case: Case, cuts: Cuts = "none") -> Json:
    """What headrace gives for a case."""
    play = _Play(case, cuts)
    try:
        operator = CepOperator(
            pattern_of(case["pattern"], by_columns=case["seed"] % 2 == 0),
            _function(case),
            event_time=case["time"] == "event",
            late_tag=LATE.tag_id,
        )
        with KeyedHarness(operator, ("key",)) as harness:
            play.run(harness)
    except HeadraceError as error:
        if play.began:
            return {"log": play.log, "failed": error.message}
        return {"refused": error.message}
    return {"log": play.log}


def answer_by_document(case: Case, cuts: Cuts = "none") -> Json:
    """The same with the pattern as a document that comes while the job runs; None if it cannot."""
    document = document_of(case["pattern"])
    if document is None:
        return None
    settings = DynamicPatterns(
        event_time=case["time"] == "event",
        keeps_old=True,
        columns=Event._fields,
        refused_tag=None,
        late_tag=LATE.tag_id,
    )
    operator = DynamicPatternOperator(_function(case), settings)
    play = _Play(case, cuts)
    with TwoInputHarness(operator, ("key", None)) as harness:
        try:
            harness.process_broadcast_element(document)
            play.run(harness)
        except HeadraceError as error:
            return {"log": play.log, "failed" if play.began else "refused": error.message}
    return {"log": play.log}


def _function(case: Case) -> PatternProcessFunction:
    return MatchesAndTimeouts() if case["timeouts"] else Matches()


# What the functions below have seen since the last item of the input; both outputs in one order.
_SEEN: list[Json] = []


class Matches(PatternProcessFunction):
    """Notes every match."""

    def process_match(self, match: Any, ctx: Any) -> None:
        _SEEN.append(["match", ctx.timestamp(), _stages(match)])


class MatchesAndTimeouts(Matches):
    """Notes partial matches that timed out, too."""

    def process_timed_out_match(self, match: Any, ctx: Any) -> None:
        _SEEN.append(["timeout", ctx.timestamp(), _stages(match)])


def _stages(match: dict[str, list[Event]]) -> Json:
    return [[name, [event.number for event in events]] for name, events in match.items()]


class _Play:
    """One case on its way through an operator."""

    def __init__(self, case: Case, cuts: Cuts) -> None:
        self._case = case
        self._cuts = cuts
        self._is_clock = case["time"] == "processing"
        self._late = 0
        self.began = False
        self.log: Json = []

    def run(self, harness: KeyedHarness) -> None:
        self.began = True
        _SEEN.clear()
        for position, kind, items in self._steps():
            try:
                self._play(harness, kind, items)
            finally:
                self._note(harness, position)
            if self._cuts == "all":
                harness.restore(harness.snapshot())
                self._note(harness, position)

    def _steps(self) -> Iterator[tuple[int, str, Json]]:
        """Items of the input; without cuts, events that follow each other come as one list."""
        events: Json = []
        for position, (kind, *item) in enumerate(self._case["input"], 1):
            if kind == "e" and self._cuts == "none" and not self._is_clock:
                events.append((position, item))
                continue
            if events:
                yield events[-1][0], "e", [each for _, each in events]
                events = []
            yield position, kind, [item]
        if events:
            yield events[-1][0], "e", [each for _, each in events]

    def _play(self, harness: KeyedHarness, kind: str, items: Json) -> None:
        match kind:
            case "e":
                times = None if self._is_clock else [item[-1] for item in items]
                harness.operator.process(Records([Event(*item[:4]) for item in items], times), 0)
            case "w":
                harness.operator.watermark(items[0][0], 0)
            case "t":
                self._move_clock(harness, items[0][0])

    @staticmethod
    def _move_clock(harness: KeyedHarness, clock: int) -> None:
        """Timers fire at their own time, one after the other."""
        while (due := harness.operator.next_processing_timer()) is not None and due <= clock:
            harness.set_processing_time(due)
        harness.set_processing_time(clock)

    def _note(self, harness: KeyedHarness, position: int) -> None:
        late = harness.timestamped_side_output(LATE)
        for event, timestamp in late[self._late :]:
            self.log.append(["late", self._position_of(event), timestamp, event.number])
        self._late = len(late)
        for kind, timestamp, stages in _SEEN:
            at = None if self._is_clock else timestamp
            self.log.append([kind, position, at, stages])
        _SEEN.clear()

    def _position_of(self, event: Event) -> int:
        """Late events of a list have places of their own."""
        items = self._case["input"]
        found: int = next(n for n, item in enumerate(items, 1) if item[:2] == ["e", event.number])
        return found
