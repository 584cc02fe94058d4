"""map, flat_map, filter and process without keys: one record in, some out, nothing remembered.

Whole lists go through one comprehension per step, which costs less than a call chain per record;
the cursor finds the record that failed.
"""

from __future__ import annotations

from itertools import compress
from typing import Any

from headrace.data.records import Records
from headrace.runtime.operators.base import ListCursor, OperatorRuntime, wrong_results
from headrace.runtime.operators.functions import FunctionOperator, callable_of
from headrace.runtime.operators.process import ProcessOutput, StreamContext


class MapOperator(FunctionOperator):
    """One result for each record."""

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.call = callable_of(self.function, "map")

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        call, cursor = self.call, ListCursor(records.values)
        try:
            values = [call(value) for value in cursor]
        except Exception as error:
            raise self.failed(error, cursor.current) from error
        self.output.emit(records.with_values(values))


class FilterOperator(FunctionOperator):
    """Keeps the records for which the function is true."""

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.call = callable_of(self.function, "filter")

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        call, cursor = self.call, ListCursor(records.values)
        try:
            kept = [bool(call(value)) for value in cursor]
        except Exception as error:
            raise self.failed(error, cursor.current) from error
        times = records.timestamps
        self.output.emit(
            Records(
                list(compress(records.values, kept)),
                None if times is None else list(compress(times, kept)),
            )
        )


class FlatMapOperator(FunctionOperator):
    """Any number of results for each record; they keep its timestamp."""

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.call = callable_of(self.function, "flat_map")

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        call, out, cursor = self.call, ProcessOutput(self.output), ListCursor(records.values)
        results: Any = ()
        try:
            if records.timestamps is None:
                for value in cursor:
                    results = call(value)
                    out.extend(iter(results), None)
            else:
                for value, timestamp in zip(cursor, records.timestamps, strict=True):
                    results = call(value)
                    out.extend(iter(results), timestamp)
        except Exception as error:
            raise self.failed(wrong_results(results) or error, cursor.current) from error
        out.flush()


class ProcessOperator(FunctionOperator):
    """A ProcessFunction on a stream without keys: side outputs and the clock, but no timers."""

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.context = StreamContext(self)
        self.call = callable_of(self.function, "process_element")

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        call, context, out = self.call, self.context, ProcessOutput(self.output)
        value: Any = None
        try:
            for value, context.current_timestamp in records.pairs():
                out.extend(call(value, context), context.current_timestamp)
        except Exception as error:
            raise self.failed(error, value) from error
        out.flush()
