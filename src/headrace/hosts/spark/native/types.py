"""The types of what native steps give, found by asking Spark's analyser before anything runs.

In: a native projection.  Out: its type.  Next: plan/rules/resolve_types.py, which asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.data.codec import codec_for
from headrace.hosts.spark.native.steps import apply_native
from headrace.hosts.spark.types import spark_schema_of, type_info_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.common.typeinfo import TypeInformation
    from headrace.graph.nodes import Step


class SparkTypes:
    """Asks Spark's analyser; the planner's resolve_types passes steps whose inputs have types."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __call__(self, step: Step) -> TypeInformation | None:
        """The type of what a projection gives.

        Raises:
            InvalidArgumentError: the expressions name a column that is not there, or misuse one.
        """
        before = step.inputs[0].record_type
        if step.operator is not None and codec_for(before).schema is None:
            return None  # runs in Python on records without a type
        empty = self._spark.createDataFrame([], spark_schema_of(before))
        return type_info_of(apply_native(empty, step).schema)
