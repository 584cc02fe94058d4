"""Settings of checkpoints under PyFlink's method names, kept in the program's Configuration.

In: ``env.get_checkpoint_config()``.  Out: options ``execution.checkpointing.*``.
Next: common/options.py (what each means), control/executor.py (who reads them)

With effect: interval, externalized retention (and the options dir and num-retained).  Accepted,
because a micro-batch already is what they ask for: mode, minimal pause, concurrent checkpoints,
unaligned checkpoints, alignment timeout, tolerable failures; and the timeout (see its option).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.configuration import Configuration, effective_configuration
from headrace.common.options import OPTIONS
from headrace.common.time import Duration, to_millis
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace.common.time import DurationLike

__all__ = ["CheckpointConfig"]

_PREFIX = "execution.checkpointing."


class CheckpointConfig:
    """Settings of checkpoints. In headrace every micro-batch is a checkpoint."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def _get(self, name: str) -> Any:
        return effective_configuration(self._configuration).get(OPTIONS[_PREFIX + name])

    def _set(self, name: str, value: Any) -> CheckpointConfig:
        self._configuration.set(OPTIONS[_PREFIX + name], value)
        return self

    def _set_millis(self, name: str, value: DurationLike) -> CheckpointConfig:
        return self._set(name, f"{to_millis(value)} ms")

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval is set; then a failed job is restarted if nothing else is said.

        Without one headrace checkpoints as well: every micro-batch, one right after the other.
        """
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """What was set: results are exactly once in both modes."""
        return CheckpointingMode[self._get("mode")]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Accepted: at-least-once would not be faster, so both modes are exactly once."""
        return self._set("mode", checkpointing_mode.name)

    get_checkpointing_consistency_mode = get_checkpointing_mode
    set_checkpointing_consistency_mode = set_checkpointing_mode

    def get_checkpoint_interval(self) -> int:
        """Milliseconds between micro-batches; -1 if not set."""
        interval = self._get("interval")
        return -1 if interval is None else int(interval)

    def set_checkpoint_interval(self, checkpoint_interval: DurationLike) -> CheckpointConfig:
        """Start a micro-batch, and so a checkpoint, that often.

        A batch takes all that has come since the last one, so this trades latency for
        throughput: results are at least one batch and at most one interval and a batch late, and
        a batch has fixed costs that a longer interval shares among more records. A batch that takes
        longer than the interval is followed by the next one at once.
        """
        if to_millis(checkpoint_interval) <= 0:
            raise InvalidArgumentError(
                f"the checkpoint interval must be positive, not {checkpoint_interval}"
            )
        return self._set_millis("interval", checkpoint_interval)

    def get_checkpoint_timeout(self) -> int:
        """What was set, in milliseconds."""
        return int(self._get("timeout"))

    def set_checkpoint_timeout(self, checkpoint_timeout: DurationLike) -> CheckpointConfig:
        """Accepted: a micro-batch ends, or the job fails; it is not given up half-way."""
        return self._set_millis("timeout", checkpoint_timeout)

    def get_min_pause_between_checkpoints(self) -> int:
        """What was set, in milliseconds."""
        return int(self._get("min-pause"))

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: DurationLike
    ) -> CheckpointConfig:
        """Accepted: micro-batches follow each other without overlap."""
        return self._set_millis("min-pause", min_pause_between_checkpoints)

    def get_max_concurrent_checkpoints(self) -> int:
        """What was set."""
        return int(self._get("max-concurrent-checkpoints"))

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Accepted: there is one micro-batch at a time."""
        return self._set("max-concurrent-checkpoints", max_concurrent_checkpoints)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether a failed checkpoint is a failure of the job."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Whether a failed checkpoint is a failure of the job."""
        unlimited = 2**31 - 1
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else unlimited
        )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """How many checkpoints may fail in a row."""
        return int(self._get("tolerable-failed-checkpoints"))

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Accepted: a failed micro-batch is a failure of the job, which then restarts."""
        return self._set("tolerable-failed-checkpoints", tolerable_checkpoint_failure_number)

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Whether the checkpoint directory is deleted when the job is cancelled.

        Coming from Flink: it stays unless DELETE_ON_CANCELLATION is set, also when the job
        finishes or fails; a job without execution.checkpointing.dir leaves nothing behind.
        """
        return self._set("externalized-checkpoint-retention", retention_mode.name)

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """What becomes of checkpoints when the job is cancelled."""
        return ExternalizedCheckpointRetention[self._get("externalized-checkpoint-retention")]

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints outlive a failed or cancelled job."""
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not none

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """What was set: micro-batches need no alignment."""
        return bool(self._get("unaligned.enabled"))

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Accepted: micro-batches need no alignment."""
        return self._set("unaligned.enabled", enabled)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Accepted: micro-batches need no alignment."""
        return self.enable_unaligned_checkpoints(enabled=False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: DurationLike) -> CheckpointConfig:
        """Accepted: micro-batches need no alignment."""
        return self._set_millis("aligned-checkpoint-timeout", alignment_timeout)

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """What was set."""
        return Duration.of_millis(int(self._get("aligned-checkpoint-timeout")))

    set_alignment_timeout = set_aligned_checkpoint_timeout
    get_alignment_timeout = get_aligned_checkpoint_timeout

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Accepted: micro-batches need no alignment."""
        return self._set("unaligned.forced", force_unaligned_checkpoints)

    def is_force_unaligned_checkpoints(self) -> bool:
        """What was set."""
        return bool(self._get("unaligned.forced"))
