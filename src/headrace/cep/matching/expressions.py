"""Measures and conditions of MATCH_RECOGNIZE, computed for one line and what it sees of a match.

    MatchExpression(scalar, looks)  ─▶  f(line, match): looks become values behind the line's own,
                                        and the scalar is computed over all of them

In: scalars/matches.py.  Out: Python values.  Next: cep/matching/operator.py
"""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, assert_never

from headrace.common import data_types as t
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.runtime.table.aggregates.registry import aggregate_for
from headrace.runtime.table.user_functions import function_context, open_aggregates
from headrace.scalars.evaluate import Projector
from headrace.scalars.matches import AggregateLook, EventLook, TimeLook
from headrace.scalars.nodes import Ref, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.runtime.operators.base import Operator
    from headrace.scalars.matches import MatchExpression, MatchLook
    from headrace.scalars.session import ScalarSession

    Line = tuple[Any, ...]

_EPOCH = dt.datetime(1970, 1, 1)
_INSTANT = _EPOCH.replace(tzinfo=dt.UTC)


class SeenMatch(Protocol):
    """What an expression sees of a match."""

    def lines(self, variable: str | None) -> Sequence[Line]:
        """The lines of a variable so far, or of all of them, in order."""
        ...

    def time(self) -> int:
        """The event time of the last line."""
        ...

    def clock(self) -> int:
        """The wall clock."""
        ...


class MatchFunction:
    """A measure or condition that can be called.

    Args:
        expression: what to compute.
        width: how many columns a line has.
        session: of the query.
    """

    def __init__(self, expression: MatchExpression, width: int, session: ScalarSession) -> None:
        self._projector = Projector((expression.scalar,), session)
        kinds = _types_of(expression, width)
        self._looks = [
            _Look(look, kinds.get(width + place), session)
            for place, look in enumerate(expression.looks)
        ]

    def open(self, operator: Operator) -> None:
        """Compile, and open functions of users."""
        self._projector.open(function_context(operator.runtime))
        self._function = self._projector.row_functions()[0]
        for look in self._looks:
            look.open(operator)
        self._seen = [look.value for look in self._looks]

    def close(self) -> None:
        """Close functions of users."""
        self._projector.close()
        for look in self._looks:
            look.close()

    def __call__(self, line: Line, match: SeenMatch) -> Any:
        return self._function((*line, *[look(match) for look in self._seen]))


def _types_of(expression: MatchExpression, width: int) -> dict[int, t.DataType]:
    """The types of the columns behind the line's own."""
    parts = (part for part in walk(expression.scalar) if isinstance(part, Ref))
    return {part.index: part.type for part in parts if part.index >= width}


class _Look:
    """One look at a match.

    Args:
        look: at what.
        kind: of its value; None if nobody reads it.
        session: of the query.
    """

    def __init__(self, look: MatchLook, kind: t.DataType | None, session: ScalarSession) -> None:
        self._look = look
        self._kind = kind
        self._session = session
        self._operands: Projector | None = None
        self._closing: list[Any] = []
        self.value: Callable[[SeenMatch], Any]

    def open(self, operator: Operator) -> None:
        """Choose what is called for each line."""
        match self._look:
            case EventLook() as look:
                place = look.offset if look.first else -1 - look.offset
                self.value = partial(_value_at, look.variable, look.offset, place, look.column)
            case TimeLook() as look:
                self.value = partial(_time_of, _maker_of(self._kind), processing=look.processing)
            case AggregateLook() as look:
                self._open_aggregate(look, operator)
            case _:
                assert_never(self._look)

    def _open_aggregate(self, look: AggregateLook, operator: Operator) -> None:
        fields = [t.RowField(f"f{n}", each.type) for n, each in enumerate(look.operands)]
        kinds = RowDataTypeInfo(t.RowType(fields).not_null(), changes=False)
        form = aggregate_for(look.call, kinds, retracts=False, session=self._session)
        self._operands = Projector(look.operands, self._session)
        self._operands.open(function_context(operator.runtime))
        functions = self._operands.row_functions()
        self._closing = open_aggregates(operator, (look.call,))

        def value(match: SeenMatch) -> Any:
            state = form.create()
            for line in match.lines(look.variable):
                state = form.accumulate(state, tuple([each(line) for each in functions]))
            return form.value(state)

        self.value = value

    def close(self) -> None:
        """Close functions of users."""
        if self._operands is not None:
            self._operands.close()
        for function in self._closing:
            function.close()


def _value_at(variable: str | None, offset: int, place: int, column: int, match: SeenMatch) -> Any:
    lines = match.lines(variable)
    return lines[place][column] if len(lines) > offset else None


def _time_of(made: Callable[[int], Any], match: SeenMatch, *, processing: bool) -> Any:
    return made(match.clock() if processing else match.time())


def _maker_of(kind: t.DataType | None) -> Callable[[int], Any]:
    """What makes a time of milliseconds, as it is kept in lines."""
    if isinstance(kind, t.TimestampType | t.LocalZonedTimestampType) and kind.precision > 6:
        return lambda millis: millis * 1_000_000
    begin = _INSTANT if isinstance(kind, t.LocalZonedTimestampType) else _EPOCH
    return lambda millis: begin + dt.timedelta(milliseconds=millis)
