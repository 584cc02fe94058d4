"""What headrace knows of one function: how it is called, what it gives, and its bodies.

    FunctionEntry(
        name="REVERSE", category="string", doc="The string backwards.",
        forms=("REVERSE(string)",), rule=takes(STRING, gives=VARCHAR),
        row=lambda text: text[::-1], arrow=pc.utf8_reverse,
    )

`row` is the reference: it takes Python values (docs/architecture/path-of-a-statement.md says which)
and gives one.  `arrow` does the same for whole columns: it takes pa.Array, or pa.Scalar for a
constant, and gives either.  A body that depends on the types of its call, on constants among its
arguments or on the session is made by `row_of` and `arrow_of` instead; `arrow_of` may give None
where those types have no kernel.  A kernel that cannot do a batch raises `NoKernelError`, and then
the rows are done by `row`; errors of a record are raised by `row` too, so a kernel may raise any
ArrowInvalid for them: the row loop finds out.

In: modules of this folder.  Out: scalars/build.py (rules), scalars/evaluate.py (bodies).
Next: scalars/functions/rules.py makes rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.scalars.session import ScalarSession


class NoLiteral(Enum):
    """Marks an argument that is no constant; NULL is one, so None cannot."""

    NO_LITERAL = "no literal"


NO_LITERAL = NoLiteral.NO_LITERAL


class NoKernelError(Exception):
    """A kernel cannot do this batch; the row loop can.  Never leaves scalars/."""


class Operand(NamedTuple):
    """An argument of a call, as a rule sees it."""

    type: DataType
    literal: Any = NO_LITERAL


@dataclass(frozen=True, slots=True)
class CallTypes:
    """What a rule found.

    Attributes:
        arguments: the type that each argument has to be cast to; its own if it fits.
        result: the type of the call, with its nullability.
    """

    arguments: tuple[DataType, ...]
    result: DataType


@dataclass(frozen=True, slots=True)
class BoundCall:
    """One call in a query, for bodies that need more than values.

    Attributes:
        arguments: types after implicit casts.
        result: the type of the call.
        literals: the value of each argument that is a constant, else NO_LITERAL.
        session: time zone and clock.
    """

    arguments: tuple[DataType, ...]
    result: DataType
    literals: tuple[Any, ...]
    session: ScalarSession


# Gives None where the arguments fit no form of the function.
Rule = Callable[[tuple[Operand, ...]], CallTypes | None]
RowBody = Callable[..., Any]
ArrowBody = Callable[..., Any]


class Clock(Enum):
    """Whether a function looks at the clock, and how often."""

    NONE = "none"
    QUERY = "query"  # once for a query in batch mode; once for a batch of records in streaming
    RECORD = "record"  # when a record is processed: once for a batch of records, in every mode


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionEntry:
    """One function of SQL.

    Attributes:
        name: in SQL, upper case; operators have their sign.
        category: the page of the reference it stands on: arithmetic, comparison, logical, string,
            temporal, conditional, conversion, collection, json, hash, value, auxiliary.
        doc: one line: what it gives.
        forms: how it is written, for messages and the reference.
        rule: argument types to the types of the call; None if no form fits.
        row, row_of: the reference body, or what makes it of a BoundCall.  One of them is there.
        arrow, arrow_of: the kernel, or what makes it (None: these types have none).
        strict: whether NULL in any argument gives NULL; then the bodies never see None, and
            kernels may see NULL only to give NULL.
        deterministic: whether equal arguments give equal results, so that constants are folded.
        clock: whether it looks at the clock.
        aliases: further names.
        internal: whether it is no name that users can write.
    """

    name: str
    category: str
    doc: str
    forms: tuple[str, ...]
    rule: Rule
    row: RowBody | None = None
    row_of: Callable[[BoundCall], RowBody] | None = None
    arrow: ArrowBody | None = None
    arrow_of: Callable[[BoundCall], ArrowBody | None] | None = None
    strict: bool = True
    deterministic: bool = True
    clock: Clock = Clock.NONE
    aliases: tuple[str, ...] = ()
    internal: bool = False

    def row_body(self, call: BoundCall) -> RowBody:
        """The body over Python values for one call."""
        if self.row is not None:
            return self.row
        assert self.row_of is not None, f"{self.name} has no body"
        return self.row_of(call)

    def arrow_body(self, call: BoundCall) -> ArrowBody | None:
        """The kernel for one call; None if there is none."""
        return self.arrow if self.arrow_of is None else self.arrow_of(call)
