"""Makes the automaton of a pattern, from its last stage to its first.

    a.one_or_more ─▶ b      [a] ──take a──▶ [a:0] ──proceed──▶ [b] ──take b──▶ [$endState$]
                                            [a:0] ──take a──▶ [a:0]

Each stage becomes states that lead into the states behind it; what must not come becomes edges
into a stop state.  The states and the order of their edges are those of Flink's compiler, since the
order of matches follows from them.

In: cep/pattern.py.  Out: cep/automaton.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cep.automaton import (
    TRUE,
    Action,
    Automaton,
    AutomatonState,
    Guard,
    Holds,
    Not,
    StateKind,
    Term,
    both,
    is_always,
)
from headrace.cep.pattern import (
    END_STATE,
    NAME_DELIMITER,
    Contiguity,
    GroupPattern,
    Pattern,
    Repetition,
    Times,
    WithinType,
)
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator


def compile_pattern(pattern: Pattern) -> Automaton:
    """The automaton of a pattern.

    Args:
        pattern: its last stage.

    Raises:
        InvalidArgumentError: there cannot be one; with the line of the stage that is at fault.
    """
    check_pattern(pattern)
    compiler = _Compiler(pattern)
    automaton = compiler.compile()
    _refuse_endless_proceeding(automaton, pattern)
    _refuse_stop_before_the_start(automaton, pattern)
    return automaton


# --- what cannot work ----------------------------------------------------------------------------


def check_pattern(pattern: Pattern) -> None:
    """Refuse what Flink's compiler refuses."""
    seen: dict[str, Pattern] = {}
    for stage in all_stages(pattern):
        if isinstance(stage, GroupPattern):
            continue
        if stage.name == END_STATE:
            raise InvalidArgumentError(
                f"{END_STATE} is the name of every pattern's last state",
                where=stage.where_made,
                fix="choose another name",
            )
        first = seen.setdefault(stage.name, stage)
        if first is not stage:
            raise InvalidArgumentError(
                f"the name {stage.name!r} is used twice in a pattern, so a match could not say "
                "which stage an event is of",
                where=f"{first.where_made}; also used at {stage.where_made}",
                fix="give each stage a name of its own",
            )
    _check_skip(pattern)
    _check_times(pattern)


def all_stages(pattern: Pattern) -> Iterator[Pattern]:
    """All stages, the last one first, those of a group behind it."""
    for stage in pattern.stages():
        yield stage
        if isinstance(stage, GroupPattern):
            yield from all_stages(stage.group)


def _check_skip(pattern: Pattern) -> None:
    name = pattern.skip_strategy.pattern_name
    # as Flink: a stage inside a group is not found
    if name is not None and all(stage.name != name for stage in pattern.stages()):
        known = ", ".join(repr(s.name) for s in list(pattern.stages())[::-1])
        raise InvalidArgumentError(
            f"the skip strategy skips to {name!r}, which is no stage of the pattern",
            where=pattern.where_made,
            fix=f"skip to one of {known}",
        )


def _check_times(pattern: Pattern) -> None:
    # A limit on an earlier stage does not reach this one: Flink then forgets the stage.
    if pattern.contiguity is Contiguity.NOT_FOLLOWED and not pattern.windows_ms:
        raise InvalidArgumentError(
            f"the pattern ends with not_followed_by({pattern.name!r}) and has no time limit there, "
            "so it would wait for ever",
            where=pattern.where_made,
            fix="call within(...) on this last stage",
        )


def _whole(stage: Pattern) -> int | None:
    return stage.windows_ms.get(WithinType.FIRST_AND_LAST)


def _refuse_endless_proceeding(automaton: Automaton, pattern: Pattern) -> None:
    """A repeated group that may be empty would repeat its nothing for ever; in Flink it does."""
    done: set[int] = set()
    for state in automaton.states:
        path: list[AutomatonState] = []
        if _proceeds_to_itself(state, path, done):
            raise InvalidArgumentError(
                "a group that repeats consists of optional stages only, so nothing could repeat "
                "for ever",
                where=pattern.where_made,
                fix="let one stage of the group not be optional, and make the group optional",
            )


