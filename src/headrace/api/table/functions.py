"""The classes of functions that users of the Table API derive from.

In: the user's program (headrace.table.udf has the same names).  Out: runtime/table runs them.
Next: api/table/definitions.py says what is known of a function beside its code
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headrace.common.data_types import DataType
    from headrace.common.metrics import MetricGroup

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
]

T = TypeVar("T")
ACC = TypeVar("ACC")


class FunctionContext:
    """What a function can ask when it is opened.

    Args:
        base_metric_group: where its metrics go; None if there are none.
        job_parameters: of ``pipeline.global-job-parameters``.
        task_name: of the step.
        task_name_with_subtasks: of the step, with the number of this subtask.
        number_of_parallel_subtasks: of the step.
        max_number_of_parallel_subtasks: key groups of the job.
        index_of_this_subtask: from 0.
        attempt_number: from 0.
    """

    def __init__(
        self,
        base_metric_group: MetricGroup | None,
        job_parameters: Mapping[str, str] | None,
        task_name: str | None = None,
        task_name_with_subtasks: str | None = None,
        number_of_parallel_subtasks: int | None = None,
        max_number_of_parallel_subtasks: int | None = None,
        index_of_this_subtask: int | None = None,
        attempt_number: int | None = None,
    ) -> None:
        self._base_metric_group = base_metric_group
        self._job_parameters = dict(job_parameters or {})
        self._task_name = task_name
        self._task_name_with_subtasks = task_name_with_subtasks
        self._number_of_parallel_subtasks = number_of_parallel_subtasks
        self._max_number_of_parallel_subtasks = max_number_of_parallel_subtasks
        self._index_of_this_subtask = index_of_this_subtask
        self._attempt_number = attempt_number

    def get_metric_group(self) -> MetricGroup:
        """Where the function's metrics go."""
        if self._base_metric_group is None:
            raise InvalidArgumentError("this function has no metrics here")
        return self._base_metric_group

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A parameter of the job."""
        return self._job_parameters.get(key, default_value)

    def get_task_name(self) -> str | None:
        """The name of the step."""
        return self._task_name

    def get_task_name_with_subtasks(self) -> str | None:
        """The name of the step, with the number of this subtask."""
        return self._task_name_with_subtasks

    def get_number_of_parallel_subtasks(self) -> int | None:
        """How many subtasks the step has."""
        return self._number_of_parallel_subtasks

    def get_max_number_of_parallel_subtasks(self) -> int | None:
        """How many it could have at most."""
        return self._max_number_of_parallel_subtasks

    def get_index_of_this_subtask(self) -> int | None:
        """The number of this subtask, from 0."""
        return self._index_of_this_subtask

    def get_attempt_number(self) -> int | None:
        """How often the job was started again."""
        return self._attempt_number


class UserDefinedFunction(ABC):  # noqa: B024
    """The base of all functions of the Table API."""

    def open(self, function_context: FunctionContext) -> None:  # noqa: B027
        """Called once before the first line."""

    def close(self) -> None:  # noqa: B027
        """Called once behind the last line."""

    def is_deterministic(self) -> bool:
        """Whether equal arguments give equal results."""
        return True


class ScalarFunction(UserDefinedFunction):
    """Gives one value for every line."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The value for the arguments of one line; of pandas functions for many at once."""


class AsyncScalarFunction(UserDefinedFunction):
    """Gives one value for every line, and may wait for it beside others."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """The value for the arguments of one line."""


class TableFunction(UserDefinedFunction):
    """Gives any number of lines for every line."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The lines for the arguments of one line: yields or returns tuples, rows or values."""


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """Gathers lines in an accumulator."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """An accumulator of no lines."""

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Put the arguments of a line into the accumulator."""

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Take the arguments of a line back; needed where lines may be taken back."""
        raise _not_written(self, "retract", "the lines it aggregates may be taken back")

    def merge(self, accumulator: ACC, accumulators: Iterable[ACC]) -> None:
        """Put other accumulators into this one; needed for sessions."""
        raise _not_written(self, "merge", "session windows are merged")

    def get_result_type(self) -> DataType | str:
        """The type of the result, unless udaf is told it."""
        raise _not_written(self, "get_result_type", "udaf was given no result_type")

    def get_accumulator_type(self) -> DataType | str:
        """The type of the accumulator, unless udaf is told it."""
        raise _not_written(self, "get_accumulator_type", "udaf was given no accumulator_type")


def _not_written(function: UserDefinedFunction, method: str, why: str) -> InvalidArgumentError:
    name = type(function).__name__
    return InvalidArgumentError(f"{name} has no method {method}, and {why}", fix="write the method")


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Gives one value for many lines."""

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """The value of the lines that the accumulator has."""


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Gives lines for many lines."""

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """The lines for those that the accumulator has."""


class DelegatingScalarFunction(ScalarFunction):
    """A plain function as a scalar function."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        """What the function gives."""
        return self.func(*args)


class DelegatingAsyncScalarFunction(AsyncScalarFunction):
    """A plain coroutine function as an asynchronous scalar function."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    async def eval(self, *args: Any) -> Any:
        """What the function gives."""
        return await self.func(*args)


class DelegationTableFunction(TableFunction):
    """A plain function as a table function."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        """What the function gives."""
        return self.func(*args)


class DelegatingPandasAggregateFunction(AggregateFunction[Any, list[Any]]):
    """A plain function of pandas series as an aggregate."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def create_accumulator(self) -> list[Any]:
        """Room for the one result."""
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        """Aggregate the whole columns."""
        accumulator.append(self.func(*args))

    def get_value(self, accumulator: list[Any]) -> Any:
        """The one result."""
        return accumulator[0]
