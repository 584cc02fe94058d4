"""Python twins of the functions that Flink's programs have as Java classes, by their class names.

Out: `TWINS`.  Next: runner.py registers them
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from headrace.table import DataTypes
from headrace.table.udf import AggregateFunction, ScalarFunction, udaf, udf, udtf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EPOCH = dt.datetime(1970, 1, 1)


def _java_func_1(a: Any, b: Any, c: Any) -> str:
    shown = "null" if c is None else str((c - EPOCH) // dt.timedelta(milliseconds=1))
    return f"{'null' if a is None else a} and {b} and {shown}"


def _java_func_2(text: str, *numbers: int) -> str:
    product = 1
    for number in numbers:
        product *= number
    return f"{text}{product}"


def _java_func_5(moment: Any, offset: Any) -> Any:
    if moment is None or offset is None:
        return None
    return moment - dt.timedelta(milliseconds=offset)


class Opened(ScalarFunction):
    """Puts a sign in front, if it was opened."""

    opened = False

    def open(self, function_context: Any) -> None:
        self.opened = True

    def eval(self, text: str) -> str:
        assert self.opened
        return "$" + text


def _parts(text: str, prefix: str = "") -> Iterator[str]:
    if "#" in text:
        yield from (prefix + part for part in text.split("#"))


def _split(text: str | None = "a,b,c", signs: str = ",", start: int = 0) -> Iterator[str]:
    if text is not None:
        for sign in signs[1:]:
            text = text.replace(sign, signs[0])
        yield from [part for part in text.split(signs[0]) if part][max(start, 0) :]


def _lengths(*texts: Any) -> Iterator[int]:
    yield sum(len(text) for text in texts if text is not None)


class WeightedAverage(AggregateFunction[Any, Any]):
    """Mean of values with weights, in whole numbers."""

    def create_accumulator(self) -> Any:
        return [0, 0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        value, weight = args[:2]
        if len(args) == 4:
            value += int(args[3])
        accumulator[0] += value * weight
        accumulator[1] += weight

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_value(self, accumulator: Any) -> Any:
        return int(accumulator[0] / accumulator[1]) if accumulator[1] else None


class Sum(AggregateFunction[Any, Any]):
    """Sum of all arguments; the second of Flink's forgets, as its accumulator is immutable."""

    def __init__(self, *, forgets: bool) -> None:
        self.forgets = forgets

    def create_accumulator(self) -> Any:
        return [0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        if not self.forgets:
            accumulator[0] += sum(each for each in args if each is not None)

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0]


class ConcatDistinct(AggregateFunction[Any, Any]):
    """Different texts in order of arrival."""

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        if args[0] is not None and args[0] not in accumulator:
            accumulator.append(args[0])

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for other in accumulators:
            for text in other:
                self.accumulate(accumulator, text)

    def get_value(self, accumulator: Any) -> Any:
        return "|".join(accumulator) or None


class LargerCount(AggregateFunction[Any, Any]):
    """How often the first was larger than the second."""

    def create_accumulator(self) -> Any:
        return [0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] += args[0] > args[1]

    def retract(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] -= args[0] > args[1]

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0]


TEXT, LONG, INT = DataTypes.STRING(), DataTypes.BIGINT(), DataTypes.INT()
PAIR = DataTypes.ARRAY(LONG)

TWINS: dict[str, Callable[[], Any]] = {
    "JavaFunc0": lambda: udf(lambda value: value + 1, result_type=LONG),
    "JavaFunc1": lambda: udf(_java_func_1, result_type=TEXT),
    "JavaFunc2": lambda: udf(_java_func_2, result_type=TEXT),
    "JavaFunc5": lambda: udf(_java_func_5, result_type=DataTypes.TIMESTAMP(3)),
    "UdfWithOpen": lambda: udf(Opened(), result_type=TEXT),
    "SimpleScalarFunction": lambda: udf(lambda value: value + 1, result_type=INT),
    "TableFunc1": lambda: udtf(_parts, result_types=[TEXT]),
    "StringSplit": lambda: udtf(_split, result_types=[TEXT]),
    "JavaTableFunc1": lambda: udtf(_lengths, result_types=[INT]),
    "WeightedAvg": lambda: udaf(WeightedAverage(), result_type=LONG, accumulator_type=PAIR),
    "WeightedAvgWithMerge": lambda: udaf(
        WeightedAverage(), result_type=LONG, accumulator_type=PAIR
    ),
    "VarSum1AggFunction": lambda: udaf(Sum(forgets=False), result_type=LONG, accumulator_type=PAIR),
    "VarSum2AggFunction": lambda: udaf(Sum(forgets=True), result_type=LONG, accumulator_type=PAIR),
    "ConcatDistinctAggFunction": lambda: udaf(
        ConcatDistinct(), result_type=TEXT, accumulator_type=DataTypes.ARRAY(TEXT)
    ),
    "LargerThanCount": lambda: udaf(LargerCount(), result_type=LONG, accumulator_type=PAIR),
}
