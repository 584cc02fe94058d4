"""Opens the functions of users that an operator calls.

In: the calls of a query.  Out: the functions, opened.  Next: runtime/table/aggregates/user.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.table.functions import FunctionContext
from headrace.runtime.runtime_context import UserMetricGroup
from headrace.runtime.table.aggregates.user import function_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.runtime.operators.base import Operator, OperatorRuntime
    from headrace.scalars.aggregates import AggregateCall


def function_context(runtime: OperatorRuntime) -> FunctionContext:
    """What functions of tables learn when they are opened."""
    place = f"{runtime.subtask + 1}/{runtime.parallelism}"
    return FunctionContext(
        UserMetricGroup(runtime.metrics, ()),
        runtime.job_parameters,
        task_name=runtime.name,
        task_name_with_subtasks=f"{runtime.name} ({place})#0",
        number_of_parallel_subtasks=runtime.parallelism,
        max_number_of_parallel_subtasks=runtime.max_parallelism,
        index_of_this_subtask=runtime.subtask,
        attempt_number=0,
    )


def open_aggregates(operator: Operator, calls: Sequence[AggregateCall]) -> list[Any]:
    """Open the user's functions of some calls; those that have to be closed."""
    functions = [function_of(call.user) for call in calls if call.user is not None]
    for function in functions:
        opening = getattr(function, "open", None)
        if callable(opening):
            try:
                opening(function_context(operator.runtime))
            except Exception as error:
                raise operator.failed(error) from error
    return [function for function in functions if callable(getattr(function, "close", None))]
