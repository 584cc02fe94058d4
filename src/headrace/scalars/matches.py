"""What expressions of MATCH_RECOGNIZE see of a match: lines of variables, and aggregates over them.

    B AS B.price > LAST(A.price, 1) + SUM(B.tax)

    scalar   Ref(price) > Ref(4) + Ref(5)                  columns of the current line, then looks
    looks    4: EventLook(A, price, offset 1)   5: AggregateLook(B, SUM, tax)

In: rel/resolve/match_recognize.py.  Out: what cep/matching/ computes, line by line.
Next: scalars/nodes.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.nodes import Scalar


@dataclass(frozen=True, slots=True)
class EventLook:
    """A column of one line of a match; NULL if there is no such line.

    Attributes:
        variable: whose lines are looked at; None for all lines of the match.
        column: its place in a line.
        first: whether lines are counted from the first one on, or back from the last one.
        offset: how many lines to go.
    """

    variable: str | None
    column: int
    first: bool = False
    offset: int = 0


@dataclass(frozen=True, slots=True)
class AggregateLook:
    """An aggregate over lines of a match.

    Attributes:
        variable: whose lines are taken; None for all lines of the match.
        call: the function; its arguments are places among the operands.
        operands: over the columns of a line.
    """

    variable: str | None
    call: AggregateCall
    operands: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class TimeLook:
    """The time of a match.

    Attributes:
        processing: whether it is the wall clock's, or the event time of the last line.
    """

    processing: bool = False


MatchLook = EventLook | AggregateLook | TimeLook


@dataclass(frozen=True, slots=True)
class MatchExpression:
    """A measure or a condition.

    Attributes:
        scalar: over the columns of the current line, and behind them the looks.
        looks: in the order of their columns.
    """

    scalar: Scalar
    looks: tuple[MatchLook, ...] = ()


@dataclass(frozen=True, slots=True)
class MatchStage:
    """A variable of the pattern.

    Attributes:
        variable: its name.
        condition: what its lines must fulfil; None for nothing.
        prefilter: the part of it that looks at the line alone; None if there is none. Lines for
            which it is not true are none of the variable's, whatever the match is.
        minimum: how many lines at least.
        maximum: how many at most; None for no limit.
        greedy: whether it takes as many lines as it can, or as few.
    """

    variable: str
    condition: MatchExpression | None = None
    prefilter: Scalar | None = None
    minimum: int = 1
    maximum: int | None = 1
    greedy: bool = True

    @property
    def quantifier(self) -> str:
        """How SQL writes it."""
        known = {(1, 1): "", (0, 1): "?", (0, None): "*", (1, None): "+"}
        limit = "" if self.maximum is None else str(self.maximum)
        exact = f"{{{self.minimum}}}"
        ranged = exact if self.minimum == self.maximum else f"{{{self.minimum},{limit}}}"
        found = known.get((self.minimum, self.maximum), ranged)
        return found if self.greedy else f"{found}?"


@dataclass(frozen=True, slots=True)
class MatchSkip:
    """Where the search goes on behind a match.

    Attributes:
        to: behind its last line, at the line behind its first, or at a line of a variable.
        variable: of FIRST and LAST.
    """

    to: Literal["PAST LAST ROW", "NEXT ROW", "FIRST", "LAST"] = "PAST LAST ROW"
    variable: str | None = None

    def __str__(self) -> str:
        """How SQL writes it."""
        if self.to == "PAST LAST ROW":
            return "SKIP PAST LAST ROW"
        return f"SKIP TO {self.to}{'' if self.variable is None else f' {self.variable}'}"
