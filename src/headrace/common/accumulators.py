"""Values that subtasks add up during a job; the merged value is part of the job's result.

In: ``runtime_context.add_accumulator(name, IntCounter())``.  Out: ``JobExecutionResult``.
Next: api/functions/basic.py (RuntimeContext), common/job_execution_result.py
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Generic, Self, TypeVar

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "Histogram",
    "IntCounter",
    "ListAccumulator",
    "LongCounter",
]

V = TypeVar("V")
R = TypeVar("R")


class Accumulator(ABC, Generic[V, R]):
    """Takes values in one by one; two of them can be merged. Order must not matter.

    Subclasses keep their content in plain attributes, so that it can be pickled and copied.
    """

    @abstractmethod
    def add(self, value: V) -> None:
        """Take one value in."""

    @abstractmethod
    def get_local_value(self) -> R:
        """What was added to this object, or merged into it."""

    @abstractmethod
    def reset_local(self) -> None:
        """Forget everything."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Merge another accumulator into this one."""

    def reset(self) -> None:
        """Forget everything: a shorter name for ``reset_local``."""
        self.reset_local()

    def clone(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.get_local_value()!r})"


class IntCounter(Accumulator[int, int]):
    """A sum of whole numbers."""

    def __init__(self, value: int = 0) -> None:
        self._value = value

    def add(self, value: int = 1) -> None:
        """Add to the sum."""
        self._value += value

    def get_local_value(self) -> int:
        """The sum."""
        return self._value

    def reset_local(self) -> None:
        """Back to 0."""
        self._value = 0

    def merge(self, other: IntCounter) -> None:
        """Add the other's sum."""
        self._value += other._value


class LongCounter(IntCounter):
    """A sum of whole numbers; in Python the same as IntCounter."""


class DoubleCounter(Accumulator[float, float]):
    """A sum of floating-point numbers."""

    def __init__(self, value: float = 0.0) -> None:
        self._value = value

    def add(self, value: float) -> None:
        """Add to the sum."""
        self._value += value

    def get_local_value(self) -> float:
        """The sum."""
        return self._value

    def reset_local(self) -> None:
        """Back to 0."""
        self._value = 0.0

    def merge(self, other: DoubleCounter) -> None:
        """Add the other's sum."""
        self._value += other._value


class AverageAccumulator(Accumulator[float, float]):
    """The mean of the added numbers, 0.0 if there are none."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Take one number in."""
        self._count += 1
        self._sum += value

    def get_local_value(self) -> float:
        """The mean."""
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        """Forget all numbers."""
        self._count, self._sum = 0, 0.0

    def merge(self, other: AverageAccumulator) -> None:
        """Take in the other's numbers."""
        self._count += other._count
        self._sum += other._sum


class ListAccumulator(Accumulator[Any, list[Any]]):
    """All added values. They travel to the driver: for few values only."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def add(self, value: Any) -> None:
        """Append a value."""
        self._values.append(value)

    def get_local_value(self) -> list[Any]:
        """The values; in order of addition within a subtask, in no order between subtasks."""
        return self._values

    def reset_local(self) -> None:
        """Forget all values."""
        self._values = []

    def merge(self, other: ListAccumulator) -> None:
        """Append the other's values."""
        self._values.extend(other._values)


class Histogram(Accumulator[int, dict[int, int]]):
    """How often each whole number was added."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        """Count a number."""
        self._counts[value] = self._counts.get(value, 0) + 1

    def get_local_value(self) -> dict[int, int]:
        """Number to count, numbers ascending."""
        return dict(sorted(self._counts.items()))

    def reset_local(self) -> None:
        """Forget all numbers."""
        self._counts = {}

    def merge(self, other: Histogram) -> None:
        """Add the other's counts."""
        for value, count in other._counts.items():
            self._counts[value] = self._counts.get(value, 0) + count
