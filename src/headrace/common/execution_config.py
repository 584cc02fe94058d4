"""Settings of a program under PyFlink's method names, kept in the program's Configuration.

In: ``env.get_config()``.  Out: options of common/options.py, so that code, variables and file all
count.  What means nothing in headrace is accepted and remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headrace.common.config_options import as_text
from headrace.common.configuration import Configuration, effective_configuration
from headrace.common.options import OPTIONS
from headrace.common.time import DurationLike, to_millis
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.opaque import OptionValue

__all__ = ["ExecutionConfig"]

_PARAMETERS = "pipeline.global-job-parameters"


class ExecutionConfig:
    """Settings of a program."""

    PARALLELISM_DEFAULT: ClassVar[int] = -1
    PARALLELISM_UNKNOWN: ClassVar[int] = -2

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)

    def _get(self, key: str) -> OptionValue:
        return effective_configuration(self._configuration).get(OPTIONS[key])

    def _set(self, key: str, value: OptionValue) -> ExecutionConfig:
        self._configuration.set(OPTIONS[key], value)
        return self

    def get_parallelism(self) -> int:
        """Subtasks of every step that does not say otherwise; -1 if not set."""
        value = self._get("parallelism.default")
        return self.PARALLELISM_DEFAULT if value is None else int(value)

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Subtasks of every step that does not say otherwise; -1 unsets it."""
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config("parallelism.default")
            return self
        return self._set("parallelism.default", parallelism)

    def get_max_parallelism(self) -> int:
        """Number of key groups; -1 if not set."""
        value = self._get("pipeline.max-parallelism")
        return -1 if value is None else int(value)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Number of key groups: fixed for the life of a job's state."""
        if not 0 < max_parallelism <= 32768:
            raise InvalidArgumentError(
                f"max parallelism must be in 1..32768, not {max_parallelism}"
            )
        return self._set("pipeline.max-parallelism", max_parallelism)

    def set_auto_watermark_interval(self, interval: DurationLike) -> ExecutionConfig:
        """Accepted: watermark generators are asked at the end of every micro-batch."""
        return self._set("pipeline.auto-watermark-interval", f"{to_millis(interval)} ms")

    def get_auto_watermark_interval(self) -> int:
        """What was set, in milliseconds."""
        return int(self._get("pipeline.auto-watermark-interval"))

    def set_latency_tracking_interval(self, interval: DurationLike) -> ExecutionConfig:
        """Accepted: no latency markers are sent."""
        return self._set("metrics.latency.interval", f"{to_millis(interval)} ms")

    def get_latency_tracking_interval(self) -> int:
        """What was set, in milliseconds."""
        return int(self._get("metrics.latency.interval"))

    def get_global_job_parameters(self) -> dict[str, str]:
        """What ``RuntimeContext.get_job_parameter`` finds."""
        return dict(self._get(_PARAMETERS) or {})

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, OptionValue]
    ) -> ExecutionConfig:
        """Parameters that every function can read."""
        values = {str(key): as_text(value) for key, value in global_job_parameters_dict.items()}
        return self._set(_PARAMETERS, values)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Steps without uid() get one from their place in the program. The default."""
        return self._set("pipeline.auto-generate-uids", value=True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Steps without uid() are an error: state survives changes of the program."""
        return self._set("pipeline.auto-generate-uids", value=False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether steps without uid() get one."""
        return bool(self._get("pipeline.auto-generate-uids"))

    def enable_generic_types(self) -> ExecutionConfig:
        """Records without a declared type are pickled. The default."""
        return self._set("pipeline.generic-types", value=True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Streams without a declared type are an error."""
        return self._set("pipeline.generic-types", value=False)

    def has_generic_types_disabled(self) -> bool:
        """Whether streams need a declared type."""
        return not self._get("pipeline.generic-types")

    def enable_object_reuse(self) -> ExecutionConfig:
        """Accepted: Python passes objects on as they are."""
        return self._set("pipeline.object-reuse", value=True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Accepted: Python passes objects on as they are."""
        return self._set("pipeline.object-reuse", value=False)

    def is_object_reuse_enabled(self) -> bool:
        """What was set."""
        return bool(self._get("pipeline.object-reuse"))

    def is_use_snapshot_compression(self) -> bool:
        """What was set: savepoints are always compressed."""
        return bool(self._get("execution.checkpointing.snapshot-compression"))

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Accepted: savepoints are always compressed."""
        return self._set("execution.checkpointing.snapshot-compression", use_snapshot_compression)

    # --- Java's and Flink's own concerns: remembered, without effect ------------------------------

    def _recall(self, key: str, default: OptionValue) -> OptionValue:
        return self._configuration._values.get(key, default)

    def _remember(self, key: str, value: OptionValue) -> ExecutionConfig:
        self._configuration._put(key, value)
        return self

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted: functions are pickled by cloudpickle."""
        return self._remember("pipeline.closure-cleaner-level", "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted: functions are pickled by cloudpickle."""
        return self._remember("pipeline.closure-cleaner-level", "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """What was set."""
        return bool(self._recall("pipeline.closure-cleaner-level", "RECURSIVE") != "NONE")

    def get_task_cancellation_interval(self) -> int:
        """What was set: Spark cancels tasks."""
        return int(self._recall("task.cancellation.interval", 30_000))

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Accepted: Spark cancels tasks."""
        return self._remember("task.cancellation.interval", interval)

    def get_task_cancellation_timeout(self) -> int:
        """What was set: Spark cancels tasks."""
        return int(self._recall("task.cancellation.timeout", 180_000))

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Accepted: Spark cancels tasks."""
        return self._remember("task.cancellation.timeout", timeout)

    def enable_force_kryo(self) -> ExecutionConfig:
        """Accepted without effect: there is no Kryo."""
        return self._remember("pipeline.force-kryo", value=True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Accepted without effect: there is no Kryo."""
        return self._remember("pipeline.force-kryo", value=False)

    def is_force_kryo_enabled(self) -> bool:
        """What was set."""
        return bool(self._recall("pipeline.force-kryo", default=False))

    def enable_force_avro(self) -> ExecutionConfig:
        """Accepted without effect: there are no Java classes."""
        return self._remember("pipeline.force-avro", value=True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Accepted without effect: there are no Java classes."""
        return self._remember("pipeline.force-avro", value=False)

    def is_force_avro_enabled(self) -> bool:
        """What was set."""
        return bool(self._recall("pipeline.force-avro", default=False))

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """None: there is no Kryo."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """None: there is no Kryo."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """None: there are no Java classes."""
        return []
