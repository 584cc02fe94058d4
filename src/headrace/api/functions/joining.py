"""Functions over a pair of records, or over two groups of them: joins and co_group.

Where one of these is expected a plain function will do: it gives one result for a pair (None: no
result), a generator function gives any number.
Next: datastream/joined_streams.py, datastream/interval_join.py; runtime/operators/join.py calls
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.api.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.api.output_tag import OutputTag

__all__ = ["CoGroupFunction", "FlatJoinFunction", "JoinFunction", "ProcessJoinFunction"]


class JoinFunction(Function):
    """One result for each pair of a window join."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """The record to emit for a pair; None emits nothing."""


class FlatJoinFunction(Function):
    """Any number of results for each pair of a window join."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """The records to emit for a pair: usually a generator."""


class CoGroupFunction(Function):
    """Any number of results for all records of a key and window, those of each stream apart."""

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """The records to emit; one of the two groups may be empty."""


class ProcessJoinFunction(Function):
    """Any number of results for each pair of an interval join."""

    class Context(ABC):
        """The times of the pair, and side outputs."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """The timestamp of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """The timestamp of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """The timestamp of the results: the later of the two."""

        @abstractmethod
        def output(self, output_tag: OutputTag, value: Any) -> None:
            """Emit a record to a side output; ``yield output_tag, value`` does the same."""

    @abstractmethod
    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterable[Any] | None:
        """The records to emit for a pair: usually a generator."""
