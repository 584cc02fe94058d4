"""The types of what native steps give, found by asking Spark's analyser before anything runs.

In: a native projection or window.  Out: its type.  Next: plan/rules/resolve_types.py, which asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from headrace.common.typeinfo import PickledBytesTypeInfo, RowTypeInfo, TupleTypeInfo
from headrace.data.codec import codec_for
from headrace.hosts.spark.native.steps import apply_native
from headrace.hosts.spark.native.windows import aggregated
from headrace.hosts.spark.types import spark_schema_of, type_info_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.common.typeinfo import TypeInformation
    from headrace.graph.nodes import Step


class SparkTypes:
    """Asks Spark's analyser; the planner's resolve_types passes steps whose inputs have types."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __call__(self, step: Step) -> TypeInformation | None:
        """The type of what a projection or a window gives.

        Raises:
            InvalidArgumentError: the expressions name a column that is not there, or misuse one.
        """
        before = step.inputs[0].record_type
        if step.operator is not None and not _is_known(before, step):
            return None  # runs in Python on records without a type
        empty = self._spark.createDataFrame([], spark_schema_of(before))
        return type_info_of(_result(empty, step).schema)


def _is_known(record_type: TypeInformation, step: Step) -> bool:
    if codec_for(record_type).schema is None:
        return False
    if step.native is None or step.native.window is None:
        return True
    # an aggregate of pickled values makes sense in Python only
    return isinstance(record_type, RowTypeInfo | TupleTypeInfo) and not any(
        isinstance(field, PickledBytesTypeInfo) for field in record_type.get_field_types()
    )


def _result(empty: DataFrame, step: Step) -> DataFrame:
    assert step.native is not None
    if step.native.window is None:
        return apply_native(empty, step)
    # any window will do: only its bounds have types
    time = F.lit(None).cast("timestamp")
    return aggregated(empty, step, F.struct(time.alias("start"), time.alias("end")))
