"""Operators around a user's function: opening it with a RuntimeContext, closing it, calling it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidArgumentError
from headrace.runtime.operators.base import Operator, OperatorRuntime
from headrace.runtime.runtime_context import SubtaskContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import UserFunction


def callable_of(function: UserFunction, method: str) -> Callable[..., Any]:
    """The method of a Function object, or the function itself."""
    found = getattr(function, method, None)
    if found is None:
        found = function
    if not callable(found):
        raise InvalidArgumentError(
            f"expected a function or an object with a {method} method, not {function!r:.100}"
        )
    result: Callable[..., Any] = found
    return result


class FunctionOperator(Operator):
    """An operator with one user function."""

    def __init__(self, function: UserFunction) -> None:
        self.function = function

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.context_for_user = SubtaskContext(runtime, self.state_provider())
        open_function(self, self.function, self.context_for_user)

    def state_provider(self) -> Any:
        """Where the user's keyed state comes from; only keyed operators have any."""
        return None

    def close(self) -> None:
        closing = getattr(self.function, "close", None)
        if callable(closing):
            closing()


def open_function(operator: Operator, function: UserFunction, context: SubtaskContext) -> None:
    """Call the user's `open`, if there is one."""
    opening = getattr(function, "open", None)
    if callable(opening):
        try:
            opening(context)
        except Exception as error:
            raise operator.failed(error) from error
