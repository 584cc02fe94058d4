"""Steps that Catalyst runs: column expressions become ordinary DataFrame operations.

headrace's own expressions are turned into Spark columns here; pyspark Columns are used as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from headrace.common.typeinfo import RowTypeInfo
from headrace.datastream.expressions import Expression
from headrace.errors import InvalidArgumentError
from headrace.runtime.codec import codec_for
from headrace.spark.types import spark_schema_of, type_info_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph


def apply_native(frame: DataFrame, step: Step) -> DataFrame:
    """The DataFrame with one native step applied; split and timestamp columns are kept.

    Raises:
        InvalidArgumentError: the expressions name a column that is not there, or misuse one.
    """
    assert step.native is not None
    columns = [spark_column(expression) for expression in step.native.expressions]
    kept = [name for name in frame.columns if name.startswith("__")]
    try:
        if step.native.kind == "filter":
            for condition in columns:
                frame = frame.filter(condition)
            return frame
        return frame.select(*columns, *kept)
    except AnalysisException as error:
        known = ", ".join(name for name in frame.columns if name not in kept)
        raise InvalidArgumentError(
            f"the expressions of step {step.name!r} do not fit its input: {_first_line(error)}",
            where=step.call_site,
            fix=f"the columns here are {known}",
        ) from None


def _first_line(error: AnalysisException) -> str:
    return re.sub(r"\s*SQLSTATE: \w+", "", str(error).strip().splitlines()[0])


def spark_column(expression: Any) -> Column:
    """A Spark column from whatever the user wrote."""
    if isinstance(expression, Expression):
        return expression.build(F)  # type: ignore[no-any-return]
    if isinstance(expression, str):
        return F.expr(expression)
    column: Column = expression
    return column


def resolve_types(graph: StreamGraph, spark: SparkSession) -> None:
    """Find the types of native projections by asking Spark's analyser.

    Steps behind a projection took its type over when the program was built, before Spark was
    there to ask: so the type is completed in place.
    """
    for step in graph.steps:
        if step.native is None or step.native.kind != "select":
            continue
        before = step.inputs[0].record_type
        if step.operator is not None and codec_for(before).schema is None:
            continue  # runs in Python on records without a type
        empty = spark.createDataFrame([], spark_schema_of(before))
        found = type_info_of(apply_native(empty, step).schema)
        unknown = step.output_type
        assert isinstance(unknown, RowTypeInfo)
        unknown._field_names, unknown._field_types = found._field_names, found._field_types
