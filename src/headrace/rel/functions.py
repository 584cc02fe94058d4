"""Calls of functions with their types: what resolvers make scalars with.

In: names and operands.  Out: `Call`, `Cast`, `UserCall` with implicit casts, or a SqlError.
Next: scalars/functions/ has the functions
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.data_types import BooleanType
from headrace.errors import EvaluationError, InvalidArgumentError
from headrace.rel.resolve.problems import problem
from headrace.scalars import build, common_types
from headrace.scalars.evaluate import row_function
from headrace.scalars.nodes import Cast, Literal, UserCall
from headrace.scalars.session import ScalarSession
from headrace.scalars.types import with_nullability
from headrace.sql.ast import SqlLiteral, walk_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.common.data_types import DataType
    from headrace.scalars.nodes import Scalar
    from headrace.sql.ast import SqlNode


def call(name: str, operands: Sequence[Scalar], node: SqlNode | None = None) -> Scalar:
    """A function of SQL, with its operands cast to what it takes.

    Raises:
        SqlError: there is no such function, or it does not take these types.
    """
    try:
        made = build.call(name, operands)
    except InvalidArgumentError as error:
        raise problem(error.message, node, error.fix) from error
    if name in _COMPARISONS:
        for operand, argument in zip(operands, made.arguments, strict=True):
            _check_comparable(operand, argument, node)
    return made


_COMPARISONS = frozenset(
    ("=", "<>", "<", "<=", ">", ">=", "IN", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
)


def _check_comparable(operand: Scalar, argument: Scalar, node: SqlNode | None) -> None:
    """Refuses a text that is compared with a number or time, and is none.

    With a BOOLEAN Flink compares any text, and finds it different.
    """
    if not isinstance(operand, Literal) or not isinstance(operand.value, str):
        return
    if not isinstance(argument, Cast) or isinstance(argument.type, BooleanType):
        return
    try:
        row_function(argument, ScalarSession())(())
    except EvaluationError as error:
        raise problem(
            f"a text that is compared with {argument.type.nullable()} is read as one: "
            f"{error.message}",
            _literal_in(node, operand.value),
            "write such a value, or compare texts: CAST(x AS STRING) = '..'",
        ) from None


def _literal_in(node: SqlNode | None, value: str) -> SqlNode | None:
    parts = () if node is None else walk_nodes(node)
    return next((e for e in parts if isinstance(e, SqlLiteral) and e.value == value), node)


def cast(
    scalar: Scalar,
    kind: DataType,
    node: SqlNode | None = None,
    *,
    lenient: bool = False,
    always: bool = False,
) -> Scalar:
    """A scalar as a type; itself if it has it.

    Args:
        scalar: what to cast.
        kind: to what.
        node: for the error.
        lenient: whether what cannot be cast is NULL.
        always: whether the user asked for it: then also what is not cast by itself.
    """
    if not always:
        return build.implicit_cast(scalar, kind)
    try:
        return build.cast(scalar, kind, lenient=lenient)
    except InvalidArgumentError as error:
        raise problem(error.message, node, error.fix) from error


def common_type(types: Sequence[DataType], node: SqlNode | None, what: str) -> DataType:
    """The type that all values can have.

    Raises:
        SqlError: there is none.
    """
    found = common_types.common_type(types)
    if found is None:
        shown = ", ".join(dict.fromkeys(str(kind) for kind in types))
        raise problem(
            f"{what} have no common type: {shown}", node, "cast them to one: CAST(x AS ..)"
        )
    return found


def user_call(
    function: UserFunctionDefinition, operands: Sequence[Scalar], node: SqlNode
) -> Scalar:
    """A scalar function of the user."""
    if function.kind not in ("scalar", "async_scalar"):
        raise problem(f"{function.name} is no scalar function: it cannot stand here", node)
    return UserCall(function, user_operands(function, operands, node), function.result_type)


def user_operands(
    function: UserFunctionDefinition, operands: Sequence[Scalar], node: SqlNode | None
) -> tuple[Scalar, ...]:
    """The operands of a function of the user, cast to what it declared."""
    if function.input_types is None:
        return tuple(operands)
    if len(function.input_types) != len(operands):
        wanted = ", ".join(map(str, function.input_types))
        raise problem(
            f"{function.name} takes {len(function.input_types)} arguments ({wanted}), "
            f"but is called with {len(operands)}",
            node,
        )
    pairs = zip(operands, function.input_types, strict=True)
    for number, (operand, kind) in enumerate(pairs, start=1):
        if not common_types.implicitly_castable(operand.type, kind):
            raise problem(
                f"argument {number} of {function.name} is {kind}, but {operand.type} is given",
                node,
                f"cast it: CAST(... AS {kind.nullable()})",
            )
    return tuple(
        cast(operand, with_nullability(kind, operand.type.is_nullable), node)
        for operand, kind in zip(operands, function.input_types, strict=True)
    )
