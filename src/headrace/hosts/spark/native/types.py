"""The types of what native steps give, found by asking Spark's analyser before anything runs.

In: a graph.  Out: its native projections and windows have types.  Next: plan/planner.py
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
    from headrace.graph.stream_graph import StreamGraph


def resolve_types(graph: StreamGraph, spark: SparkSession) -> None:
    """Find the types of native projections and windows.

    Steps behind one took its type over when the program was built, before Spark was there to ask:
    so the type is completed in place.
    """
    for step in graph.steps:
        if step.native is None or step.native.kind in ("filter", "stamp"):
            continue
        before = step.inputs[0].record_type
        if step.operator is not None and not _is_known(before, step):
            continue  # runs in Python on records without a type
        found = type_info_of(
            _result(spark.createDataFrame([], spark_schema_of(before)), step).schema
        )
        unknown = step.output_type
        assert isinstance(unknown, RowTypeInfo)
        unknown._field_names, unknown._field_types = found._field_names, found._field_types


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
