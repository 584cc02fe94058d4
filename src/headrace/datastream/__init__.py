"""What users write: streams, functions, windows, state, under PyFlink's paths.

Start with stream_execution_environment.py, then data_stream.py.  The names below are loaded at
their first use: a worker that needs only the functions loads nothing else, and no Spark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from headrace.missing import missing_attribute

if TYPE_CHECKING:
    from headrace.api.functions import (
        AggregateFunction,
        AllWindowFunction,
        AsyncFunction,
        AsyncRetryPredicate,
        AsyncRetryStrategy,
        BroadcastProcessFunction,
        CoFlatMapFunction,
        CoGroupFunction,
        CoMapFunction,
        CoProcessFunction,
        FilterFunction,
        FlatJoinFunction,
        FlatMapFunction,
        JoinFunction,
        KeyedBroadcastProcessFunction,
        KeyedCoProcessFunction,
        KeyedProcessFunction,
        KeySelector,
        MapFunction,
        Partitioner,
        ProcessAllWindowFunction,
        ProcessFunction,
        ProcessJoinFunction,
        ProcessWindowFunction,
        ReduceFunction,
        RuntimeContext,
        SinkFunction,
        SourceFunction,
        WindowFunction,
    )
    from headrace.api.output_tag import (
        OutputTag,
    )
    from headrace.api.time_domain import (
        TimeDomain,
    )
    from headrace.api.timerservice import (
        TimerService,
    )
    from headrace.api.window import (
        CountWindow,
        GlobalWindow,
        MergingWindowAssigner,
        TimeWindow,
        Trigger,
        TriggerResult,
        Window,
        WindowAssigner,
    )
    from headrace.datastream.async_data_stream import (
        AsyncDataStream,
    )
    from headrace.datastream.checkpoint_config import (
        CheckpointConfig,
    )
    from headrace.datastream.checkpoint_storage import (
        CheckpointStorage,
        CustomCheckpointStorage,
        FileSystemCheckpointStorage,
        JobManagerCheckpointStorage,
    )
    from headrace.datastream.checkpointing_mode import (
        CheckpointingMode,
    )
    from headrace.datastream.closeable_iterator import (
        CloseableIterator,
    )
    from headrace.datastream.connected_streams import (
        BroadcastConnectedStream,
        BroadcastStream,
        ConnectedStreams,
    )
    from headrace.datastream.data_stream import (
        DataStream,
        KeyedStream,
    )
    from headrace.datastream.data_stream_sink import (
        DataStreamSink,
    )
    from headrace.datastream.execution_mode import (
        RuntimeExecutionMode,
    )
    from headrace.datastream.externalized_checkpoint_retention import (
        ExternalizedCheckpointRetention,
    )
    from headrace.datastream.interval_join import (
        IntervalJoin,
        IntervalJoined,
    )
    from headrace.datastream.joined_streams import (
        CoGroupedStreams,
        JoinedStreams,
    )
    from headrace.datastream.slot_sharing_group import (
        MemorySize,
        SlotSharingGroup,
    )
    from headrace.datastream.state_backend import (
        CustomStateBackend,
        EmbeddedRocksDBStateBackend,
        HashMapStateBackend,
        PredefinedOptions,
        StateBackend,
    )
    from headrace.datastream.stream_execution_environment import (
        StreamExecutionEnvironment,
    )
    from headrace.datastream.windowed_stream import (
        AllWindowedStream,
        WindowedStream,
    )

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AllWindowedStream",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoGroupedStreams",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "CountWindow",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "GlobalWindow",
    "HashMapStateBackend",
    "IntervalJoin",
    "IntervalJoined",
    "JobManagerCheckpointStorage",
    "JoinFunction",
    "JoinedStreams",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "MemorySize",
    "MergingWindowAssigner",
    "OutputTag",
    "Partitioner",
    "PredefinedOptions",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "StateBackend",
    "StreamExecutionEnvironment",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
]

_MODULES = {
    "async_data_stream": ("AsyncDataStream",),
    "checkpoint_config": ("CheckpointConfig",),
    "checkpoint_storage": (
        "CheckpointStorage",
        "CustomCheckpointStorage",
        "FileSystemCheckpointStorage",
        "JobManagerCheckpointStorage",
    ),
    "checkpointing_mode": ("CheckpointingMode",),
    "closeable_iterator": ("CloseableIterator",),
    "connected_streams": (
        "BroadcastConnectedStream",
        "BroadcastStream",
        "ConnectedStreams",
    ),
    "data_stream": (
        "DataStream",
        "KeyedStream",
    ),
    "data_stream_sink": ("DataStreamSink",),
    "execution_mode": ("RuntimeExecutionMode",),
    "externalized_checkpoint_retention": ("ExternalizedCheckpointRetention",),
    "functions": (
        "AggregateFunction",
        "AllWindowFunction",
        "AsyncFunction",
        "AsyncRetryPredicate",
        "AsyncRetryStrategy",
        "BroadcastProcessFunction",
        "CoFlatMapFunction",
        "CoGroupFunction",
        "CoMapFunction",
        "CoProcessFunction",
        "FilterFunction",
        "FlatJoinFunction",
        "FlatMapFunction",
        "JoinFunction",
        "KeySelector",
        "KeyedBroadcastProcessFunction",
        "KeyedCoProcessFunction",
        "KeyedProcessFunction",
        "MapFunction",
        "Partitioner",
        "ProcessAllWindowFunction",
        "ProcessFunction",
        "ProcessJoinFunction",
        "ProcessWindowFunction",
        "ReduceFunction",
        "RuntimeContext",
        "SinkFunction",
        "SourceFunction",
        "WindowFunction",
    ),
    "interval_join": (
        "IntervalJoin",
        "IntervalJoined",
    ),
    "joined_streams": (
        "CoGroupedStreams",
        "JoinedStreams",
    ),
    "output_tag": ("OutputTag",),
    "slot_sharing_group": (
        "MemorySize",
        "SlotSharingGroup",
    ),
    "state_backend": (
        "CustomStateBackend",
        "EmbeddedRocksDBStateBackend",
        "HashMapStateBackend",
        "PredefinedOptions",
        "StateBackend",
    ),
    "stream_execution_environment": ("StreamExecutionEnvironment",),
    "time_domain": ("TimeDomain",),
    "timerservice": ("TimerService",),
    "window": (
        "CountWindow",
        "GlobalWindow",
        "MergingWindowAssigner",
        "TimeWindow",
        "Trigger",
        "TriggerResult",
        "Window",
        "WindowAssigner",
    ),
    "windowed_stream": (
        "AllWindowedStream",
        "WindowedStream",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        return missing_attribute(__name__, name)
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