def _proceeds_to_itself(state: AutomatonState, path: list[AutomatonState], done: set[int]) -> bool:
    if state in path:
        return True
    if state.number in done:
        return False
    path.append(state)
    found = any(
        _proceeds_to_itself(edge.target, path, done)
        for edge in state.edges
        if edge.action is Action.PROCEED
    )
    path.pop()
    done.add(state.number)
    return found


def _refuse_stop_before_the_start(automaton: Automaton, pattern: Pattern) -> None:
    """What must not come would end a match that has not begun; Flink's jobs then fail."""
    seen: set[int] = set()
    waiting = [automaton.states[automaton.start]]
    while waiting:
        state = waiting.pop()
        if state.kind is StateKind.STOP:
            raise InvalidArgumentError(
                "the pattern begins with a group that may be empty, and what follows it must not "
                "come: a match would end before it began",
                where=pattern.where_made,
                fix="use two patterns, one with the optional part and one without it",
            )
        if state.number not in seen:
            seen.add(state.number)
            proceeding = (edge for edge in state.edges if edge.action is Action.PROCEED)
            waiting += [edge.target for edge in proceeding]


# --- states --------------------------------------------------------------------------------------


class _Compiler:
    """Goes through the stages backwards; `current` is the one at hand."""

    def __init__(self, pattern: Pattern) -> None:
        self.last = pattern
        self.current = pattern
        self.following: Pattern | None = None
        self.group: GroupPattern | None = None
        self.window_ms: int | None = None
        self.states: list[AutomatonState] = []
        self.names: set[str] = set()
        self.stop_states: dict[str, AutomatonState] = {}
        self.first_of_loop: dict[int, bool] = {}
        # greedy loops with until: the sink as it was before it had to wait for the loop
        self.unguarded: dict[str, AutomatonState] = {}
        self.terms: list[Term] = []
        self.term_of: dict[tuple[int, str], Term] = {}

    def compile(self) -> Automaton:
        sink = self.new_state(END_STATE, StateKind.FINAL)
        self.window_ms = _whole(self.current)
        sink = self.middle_states(sink)
        start = self.convert(sink)
        start.kind = StateKind.START
        self.check_limits()
        return Automaton(self.states, self.terms, self.window_ms or 0, self.last.skip_strategy)

    def check_limits(self) -> None:
        limit = self.window_ms
        if limit is not None and any(state.within_ms > limit for state in self.states):
            raise InvalidArgumentError(
                "a time limit between two events is longer than that of the whole pattern, "
                f"{limit} ms",
                where=self.last.where_made,
                fix="make the limit with WithinType.PREVIOUS_AND_CURRENT the shorter one",
            )

    def middle_states(self, sink: AutomatonState) -> AutomatonState:
        """The states of all stages but the first."""
        while self.current.previous is not None:
            match self.current.contiguity:
                case Contiguity.NOT_FOLLOWED:
                    sink = self.not_followed(sink)
                case Contiguity.NOT_NEXT:
                    sink = self.not_next(sink)
                case _:
                    sink = self.convert(sink)
            self.following = self.current
            self.current = self.current.previous
            window = _whole(self.current)
            if window is not None and (self.window_ms is None or window < self.window_ms):
                self.window_ms = window
        return sink

    def not_followed(self, sink: AutomatonState) -> AutomatonState:
        """Before another stage it is an edge of that one; last, it waits for the time limit."""
        limited = WithinType.PREVIOUS_AND_CURRENT in self.current.windows_ms or self.window_ms
        if not limited or sink.kind is not StateKind.FINAL:
            if self.group is not None and self.current is self.group.group:
                raise self.ends_with_not()
            return sink
        state = self.stage_state(StateKind.PENDING)
        unwanted = self.take_guard(self.current)
        stop = self.stop_state(unwanted, self.current.name)
        state.add(Action.PROCEED, stop, unwanted)
        state.add(Action.IGNORE, state, Not(unwanted))
        return state

    def ends_with_not(self) -> InvalidArgumentError:
        name = self.current.name
        return InvalidArgumentError(
            f"a group ends with not_followed_by({name!r}), and nothing says until when; Flink "
            "forgets such a stage",
            where=self.current.where_made,
            fix="put it behind the group, followed by another stage or with within(...)",
        )

    def not_next(self, sink: AutomatonState) -> AutomatonState:
        state = self.stage_state(StateKind.NORMAL)
        unwanted = self.take_guard(self.current)
        stop = self.stop_state(unwanted, self.current.name)
        # a final state is not proceeded to: the match would be complete before the event came
        action = Action.IGNORE if sink.kind is StateKind.FINAL else Action.PROCEED
        state.add(action, sink, Not(unwanted))
        state.add(Action.PROCEED, stop, unwanted)
        return state

    def convert(self, sink: AutomatonState) -> AutomatonState:
        """The states of the stage at hand; the first of them."""
        stage = self.current
        if stage.repetition is Repetition.LOOP:
            assert stage.times_range is not None
            self.set_first_of_loop(is_first=False)
            # once the loop has begun, what must not come before an optional stage may come
            looping = self.looping(self.without_passed_nots(sink))
            self.set_first_of_loop(is_first=True)
            first = self.times_states(looping, sink, stage.times_range)
        elif stage.repetition is Repetition.TIMES:
            assert stage.times_range is not None
            first = self.times_states(sink, sink, stage.times_range)
        else:
            first = self.singleton(
                sink,
                sink,
                self.take_guard(stage),
                self.ignore_guard(stage),
                is_optional=stage.is_optional,
            )
        self.add_stops(first)
        return first

    # --- creating states -------------------------------------------------------------------------

    def new_state(self, name: str, kind: StateKind) -> AutomatonState:
        unique, number = name, 0
        while unique in self.names:
            unique, number = f"{name}{NAME_DELIMITER}{number}", number + 1
        self.names.add(unique)
        state = AutomatonState(unique, unique.split(NAME_DELIMITER)[0], kind)
        self.states.append(state)
        return state

    def stage_state(self, kind: StateKind, *, takes: bool = True) -> AutomatonState:
        state = self.new_state(self.current.name, kind)
        times = self.current.times_range
        if not takes:
            return state
        if times is None:
            limit = self.current.windows_ms.get(WithinType.PREVIOUS_AND_CURRENT)
            state.within_ms = limit or 0
        elif NAME_DELIMITER in state.name:
            state.within_ms = times.within_ms or 0
        return state

    def stop_state(self, unwanted: Guard, name: str) -> AutomatonState:
        stop = self.stop_states.get(name)
        if stop is None:
            stop = self.stop_states[name] = self.new_state(name, StateKind.STOP)
            stop.add(Action.TAKE, stop, unwanted)
        return stop

    def unwanted_before(self) -> list[tuple[Guard, str]]:
        """What must not come before the stage at hand, across optional stages."""
        found: list[tuple[Guard, str]] = []
        previous = self.current.previous
        while previous is not None and (
            previous.is_optional or previous.contiguity is Contiguity.NOT_FOLLOWED
        ):
            if previous.contiguity is Contiguity.NOT_FOLLOWED:
                found.append((self.take_guard(previous), previous.name))
            previous = previous.previous
        return found

    def without_passed_nots(self, sink: AutomatonState) -> AutomatonState:
        """A copy of the sink without the stops that no longer count once this stage has begun."""
        unwanted = self.unwanted_before()
        if not unwanted or not self.current.is_optional:
            return sink
        names = {name for _, name in unwanted}
        copied = self.new_state(sink.name, sink.kind)
        for edge in list(sink.edges):
            target = edge.target
            if edge.action is Action.PROCEED:
                if target.kind is StateKind.STOP:
                    if target.name in names:
                        continue
                else:
                    target = self.without_passed_nots(target)
            elif target is sink:
                target = copied
            copied.add(edge.action, target, edge.guard)
        return copied

    def copy(self, state: AutomatonState) -> AutomatonState:
        copied = self.new_state(state.stage, state.kind)
        for edge in list(state.edges):
            target = copied if edge.target is state else edge.target
            copied.add(edge.action, target, edge.guard)
        return copied

    def add_stops(self, state: AutomatonState) -> None:
        for unwanted, name in self.unwanted_before():
            state.add(Action.PROCEED, self.stop_state(unwanted, name), unwanted)

    def add_stop_to_loop(self, state: AutomatonState) -> None:
        following = self.following
        if following is not None and following.contiguity is Contiguity.NOT_FOLLOWED:
            unwanted = self.take_guard(following)
            stop = self.stop_state(unwanted, following.name)
            state.add(Action.PROCEED, stop, unwanted)

    # --- stages that take events -----------------------------------------------------------------

    def times_states(
        self, sink: AutomatonState, proceed: AutomatonState, times: Times
    ) -> AutomatonState:
        stage = self.current
        self.set_first_of_loop(is_first=False)
        until = self.until_guard(stage)
        ignore = _unless(self.inner_ignore_guard(stage), until)
        take = _unless_taken(self.take_guard(stage), until)
        if stage.is_greedy and times.least != times.most:
            if until is not None:
                self.unguarded[sink.name] = self.copy(sink)
            _wait_for(sink, take)
        last = sink
        for _ in range(times.least, times.most):
            last = self.singleton(last, proceed, take, ignore, is_optional=True)
            self.add_stop_to_loop(last)
        for _ in range(times.least - 1):
            last = self.singleton(last, None, take, ignore, is_optional=False)
            self.add_stop_to_loop(last)
        self.set_first_of_loop(is_first=True)
        first_ignore = self.ignore_guard(stage)
        return self.singleton(last, proceed, take, first_ignore, is_optional=stage.is_optional)

    def singleton(
        self,
        sink: AutomatonState,
        proceed: AutomatonState | None,
        take: Guard,
        ignore: Guard | None,
        *,
        is_optional: bool,
    ) -> AutomatonState:
        if isinstance(self.current, GroupPattern):
            return self.group_states(self.current, sink, proceed, is_optional=is_optional)
        state = self.stage_state(StateKind.NORMAL)
        taken = self.without_passed_nots(sink)
        state.add(Action.TAKE, taken, take)
        if is_optional:
            assert proceed is not None
            self.add_way_around(state, proceed)
        if ignore is None:
            return state
        waiting = state
        if is_optional or self.is_head_of_optional_group():
            # waiting, it must not go around again: that is decided by the first event
            waiting = self.stage_state(StateKind.NORMAL, takes=False)
            waiting.add(Action.TAKE, taken, take)
            waiting.add(Action.IGNORE, waiting, ignore)
            self.add_stops(waiting)
        state.add(Action.IGNORE, waiting, ignore)
        return state

    def add_way_around(self, state: AutomatonState, proceed: AutomatonState) -> None:
        free = self.true_guard()
        until = self.until_guard(self.current)
        if not self.current.is_greedy or until is None:
            state.add(Action.PROCEED, proceed, free)
            return
        unguarded = self.unguarded.get(proceed.name)
        if unguarded is None:
            raise InvalidArgumentError(
                f"pattern {self.current.name!r} is greedy, optional and has an until, behind "
                "something that must not come; Flink's automaton for it has a missing state",
                where=self.current.where_made,
                fix="leave out greedy() or until(...), or use two patterns",
            )
        state.add(Action.PROCEED, unguarded, both(free, until))
        state.add(Action.PROCEED, proceed, both(free, Not(until)))

    def looping(self, sink: AutomatonState) -> AutomatonState:
        stage = self.current
        if isinstance(stage, GroupPattern):
            return self.looping_group(stage, sink)
        until = self.until_guard(stage)
        ignore = _unless(self.inner_ignore_guard(stage), until)
        take = _unless_taken(self.take_guard(stage), until)
        free = self.true_guard()
        state = self.stage_state(StateKind.NORMAL)
        if stage.is_greedy:
            if until is not None:
                unguarded = self.copy(sink)
                state.add(Action.PROCEED, unguarded, both(free, until))
                self.unguarded[sink.name] = unguarded
            state.add(Action.PROCEED, sink, free if until is None else both(free, Not(until)))
            _wait_for(sink, self.take_guard(stage))
        else:
            state.add(Action.PROCEED, sink, free)
        state.add(Action.TAKE, state, take)
        self.add_stop_to_loop(state)
        if ignore is not None:
            waiting = self.stage_state(StateKind.NORMAL, takes=False)
            waiting.add(Action.TAKE, state, take)
            waiting.add(Action.IGNORE, waiting, ignore)
            state.add(Action.IGNORE, waiting, ignore)
            self.add_stop_to_loop(waiting)
        return state

    # --- groups ----------------------------------------------------------------------------------

    def group_states(
        self,
        group: GroupPattern,
        sink: AutomatonState,
        proceed: AutomatonState | None,
        *,
        is_optional: bool,
    ) -> AutomatonState:
        free = self.true_guard()
        outer = (self.current, self.following, self.group)
        self.group, self.current = group, group.group
        first = self.convert(self.middle_states(sink))
        if is_optional:
            assert proceed is not None
            first.add(Action.PROCEED, proceed, free)
        self.current, self.following, self.group = outer
        return first

    def looping_group(self, group: GroupPattern, sink: AutomatonState) -> AutomatonState:
        free = self.true_guard()
        outer = (self.current, self.following, self.group)
        again = self.stage_state(StateKind.NORMAL)
        self.group, self.current = group, group.group
        first = self.convert(self.middle_states(again))
        first.add(Action.PROCEED, sink, free)
        again.add(Action.PROCEED, first, free)
        self.current, self.following, self.group = outer
        return first

    def set_first_of_loop(self, *, is_first: bool) -> None:
        if isinstance(self.current, GroupPattern):
            self.first_of_loop[id(self.current)] = is_first

    def is_first_of_loop(self) -> bool:
        return self.first_of_loop.get(id(self.group), True)

    def is_head_of_group(self, stage: Pattern) -> bool:
        return self.group is not None and stage.previous is None

    def is_head_of_optional_group(self) -> bool:
        if not self.is_head_of_group(self.current):
            return False
        assert self.group is not None
        return self.is_first_of_loop() and self.group.is_optional

    # --- guards ----------------------------------------------------------------------------------

    def term(self, stage: Pattern, role: str) -> Guard:
        """The guard of a stage's condition; each is one term, wherever it is asked."""
        condition = stage.take_condition() if role == "where" else stage.until_condition
        assert condition is not None
        if is_always(condition):
            return TRUE
        found = self.term_of.get((id(stage), role))
        if found is None:
            found = Term(len(self.terms), stage.name, role, condition)
            self.terms.append(found)
            self.term_of[id(stage), role] = found
        return Holds(found)

    def until_guard(self, stage: Pattern) -> Guard | None:
        return None if stage.until_condition is None else self.term(stage, "until")

    def group_until(self) -> Guard | None:
        return None if self.group is None else self.until_guard(self.group)

    def take_guard(self, stage: Pattern) -> Guard:
        return _unless_taken(self.term(stage, "where"), self.group_until())

    def true_guard(self) -> Guard:
        return _unless_taken(TRUE, self.group_until())

    def inner_ignore_guard(self, stage: Pattern) -> Guard | None:
        how = stage.inner_contiguity
        if self.is_head_of_group(stage):
            assert self.group is not None
            how = self.group.inner_contiguity
        return self.passing_over(stage, how)

    def ignore_guard(self, stage: Pattern) -> Guard | None:
        how = stage.contiguity
        if self.is_head_of_group(stage):
            assert self.group is not None
            group = self.group
            how = group.contiguity if self.is_first_of_loop() else group.inner_contiguity
        return self.passing_over(stage, how)

    def passing_over(self, stage: Pattern, how: Contiguity) -> Guard | None:
        ignore: Guard | None = None
        if how is Contiguity.RELAXED:
            ignore = Not(self.term(stage, "where"))
        elif how is Contiguity.ANY:
            ignore = TRUE
        return _unless(ignore, self.group_until())


def _unless(guard: Guard | None, until: Guard | None) -> Guard | None:
    """A guard that also needs the loop not to have ended; none stays none."""
    return guard if guard is None or until is None else both(Not(until), guard)


def _unless_taken(guard: Guard, until: Guard | None) -> Guard:
    return guard if until is None else both(Not(until), guard)


def _wait_for(sink: AutomatonState, take: Guard) -> None:
    """A greedy loop goes first: the sink acts only on events that the loop does not take."""
    for edge in sink.edges:
        edge.guard = both(edge.guard, Not(take))
