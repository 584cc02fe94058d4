"""Steps that Catalyst runs: column expressions become ordinary DataFrame operations.

headrace's own expressions are turned into Spark columns here; pyspark Columns are used as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from headrace.datastream.expressions import Expression
from headrace.runtime.operators.sink import SinkOperator
from headrace.spark.types import spark_schema_of, type_info_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.common.typeinfo import TypeInformation
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph


def apply_native(frame: DataFrame, step: Step) -> DataFrame:
    """The DataFrame with one native step applied; split and timestamp columns are kept."""
    assert step.native is not None
    columns = [spark_column(expression) for expression in step.native.expressions]
    if step.native.kind == "filter":
        for condition in columns:
            frame = frame.filter(condition)
        return frame
    kept = [name for name in frame.columns if name.startswith("__")]
    return frame.select(*columns, *kept)


def spark_column(expression: Any) -> Column:
    """A Spark column from whatever the user wrote."""
    if isinstance(expression, Expression):
        return expression.build(F)  # type: ignore[no-any-return]
    if isinstance(expression, str):
        return F.expr(expression)
    column: Column = expression
    return column


def resolve_types(graph: StreamGraph, spark: SparkSession) -> None:
    """Find the types of native projections by asking Spark's analyser, and pass them on."""
    found: dict[int, TypeInformation] = {}
    for step in graph.steps:
        if step.native is not None and step.native.kind == "select":
            before = step.inputs[0].origin.output_type
            empty = spark.createDataFrame([], spark_schema_of(before))
            guess = step.output_type
            step.output_type = type_info_of(apply_native(empty, step).schema)
            found[id(guess)] = step.output_type
        elif id(step.output_type) in found:  # a step that passes its input's type on
            step.output_type = found[id(step.output_type)]
        if isinstance(step.operator, SinkOperator):
            step.operator.type_info = step.output_type
