"""Operators with two inputs and no keys: co-map, co-flat-map, co-process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.runtime.operators.functions import FunctionOperator, callable_of
from headrace.runtime.operators.keyed import KeyedOperator
from headrace.runtime.operators.process import ProcessOutput, StreamContext

if TYPE_CHECKING:
    from headrace.common.opaque import UserFunction
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime


class CoOperator(FunctionOperator):
    """Calls one of two methods, by input."""

    inputs = 2

    def __init__(self, function: UserFunction, methods: tuple[str, str]) -> None:
        super().__init__(function)
        self.methods = methods

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.calls = [callable_of(self.function, method) for method in self.methods]
        self.context = StreamContext(self)
        self.with_context = self.methods[0].startswith("process")
        # Flink drops None results of a co-map; the others yield their results
        self.one_result = self.methods[0].startswith("map")

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        out = ProcessOutput(self.output)
        value: Any = None
        try:
            for value, timestamp in records.pairs():
                self.call(input, value, timestamp, out)
        except Exception as error:
            raise self.failed(error, value) from error
        out.flush()

    def call(self, input: int, value: Any, timestamp: int | None, out: ProcessOutput) -> None:  # noqa: A002
        """Call the user for one record."""
        if self.with_context:
            self.context.current_timestamp = timestamp
            out.extend(self.calls[input](value, self.context), timestamp)
        elif self.one_result:
            result = self.calls[input](value)
            out.extend(None if result is None else (result,), timestamp)
        else:
            out.extend(self.calls[input](value), timestamp)


class KeyedCoOperator(CoOperator, KeyedOperator):
    """The same after key_by on both inputs: state of the key is at hand."""

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        out = ProcessOutput(self.output)
        value: Any = None
        try:
            for key, (value, timestamp) in zip(
                self.keys(records, input), records.pairs(), strict=True
            ):
                self.scope.set(key)
                self.call(input, value, timestamp, out)
        except Exception as error:
            raise self.failed(error, value) from error
        out.flush()
