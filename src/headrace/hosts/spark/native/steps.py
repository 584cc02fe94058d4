"""Steps that Catalyst runs: column expressions become ordinary DataFrame operations.

headrace's own expressions are turned into Spark columns here; pyspark Columns are used as they are.
Next: hosts/spark/native/types.py for the types of what comes out.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, assert_never

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType

from headrace.errors import InvalidArgumentError
from headrace.expr.expressions import Expression
from headrace.graph.nodes import NativeKind
from headrace.hosts.spark.native.columns import column_of
from headrace.hosts.spark.quiet import silent_logger
from headrace.hosts.spark.sources.source_batches import TIMESTAMP_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame

    from headrace.common.opaque import ColumnLike
    from headrace.graph.nodes import Step


def apply_native(frame: DataFrame, step: Step) -> DataFrame:
    """The DataFrame with one native step applied; split and timestamp columns are kept.

    Args:
        frame: what the step reads.
        step: a filter, a projection, or timestamps.

    Raises:
        InvalidArgumentError: the expressions name a column that is not there, or misuse one.
    """
    assert step.native is not None
    expressions = step.native.expressions
    with analysed(frame, step):
        match step.native.kind:
            case NativeKind.FILTER:
                for condition in map(spark_column, expressions):
                    frame = frame.filter(condition)
                return frame
            case NativeKind.STAMP:
                time = timestamps(frame, step, spark_column(expressions[0]))
                return frame.withColumn(TIMESTAMP_COLUMN, time)
            case NativeKind.SELECT:
                return frame.select(*map(_named_column, expressions), *_own_columns(frame))
        assert_never(step.native.kind)


def timestamps(frame: DataFrame, step: Step, column: Column) -> Column:
    """A column of epoch milliseconds as 64-bit numbers; an error if it is something else."""
    with analysed(frame, step):
        found = frame.select(column).schema[0].dataType
    if not isinstance(found, IntegralType):
        raise InvalidArgumentError(
            f"the timestamp column of step {step.name!r} is of type {found.simpleString()}",
            where=step.call_site,
            fix="use a column of whole numbers: epoch milliseconds",
        )
    return column.cast("long")


def _own_columns(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if name.startswith("__")]


@contextlib.contextmanager
def analysed(frame: DataFrame, step: Step) -> Iterator[None]:
    """Tell what Spark's analyser says about the expressions of a step with the user's line."""
    try:
        with silent_logger("DataFrameQueryContextLogger"), silent_logger("SQLQueryContextLogger"):
            yield
    except AnalysisException as error:
        own = _own_columns(frame)
        known = ", ".join(name for name in frame.columns if name not in own)
        raise InvalidArgumentError(
            f"the expressions of step {step.name!r} do not fit its input: {_first_line(error)}",
            where=step.call_site,
            fix=f"the columns here are {known}",
        ) from None


def _first_line(error: AnalysisException) -> str:
    return re.sub(r"\s*SQLSTATE: \w+", "", str(error).strip().splitlines()[0])


def spark_column(expression: ColumnLike) -> Column:
    """A Spark column from whatever the user wrote."""
    if isinstance(expression, Expression):
        return column_of(expression.node)
    if isinstance(expression, str):
        return F.expr(expression)
    column: Column = expression
    return column


def _named_column(expression: ColumnLike) -> Column:
    # the name that Python gives the field as well: Spark's own of (n == 1) is (n = 1)
    column = spark_column(expression)
    return column.alias(expression.output_name) if isinstance(expression, Expression) else column
