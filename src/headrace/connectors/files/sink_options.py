"""The parts a file sink is configured with: buckets, rolling, file names, compaction.

In: calls of the user.  Out: frozen, picklable settings.  Next: sink.py (the sink itself),
connectors/files/writer.py and connectors/files/manifest.py (which obey them).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors.files.date_pattern import DatePattern
from headrace.connectors.files.manifest import RollingRules
from headrace.errors import InvalidArgumentError
from headrace.formats.compaction import ConcatenateFiles, MergeParquet

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.formats.compaction import MergeFiles

__all__ = [
    "BucketAssigner",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
]


class BucketAssigner(ABC):
    """Chooses the folder, below the sink's path, that a record is written to.

    Use one of the functions below, or pass a Python function from record to folder name to
    ``with_bucket_assigner``.
    """

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """No buckets: all files are directly in the sink's path."""
        return _OneBucket()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """One bucket for each hour, day, ... of the clock at the time of writing.

        Args:
            format_str: pattern of the folder name, in the letters of Java's ``DateTimeFormatter``.
            timezone_id: such as ``"Europe/Berlin"`` or ``"GMT-08:00"``; by default the zone of the
                machine that writes.
        """
        return _ClockBucket(DatePattern(format_str, timezone_id))

    @staticmethod
    def event_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = "UTC"
    ) -> BucketAssigner:
        """One bucket for each hour, day, ... of the record's own timestamp. Not in Flink.

        Records without a timestamp go to the bucket of the clock.
        """
        return _EventTimeBucket(DatePattern(format_str, timezone_id))

    @staticmethod
    def of(function: Callable[[Any], str]) -> BucketAssigner:
        """The bucket is what a function of the record returns. Not in PyFlink.

        Example:
            >>> by_country = BucketAssigner.of(lambda order: f"country={order['country']}")
            >>> by_country.buckets([{"country": "de"}, {"country": "fr"}], None, 0)
            ['country=de', 'country=fr']
        """
        return _FunctionBucket(function)

    @abstractmethod
    def buckets(
        self, values: list[Any], timestamps: list[int] | None, now_ms: int
    ) -> str | list[str]:
        """One bucket for all records, or the bucket of each.

        Args:
            values: the records.
            timestamps: their event times, if they have any.
            now_ms: the clock, in epoch milliseconds.
        """


@dataclass(frozen=True, slots=True)
class _OneBucket(BucketAssigner):
    def buckets(self, values: list[Any], timestamps: list[int] | None, now_ms: int) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class _ClockBucket(BucketAssigner):
    pattern: DatePattern

    def buckets(self, values: list[Any], timestamps: list[int] | None, now_ms: int) -> str:
        return self.pattern.format(now_ms)


