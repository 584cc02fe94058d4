"""When an entry of keyed state expires, and who may still see it.

In: ``StateTtlConfig.new_builder(Time.hours(1))...build()``.  Out: a frozen configuration on a state
descriptor.  Public as headrace.datastream.state.StateTtlConfig.  Next: runtime/state/
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from headrace.common.time import Duration, DurationLike, Time, to_millis
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["StateTtlConfig"]


class StateTtlConfig:
    """How long an entry lives after it was last touched, and what counts as a touch."""

    class UpdateType(Enum):
        """What restarts the time."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired entry may still be read while it exists."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """Which clock counts."""

        ProcessingTime = 0

    def __init__(
        self,
        update_type: StateTtlConfig.UpdateType,
        state_visibility: StateTtlConfig.StateVisibility,
        ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic,
        ttl: DurationLike,
        cleanup_strategies: StateTtlConfig.CleanupStrategies,
    ) -> None:
        self.ttl_ms = to_millis(ttl)
        if self.ttl_ms <= 0:
            raise InvalidArgumentError(f"state must live longer than 0 ms, not {ttl}")
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: DurationLike) -> StateTtlConfig.Builder:
        """Start with the time to live; the rest has Flink's defaults."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> StateTtlConfig.UpdateType:
        """What restarts the time."""
        return self._update_type

    def get_state_visibility(self) -> StateTtlConfig.StateVisibility:
        """Whether an expired entry may still be read."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """The time to live."""
        return Time.milliseconds(self.ttl_ms)

    def get_ttl_time_characteristic(self) -> StateTtlConfig.TtlTimeCharacteristic:
        """Which clock counts."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Whether entries expire at all."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> StateTtlConfig.CleanupStrategies:
        """How expired entries are removed."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig(ttl={self.ttl_ms} ms, {self._update_type.name}, "
            f"{self._state_visibility.name})"
        )

    class Builder:
        """Collects the parts of a StateTtlConfig."""

        def __init__(self, ttl: DurationLike) -> None:
            self._ttl = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._in_background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies,
                StateTtlConfig.CleanupStrategies.CleanupStrategy,
            ] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """What restarts the time."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Writing restarts the time. The default."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Reading and writing restart the time."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(
            self, state_visibility: StateTtlConfig.StateVisibility
        ) -> StateTtlConfig.Builder:
            """Whether an expired entry may still be read."""
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """An expired entry may be read until it is removed."""
            visibility = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            return self.set_state_visibility(visibility)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """An expired entry is as good as gone. The default."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Which clock counts; Flink has processing time only."""
            self._characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """The machine's clock counts. The default."""
            return self.set_ttl_time_characteristic(
                StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            )

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Leave expired entries out of savepoints."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.FULL_STATE_SCAN_SNAPSHOT] = (
                strategies.EmptyCleanupStrategy()
            )
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Look at this many entries whenever state is used. Taken as a hint."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.INCREMENTAL_CLEANUP] = (
                strategies.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self,
            query_time_after_num_entries: int,
            periodic_compaction_time: Duration | None = None,
        ) -> StateTtlConfig.Builder:
            """Remove expired entries while compacting. Taken as a hint."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.ROCKSDB_COMPACTION_FILTER] = (
                strategies.RocksdbCompactFilterCleanupStrategy(
                    query_time_after_num_entries, periodic_compaction_time
                )
            )
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Remove expired entries only when they are read."""
            self._in_background = False
            return self

        def set_ttl(self, ttl: DurationLike) -> StateTtlConfig.Builder:
            """The time to live."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """The configuration."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(dict(self._strategies), self._in_background),
            )

    class CleanupStrategies:
        """How expired entries are removed. headrace takes these as hints."""

        class Strategies(Enum):
            """The ways Flink knows."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy:
            """Base of the strategies."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A strategy without options."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Look at some entries whenever state is used."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                self._cleanup_size = cleanup_size
                self._for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """How many entries to look at."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Whether also records that use no state trigger it."""
                return self._for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Remove expired entries while compacting."""

            def __init__(
                self,
                query_time_after_num_entries: int,
                periodic_compaction_time: Duration | None = None,
            ) -> None:
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

            def get_query_time_after_num_entries(self) -> int:
                """After how many entries to look at the clock again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Duration:
                """How often to compact even without writes."""
                return self._periodic_compaction_time

        def __init__(
            self,
            strategies: Mapping[
                StateTtlConfig.CleanupStrategies.Strategies,
                StateTtlConfig.CleanupStrategies.CleanupStrategy,
            ],
            is_cleanup_in_background: bool,
        ) -> None:
            self._strategies = strategies
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Whether expired entries are removed without being read."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Whether savepoints leave expired entries out."""
            kind = StateTtlConfig.CleanupStrategies.Strategies.FULL_STATE_SCAN_SNAPSHOT
            return kind in self._strategies

        def get_incremental_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy | None:
            """The incremental strategy, if one was chosen."""
            strategies = StateTtlConfig.CleanupStrategies
            found = self._strategies.get(strategies.Strategies.INCREMENTAL_CLEANUP)
            return found if isinstance(found, strategies.IncrementalCleanupStrategy) else None

        def get_rocksdb_compact_filter_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy | None:
            """The compaction strategy, if one was chosen."""
            strategies = StateTtlConfig.CleanupStrategies
            found = self._strategies.get(strategies.Strategies.ROCKSDB_COMPACTION_FILTER)
            kind = strategies.RocksdbCompactFilterCleanupStrategy
            return found if isinstance(found, kind) else None
