"""Types, time, rows, configuration: what programs and the engine share, under PyFlink's paths.

Start with typeinfo.py (what records are made of) and configuration.py (settings).
"""

from __future__ import annotations

from headrace.common.accumulators import (
    Accumulator,
    AverageAccumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    ListAccumulator,
    LongCounter,
)
from headrace.common.completable_future import (
    CompletableFuture,
)
from headrace.common.config_options import (
    ConfigOption,
    ConfigOptions,
)
from headrace.common.configuration import (
    Configuration,
)
from headrace.common.execution_config import (
    ExecutionConfig,
)
from headrace.common.input_dependency_constraint import (
    InputDependencyConstraint,
)
from headrace.common.job_client import (
    JobClient,
)
from headrace.common.job_execution_result import (
    JobExecutionResult,
)
from headrace.common.job_id import (
    JobID,
)
from headrace.common.job_status import (
    JobStatus,
)
from headrace.common.restart_strategy import (
    RestartStrategies,
    RestartStrategyConfiguration,
)
from headrace.common.serialization import (
    BulkWriterFactory,
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from headrace.common.serializer import (
    TypeSerializer,
)
from headrace.common.time import (
    Duration,
    Instant,
    Time,
)
from headrace.common.typeinfo import (
    TypeInformation,
    Types,
)
from headrace.common.types import (
    Row,
    RowKind,
)
from headrace.common.watermark_strategy import (
    AssignerWithPeriodicWatermarksWrapper,
    IngestionTimeAssigner,
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)

__all__ = [
    "Accumulator",
    "AssignerWithPeriodicWatermarksWrapper",
    "AverageAccumulator",
    "BulkWriterFactory",
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "DoubleCounter",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "Histogram",
    "IngestionTimeAssigner",
    "InputDependencyConstraint",
    "Instant",
    "IntCounter",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "ListAccumulator",
    "LongCounter",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TimestampAssigner",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]