@dataclass(frozen=True, slots=True)
class _EventTimeBucket(BucketAssigner):
    pattern: DatePattern

    def buckets(
        self, values: list[Any], timestamps: list[int] | None, now_ms: int
    ) -> str | list[str]:
        if timestamps is None:
            return self.pattern.format(now_ms)
        # Few seconds carry many records: format each second once.
        seconds = {ms // 1000 for ms in timestamps}
        if "S" in self.pattern.pattern:
            return [self.pattern.format(ms) for ms in timestamps]
        names = {second: self.pattern.format(second * 1000) for second in seconds}
        return [names[ms // 1000] for ms in timestamps]


@dataclass(frozen=True, slots=True)
class _FunctionBucket(BucketAssigner):
    function: Callable[[Any], str]

    def buckets(
        self, values: list[Any], timestamps: list[int] | None, now_ms: int
    ) -> str | list[str]:
        return list(map(self.function, values))


class RollingPolicy(ABC):
    """Decides when a part file is full and the next one begins.

    Coming from Flink: in continuous mode a part grows over epochs until it is full, as in Flink,
    and those of bulk formats do so, too. In micro-batches every part ends with its batch, and a
    policy can only split the files of one batch further.
    """

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int = 60 * 1000,
        inactivity_interval: int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """Splits by size and age.

        Args:
            part_size: a file of so many bytes is full.
            rollover_interval: a file open for so many milliseconds is full.
            inactivity_interval: a file that got no record for so many milliseconds is full.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """One file for each bucket, subtask and epoch, in both modes."""
        return OnCheckpointRollingPolicy()

    @abstractmethod
    def should_roll(self, size_bytes: int, age_ms: int) -> bool:
        """Whether a file of this size and age is full."""

    @property
    def max_bytes(self) -> int | None:
        """Size at which a file is full, or None when size does not matter."""
        return None

    def over_epochs(self) -> RollingRules | None:
        """When a file is full that grows over epochs, or None when every epoch ends its files."""
        return None


@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """See `RollingPolicy.default_rolling_policy`."""

    part_size: int
    rollover_interval: int
    inactivity_interval: int

    def __post_init__(self) -> None:
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            _check_positive(name, getattr(self, name), "RollingPolicy.default_rolling_policy")

    def should_roll(self, size_bytes: int, age_ms: int) -> bool:
        """Whether a limit is reached."""
        return size_bytes >= self.part_size or age_ms >= self.rollover_interval

    @property
    def max_bytes(self) -> int | None:
        """The part size."""
        return self.part_size

    def over_epochs(self) -> RollingRules:
        """All three limits."""
        return RollingRules(self.part_size, self.rollover_interval, self.inactivity_interval)


@dataclass(frozen=True, slots=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """See `RollingPolicy.on_checkpoint_rolling_policy`."""

    def should_roll(self, size_bytes: int, age_ms: int) -> bool:
        """Never within a batch."""
        return False


@dataclass(frozen=True, slots=True)
class OutputFileConfig:
    """How part files are named: ``<prefix>-<job and sink>-<batch>-<subtask>-<n><suffix>``."""

    part_prefix: str
    part_suffix: str

    def __post_init__(self) -> None:
        if not self.part_prefix or self.part_prefix[0] in "_." or "/" in self.part_prefix:
            raise InvalidArgumentError(
                f"the part prefix {self.part_prefix!r} would hide or misplace the files",
                where="OutputFileConfig",
                fix="use a prefix without '/' that does not begin with '_' or '.'",
            )
        if "/" in self.part_suffix:
            raise InvalidArgumentError(
                f"the part suffix {self.part_suffix!r} contains '/'",
                where="OutputFileConfig",
                fix="use a suffix such as '.json'",
            )

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """A builder, with prefix ``part`` and no suffix."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """What file names begin with."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """What file names end with."""
        return self.part_suffix

    class OutputFileConfigBuilder:
        """Collects prefix and suffix."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Sets what file names begin with."""
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Sets what file names end with, such as ``.json``."""
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """The configuration."""
            return OutputFileConfig(self.part_prefix, self.part_suffix)


@dataclass(frozen=True, slots=True)
class FileCompactStrategy:
    """When small committed files are merged into one; until then readers do not see them.

    Attributes:
        size_threshold: merge a bucket when its waiting files reach this many bytes; -1: never.
        num_checkpoints_before_compaction: merge after so many micro-batches; -1: never.
        num_compact_threads: how many merges run at once on the driver.
    """

    size_threshold: int = -1
    num_checkpoints_before_compaction: int = -1
    num_compact_threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """A builder; set at least one of the two thresholds."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Collects the thresholds."""

        def __init__(self) -> None:
            self._size_threshold = -1
            self._num_checkpoints = -1
            self._num_threads = 1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Merges when a file has waited for so many micro-batches, its own included."""
            _check_positive(
                "num_checkpoints_before_compaction",
                num_checkpoints_before_compaction,
                "FileCompactStrategy",
            )
            self._num_checkpoints = num_checkpoints_before_compaction
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Merges when the waiting files of a bucket have so many bytes together."""
            self._size_threshold = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Runs so many merges at once."""
            _check_positive("num_compact_threads", num_compact_threads, "FileCompactStrategy")
            self._num_threads = num_compact_threads
            return self

        def build(self) -> FileCompactStrategy:
            """The strategy.

            Raises:
                InvalidArgumentError: no threshold is set, so nothing would ever be merged.
            """
            if self._size_threshold < 0 and self._num_checkpoints < 0:
                raise InvalidArgumentError(
                    "a compact strategy without a threshold never merges anything",
                    where="FileCompactStrategy.builder().build()",
                    fix="call set_size_threshold(bytes) or enable_compaction_on_checkpoint(n)",
                )
            return FileCompactStrategy(
                self._size_threshold, self._num_checkpoints, self._num_threads
            )


@dataclass(frozen=True, slots=True)
class FileCompactor:
    """How small files are merged into one.

    Attributes:
        merge: does it; None publishes the waiting files as they are.
        joins_bytes: whether it copies bytes, which only formats without a footer survive.
    """

    merge: MergeFiles | None
    joins_bytes: bool = False

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Writes one file after the other; for text, JSON lines and CSV without a header.

        Args:
            file_delimiter: bytes to put between two files.
        """
        return FileCompactor(ConcatenateFiles(file_delimiter or b""), joins_bytes=True)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Merges nothing: files wait for the strategy and are then published as they are."""
        return FileCompactor(None)

    @staticmethod
    def parquet_file_compactor() -> FileCompactor:
        """Rewrites Parquet files as one, with larger row groups. Not in PyFlink."""
        return FileCompactor(MergeParquet())


def _check_positive(name: str, value: int, where: str) -> None:
    if not isinstance(value, int) or value <= 0:
        raise InvalidArgumentError(
            f"{name} is {value!r}, it must be a whole number above 0",
            where=where,
            fix=f"pass a positive {name}",
        )
