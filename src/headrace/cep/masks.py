"""What each event of a batch says about the conditions of a pattern, many events at a time.

    column expressions over an Arrow batch   kernels; events that matter not are never decoded
    functions                                one call for each event
    a batch in which a function raises       one by one: the event may never get there

In: records.  Out: a mask for each (cep/automaton.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from headrace.cep.conditions import AllOf, AnyOf, Atom, RowCondition
from headrace.expr.kernels import BatchEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from headrace.cep.automaton import Automaton, Term
    from headrace.cep.conditions import EventCondition
    from headrace.data.records import Records

    Bools = NDArray[np.bool_]
    Masks = NDArray[Any]


class EventMasks:
    """Evaluates the terms of an automaton over lists of events."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._columns = [_ColumnTerm(term.condition) for term in automaton.terms]
        self._calls = [_function(term) for term in automaton.terms]
        # two bits a term; Python's numbers where machine numbers are too short
        self._kind: Any = np.int64 if len(automaton.terms) < 31 else np.object_

    def of(self, records: Records) -> Masks:
        """The mask of each record."""
        found = self._by_columns(records)
        return self._by_functions(records.values) if found is None else found

    def _by_columns(self, records: Records) -> Masks | None:
        if records.columns is None:
            return None
        masks = np.zeros(len(records), self._kind)
        for number, column in enumerate(self._columns):
            holds = column.of(records)
            if holds is None:
                return None
            masks |= holds.astype(self._kind) << number
        return masks

    def _by_functions(self, values: list[Any]) -> Masks:
        count = len(values)
        masks = np.zeros(count, self._kind)
        try:
            for number, call in enumerate(self._calls):
                if call is None:
                    masks |= self._may_hold(number, values)
                else:
                    holds = np.fromiter(map(call, values), np.bool_, count)
                    masks |= holds.astype(self._kind) << number
        except Exception:
            return np.fromiter(map(self._automaton.mask, values), self._kind, count)
        return masks

    def _may_hold(self, number: int, values: list[Any]) -> Masks:
        unknown = 1 << (len(self._calls) + number)
        bits = {True: 1 << number, False: 0, None: unknown}
        may_hold = self._automaton.terms[number].condition.may_hold
        found = [bits[answer] for answer in map(may_hold, values)]
        return np.fromiter(found, self._kind, len(values))


def _function(term: Term) -> Callable[[Any], Any] | None:
    """A function of the event alone that decides a term; None if there is none."""
    condition = term.condition
    if condition.is_iterative:
        return None
    if isinstance(condition, Atom):
        return condition.call
    return lambda event: condition.test(event, None)


class _ColumnTerm:
    """A condition that consists of column expressions only."""

    def __init__(self, condition: EventCondition) -> None:
        self._condition = condition
        self._evaluators: dict[int, BatchEvaluator] = {}

    def of(self, records: Records) -> Bools | None:
        """For each record whether it holds; None where functions have to be asked."""
        return self._evaluate(self._condition, records)

    def _evaluate(self, condition: EventCondition, records: Records) -> Bools | None:
        if isinstance(condition, Atom):
            return self._atom(condition, records)
        if not isinstance(condition, AllOf | AnyOf):
            return None
        first = self._evaluate(condition.first, records)
        second = None if first is None else self._evaluate(condition.second, records)
        if first is None or second is None:
            return None
        return first & second if isinstance(condition, AllOf) else first | second

    def _atom(self, atom: Atom, records: Records) -> Bools | None:
        if not isinstance(atom.call, RowCondition):
            return None
        evaluator = self._evaluators.get(id(atom))
        if evaluator is None:
            evaluator = self._evaluators[id(atom)] = BatchEvaluator(atom.call.expression.node)
        column = evaluator(records)
        if column is None:
            return None
        found: Bools = pc.fill_null(column, False).to_numpy(zero_copy_only=False)  # noqa: FBT003
        return found
