"""Numbers, comparisons and logic of expressions.  Next: table/expressing/texts.py"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidArgumentError
from headrace.sql.api_ast import RelationQuery
from headrace.sql.ast import (
    Between,
    CaseWhen,
    InList,
    InQuery,
    IsPredicate,
    UnaryOperation,
)
from headrace.table.expressing.base import (
    ExpressionBase,
    UnaryProperty,
    expression,
    operand,
    written,
)

if TYPE_CHECKING:
    from headrace.table.expression import Expression


class _IsProperty(UnaryProperty):
    """``IS [NOT] NULL`` and its kin."""

    def __init__(self, what: str, name: str, *, negated: bool = False) -> None:
        super().__init__(what, name)
        self.negated = negated

    def __get__(self, instance: ExpressionBase | None, owner: type) -> Expression[Any]:
        """The predicate."""
        if instance is None:
            return self  # type: ignore[return-value]
        node = IsPredicate(instance._value, self.function, negated=self.negated)
        return expression(node, written(self.name, instance))


class NumberExpressions(ExpressionBase):
    """What numbers and conditions can do."""

    exp = UnaryProperty("EXP")
    log10 = UnaryProperty("LOG10")
    log2 = UnaryProperty("LOG2")
    ln = UnaryProperty("LN")
    cosh = UnaryProperty("COSH")
    sinh = UnaryProperty("SINH")
    sin = UnaryProperty("SIN")
    cos = UnaryProperty("COS")
    tan = UnaryProperty("TAN")
    cot = UnaryProperty("COT")
    asin = UnaryProperty("ASIN")
    acos = UnaryProperty("ACOS")
    atan = UnaryProperty("ATAN")
    tanh = UnaryProperty("TANH")
    degrees = UnaryProperty("DEGREES")
    radians = UnaryProperty("RADIANS")
    sqrt = UnaryProperty("SQRT")
    abs = UnaryProperty("ABS")
    sign = UnaryProperty("SIGN")
    bin = UnaryProperty("BIN")
    hex = UnaryProperty("HEX")
    unhex = UnaryProperty("UNHEX", "UNHEX")

    is_null = _IsProperty("NULL", "isNull")
    is_not_null = _IsProperty("NULL", "isNotNull", negated=True)
    is_true = _IsProperty("TRUE", "isTrue")
    is_false = _IsProperty("FALSE", "isFalse")
    is_not_true = _IsProperty("TRUE", "isNotTrue", negated=True)
    is_not_false = _IsProperty("FALSE", "isNotFalse", negated=True)

    def __abs__(self) -> Expression[Any]:
        return self.abs

    def __eq__(self, other: object) -> Expression[Any]:  # type: ignore[override]
        return self._binary("=", "equals", other)

    def __ne__(self, other: object) -> Expression[Any]:  # type: ignore[override]
        return self._binary("<>", "notEquals", other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Expression[Any]:
        return self._binary("<", "lessThan", other)

    def __gt__(self, other: Any) -> Expression[Any]:
        return self._binary(">", "greaterThan", other)

    def __le__(self, other: Any) -> Expression[Any]:
        return self._binary("<=", "lessThanOrEqual", other)

    def __ge__(self, other: Any) -> Expression[Any]:
        return self._binary(">=", "greaterThanOrEqual", other)

    def __and__(self, other: Any) -> Expression[Any]:
        return self._binary("AND", "and", other)

    def __or__(self, other: Any) -> Expression[Any]:
        return self._binary("OR", "or", other)

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> Expression[Any]:
        return self.is_not_true

    def __add__(self, other: Any) -> Expression[Any]:
        return self._binary("+", "plus", other)

    def __radd__(self, other: Any) -> Expression[Any]:
        return self._binary("+", "plus", other, reverse=True)

    def __sub__(self, other: Any) -> Expression[Any]:
        return self._binary("-", "minus", other)

    def __rsub__(self, other: Any) -> Expression[Any]:
        return self._binary("-", "minus", other, reverse=True)

    def __mul__(self, other: Any) -> Expression[Any]:
        return self._binary("*", "times", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Expression[Any]:
        return self._binary("/", "divide", other)

    def __rtruediv__(self, other: Any) -> Expression[Any]:
        return self._binary("/", "divide", other, reverse=True)

    def __mod__(self, other: Any) -> Expression[Any]:
        return self._binary("%", "mod", other)

    def __rmod__(self, other: Any) -> Expression[Any]:
        return self._binary("%", "mod", other, reverse=True)

    def __pow__(self, other: Any) -> Expression[Any]:
        return self._call("POWER", "power", other)

    def __rpow__(self, other: Any) -> Expression[Any]:
        return operand(other)._call("POWER", "power", self)

    def __neg__(self) -> Expression[Any]:
        return expression(UnaryOperation("-", self._value), written("minusPrefix", self))

    def log(self, base: Any = None) -> Expression[Any]:
        """The logarithm to a base, the natural one without."""
        if base is None:
            return self._call("LOG", "log")
        return operand(base)._call("LOG", "log", self)

    def round(self, places: Any) -> Expression[Any]:
        """Rounded to so many digits behind the point."""
        return self._call("ROUND", "round", places)

    def truncate(self, n: Any = 0) -> Expression[Any]:
        """Cut to so many digits behind the point."""
        return self._call("TRUNCATE", "truncate", n)

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression[Any]:
        """Whether it is within two bounds, these included."""
        low, high = operand(lower_bound), operand(upper_bound)
        node = Between(self._value, low._value, high._value)
        return expression(node, written("between", self, low, high))

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression[Any]:
        """Whether it is outside of two bounds."""
        low, high = operand(lower_bound), operand(upper_bound)
        node = Between(self._value, low._value, high._value, negated=True)
        return expression(node, written("notBetween", self, low, high))

    def then(self, if_true: Any, if_false: Any) -> Expression[Any]:
        """One of two values: this is the condition."""
        yes, no = operand(if_true), operand(if_false)
        node = CaseWhen(None, ((self._value, yes._value),), no._value)
        return expression(node, written("ifThenElse", self, yes, no))

    def if_null(self, null_replacement: Any) -> Expression[Any]:
        """This, or another value if it is NULL."""
        return self._call("IFNULL", "IFNULL", null_replacement)

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression[Any]:
        """Whether it is one of several values, or a value of a table of one column."""
        from headrace.table.table import Table

        if isinstance(first_element_or_table, Table):
            if remaining_elements:
                raise InvalidArgumentError("in_ takes one table, or values", fix="leave them out")
            names = [field.name for field in first_element_or_table._rel.schema]
            if len(names) != 1:
                raise InvalidArgumentError(
                    f"in_ takes a table of one column, and this one has {', '.join(names)}",
                    fix="choose one with select(...)",
                )
            query = RelationQuery(first_element_or_table._rel)
            return expression(InQuery(self._value, query), f"in({self}, {first_element_or_table})")
        items = [operand(each) for each in (first_element_or_table, *remaining_elements)]
        node = InList(self._value, tuple(each._value for each in items))
        return expression(node, written("in", self, *items))
