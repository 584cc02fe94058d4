"""The functions of expressions, in one table: types, a body for rows, a body for Arrow.

Semantics are SQL's as Spark's ANSI mode has them:

- an argument that is None gives None, except where a function says otherwise (and, or, is_null)
- a whole number that leaves its type, a division or remainder by zero: an error, also of doubles
- NaN equals NaN and is above all numbers; -0.0 equals 0.0
- a whole number meets a fraction as a double

A body for rows takes Python values that are not None.  A body for Arrow takes arrays and scalars of
the operand types (at least one array) and may raise ArrowInvalid: the batch is then evaluated row
by row, which finds the record, or finds that a condition in front of it keeps the error away.
The third body, for Spark, is in hosts/spark/native/columns.py; a test finds one for every name.

To add a function: one entry in FUNCTIONS, one in hosts/spark/native/columns.py, a method or
function in expr/expressions.py, and a line in docs/expressions.md.  Next: rows.py and kernels.py
"""

from __future__ import annotations

import datetime as dt
import difflib
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import InvalidArgumentError, RecordError
from headrace.expr import types as t
from headrace.expr.nodes import ConstantNode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.typeinfo import TypeInformation
    from headrace.expr.nodes import CallNode, Node


@dataclass(frozen=True, slots=True)
class ColumnFunction:
    """One function.

    Attributes:
        name: as nodes call it; an operator's is its sign.
        rule: operand and result types from argument types; None where there is no kernel.
        row: the value from Python values.
        arrow: the array from arrays and scalars, then plain constants.
        constants: how many arguments at the end are constants: bodies get them as they are.
        strict: whether one None among the arguments gives None, without asking the body.
        decides: a left side that is this decides alone; the right one is not looked at.
        checked: whether a result must be made to fit its type: the numbers of arithmetic.
    """

    name: str
    rule: Callable[[Sequence[TypeInformation]], t.Signature | None]
    row: Callable[..., Any]
    arrow: Callable[..., Any]
    constants: int = 0
    strict: bool = True
    decides: bool | None = None
    checked: bool = False

    def operands(self, call: CallNode) -> tuple[Node, ...]:
        """The nodes whose types decide: of ``isin`` the constants as well."""
        if self.name == "isin":
            value, options = call.arguments
            assert isinstance(options, ConstantNode)
            return (value, *map(ConstantNode, options.value))
        return call.arguments[: len(call.arguments) - self.constants]

    def given(self, call: CallNode) -> tuple[Any, ...]:
        """The plain constants at the end of a call."""
        ending = call.arguments[len(call.arguments) - self.constants :]
        return tuple(part.value for part in ending if isinstance(part, ConstantNode))


# --- rows ----------------------------------------------------------------------------------------


def _meet(sign: str, left: Any, right: Any) -> tuple[Any, Any]:
    """Two values of different classes as SQL lets them meet; loudly refused where it does not."""
    families = {_family(left), _family(right)}
    if len(families) > 1:
        raise _refused(sign, left, right)
    if families == {"number"} and float in (type(left), type(right)):
        return float(left), float(right)
    return left, right


def _family(value: Any) -> str:
    if isinstance(value, bool):
        return "truth value"
    if isinstance(value, int | float | Decimal | np.number):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, bytes | bytearray):
        return "bytes"
    if isinstance(value, dt.datetime):
        return "timestamp"
    return "date" if isinstance(value, dt.date) else "other"


def _refused(sign: str, left: Any, right: Any) -> RecordError:
    return RecordError(
        f"{left!r:.80} {sign} {right!r:.80}: {type(left).__name__} and {type(right).__name__} "
        "cannot be combined",
        fix="convert both to the same type before the expression, for instance with map",
    )


def _equal(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        left, right = _meet("==", left, right)
    return bool(left == right or (left != left and right != right))


def _unequal(left: Any, right: Any) -> bool:
    return not _equal(left, right)


def _less(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        left, right = _meet("<", left, right)
    return bool(left < right or (right != right and left == left))


def _at_most(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        left, right = _meet("<=", left, right)
    return bool(left <= right or right != right)


def _greater(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        left, right = _meet(">", left, right)
    return bool(left > right or (left != left and right == right))


def _at_least(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        left, right = _meet(">=", left, right)
    return bool(left >= right or left != left)


def _numbers(sign: str, left: Any, right: Any) -> tuple[Any, Any]:
    if type(left) is not type(right):
        left, right = _meet(sign, left, right)
    if isinstance(left, str | bytes | bool):
        raise _refused(sign, left, right)
    return left, right


def _plus(left: Any, right: Any) -> Any:
    left, right = _numbers("+", left, right)
    return left + right


def _minus(left: Any, right: Any) -> Any:
    left, right = _numbers("-", left, right)
    return left - right


def _times(left: Any, right: Any) -> Any:
    left, right = _numbers("*", left, right)
    return left * right


def _divided(left: Any, right: Any) -> Any:
    left, right = _numbers("/", left, right)
    if right == 0:
        raise _by_zero("/", left)
    if isinstance(left, int) and isinstance(right, int):
        left, right = float(left), float(right)  # as Spark: not the nearest fraction of the two
    return left / right


def _remainder(left: Any, right: Any) -> Any:
    """With the sign of the dividend, as in SQL; Python's own has that of the divisor."""
    left, right = _numbers("%", left, right)
    if right == 0:
        raise _by_zero("%", left)
    if isinstance(left, float):
        return math.nan if math.isinf(left) else math.fmod(left, right)
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _by_zero(sign: str, dividend: Any) -> RecordError:
    return RecordError(
        f"{dividend!r} {sign} 0 has no result",
        fix=f'exclude such records, for instance (col("n") != 0) & (... {sign} col("n") > 1)',
    )


def _and(left: Any, right: Any) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Any, right: Any) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _not(value: Any) -> bool:
    return not value


def _is_in(value: Any, options: tuple[Any, ...]) -> bool | None:
    if not options:
        return False  # also of None: nothing is in nothing
    if value is None:
        return None
    if any(option is not None and _equal(value, option) for option in options):
        return True
    return None if None in options else False


def _found(text: str, pattern: str) -> bool:
    # Java's \w, \d and \s know ASCII only
    return re.search(pattern, text, re.ASCII) is not None


# --- Arrow ---------------------------------------------------------------------------------------


def _is_float(*sides: Any) -> bool:
    return any(pa.types.is_floating(side.type) for side in sides)


def _equal_arrays(left: Any, right: Any) -> Any:
    same = pc.equal(left, right)
    if _is_float(left, right):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return same


def _less_arrays(left: Any, right: Any) -> Any:
    below = pc.less(left, right)
    if _is_float(left, right):
        below = pc.or_(below, pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left))))
    return below


def _at_most_arrays(left: Any, right: Any) -> Any:
    found = pc.less_equal(left, right)
    return pc.or_(found, pc.is_nan(right)) if _is_float(left, right) else found


def _remainder_arrays(left: Any, right: Any) -> Any:
    length = max(len(side) if isinstance(side, pa.Array) else 1 for side in (left, right))
    dividend, divisor = _spread(left, length), _spread(right, length)
    valid = pc.and_(pc.is_valid(dividend), pc.is_valid(divisor))
    one = pa.scalar(1, divisor.type)
    divisor = pc.if_else(valid, divisor, one)
    if pc.any(pc.equal(divisor, pa.scalar(0, divisor.type))).as_py():
        msg = "remainder by zero"
        raise pa.ArrowInvalid(msg)
    dividend = pc.if_else(valid, dividend, pa.scalar(0, dividend.type))
    with np.errstate(invalid="ignore"):
        rest = np.fmod(
            dividend.to_numpy(zero_copy_only=False), divisor.to_numpy(zero_copy_only=False)
        )
    return pa.array(rest, type=left.type, mask=~valid.to_numpy(zero_copy_only=False))


def _spread(side: Any, length: int) -> pa.Array:
    return side if isinstance(side, pa.Array) else pa.repeat(side, length)


def _is_in_arrays(value: Any, options: tuple[Any, ...]) -> Any:
    if not options:
        return pc.and_(pc.is_valid(value), pa.scalar(value=False))
    found = None
    for option in options:
        same = _equal_arrays(value, pa.scalar(option, value.type))
        found = same if found is None else pc.or_kleene(found, same)
    return found


def _each_text(body: Callable[..., Any], result: pa.DataType) -> Callable[..., Any]:
    """A body for rows over the texts of a column, where Arrow's own differs from Spark's."""

    def run(texts: Any, *constants: Any) -> Any:
        values = [None if v is None else body(v, *constants) for v in texts.to_pylist()]
        return pa.array(values, result)

    return run


def _cased(ascii_kernel: Callable[[Any], Any], body: Callable[[str], str]) -> Callable[..., Any]:
    """Arrow maps letter to letter, Spark also ß to SS: Arrow's only where all is ASCII."""
    each = _each_text(body, pa.string())

    def run(texts: Any) -> Any:
        plain = pc.all(pc.string_is_ascii(texts)).as_py()
        return ascii_kernel(texts) if plain in (True, None) else each(texts)

    return run


def _starts(texts: Any, prefix: str) -> Any:
    return pc.starts_with(texts, pattern=prefix)


# --- the table -----------------------------------------------------------------------------------

_ALL = (
    ColumnFunction("==", t.comparison, _equal, _equal_arrays),
    ColumnFunction("!=", t.comparison, _unequal, lambda a, b: pc.invert(_equal_arrays(a, b))),
    ColumnFunction("<", t.comparison, _less, _less_arrays),
    ColumnFunction("<=", t.comparison, _at_most, _at_most_arrays),
    ColumnFunction(">", t.comparison, _greater, lambda a, b: _less_arrays(b, a)),
    ColumnFunction(">=", t.comparison, _at_least, lambda a, b: _at_most_arrays(b, a)),
    ColumnFunction("+", t.arithmetic, _plus, pc.add_checked, checked=True),
    ColumnFunction("-", t.arithmetic, _minus, pc.subtract_checked, checked=True),
    ColumnFunction("*", t.arithmetic, _times, pc.multiply_checked, checked=True),
    ColumnFunction("/", t.fraction, _divided, pc.divide_checked, checked=True),
    ColumnFunction("%", t.arithmetic, _remainder, _remainder_arrays, checked=True),
    ColumnFunction("and", t.logic, _and, pc.and_kleene, strict=False, decides=False),
    ColumnFunction("or", t.logic, _or, pc.or_kleene, strict=False, decides=True),
    ColumnFunction("not", t.logic, _not, pc.invert),
    ColumnFunction("is_null", t.null_test, lambda value: value is None, pc.is_null, strict=False),
    ColumnFunction("isin", t.membership, _is_in, _is_in_arrays, constants=1, strict=False),
    ColumnFunction(
        "rlike", t.text_to(t.BOOLEAN), _found, _each_text(_found, pa.bool_()), constants=1
    ),
    ColumnFunction("startswith", t.text_to(t.BOOLEAN), str.startswith, _starts, constants=1),
    ColumnFunction("upper", t.text_to(t.STRING), str.upper, _cased(pc.ascii_upper, str.upper)),
    ColumnFunction("lower", t.text_to(t.STRING), str.lower, _cased(pc.ascii_lower, str.lower)),
)
FUNCTIONS: dict[str, ColumnFunction] = {entry.name: entry for entry in _ALL}


def function(name: str) -> ColumnFunction:
    """The function of a name.

    Raises:
        InvalidArgumentError: there is none.
    """
    found = FUNCTIONS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, FUNCTIONS, n=1)
        raise InvalidArgumentError(
            f"there is no function {name!r} for expressions",
            fix=f"did you mean {near[0]!r}?" if near else "docs/expressions.md lists all of them",
        )
    return found
