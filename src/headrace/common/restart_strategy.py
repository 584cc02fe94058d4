"""What happens after a failure: give up, or try again, how often and how soon.

In: ``RestartStrategies.fixed_delay_restart(3, 1000)``.  Out: frozen configurations.
Next: control/restart.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta

from headrace.common.time import DurationLike, to_millis
from headrace.errors import InvalidArgumentError

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


class RestartStrategyConfiguration(ABC):
    """Base of the strategies."""

    @abstractmethod
    def get_description(self) -> str:
        """The strategy in words."""

    def __str__(self) -> str:
        return self.get_description()


class RestartStrategies:
    """Where restart strategies come from. Plain numbers are milliseconds."""

    @dataclass(frozen=True)
    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A failure ends the job."""

        def get_description(self) -> str:
            """The strategy in words."""
            return "Restart deactivated."

    @dataclass(frozen=True)
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Try again some times, with the same pause before each."""

        restart_attempts: int
        delay_ms: int

        def get_restart_attempts(self) -> int:
            """How often to try again."""
            return self.restart_attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            """How long to wait before."""
            return timedelta(milliseconds=self.delay_ms)

        def get_description(self) -> str:
            """The strategy in words."""
            return (
                f"Restart with fixed delay ({self.delay_ms} ms). "
                f"#{self.restart_attempts} restart attempts."
            )

    @dataclass(frozen=True)
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Try again as long as failures are rare."""

        max_failure_rate: int
        failure_interval_ms: int
        delay_ms: int

        def get_max_failure_rate(self) -> int:
            """How many failures within the interval are too many."""
            return self.max_failure_rate

        def get_failure_interval(self) -> timedelta:
            """The interval in which failures are counted."""
            return timedelta(milliseconds=self.failure_interval_ms)

        def get_delay_between_attempts_interval(self) -> timedelta:
            """How long to wait before a new attempt."""
            return timedelta(milliseconds=self.delay_ms)

        def get_description(self) -> str:
            """The strategy in words."""
            return (
                f"Failure rate restart with maximum of {self.max_failure_rate} failures within "
                f"interval {self.failure_interval_ms} ms and fixed delay {self.delay_ms} ms."
            )

    @dataclass(frozen=True)
    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Try again with a pause that grows; it shrinks back after quiet times. Ours, from Java."""

        initial_backoff_ms: int = 1000
        max_backoff_ms: int = 60_000
        backoff_multiplier: float = 1.5
        reset_backoff_threshold_ms: int = 3_600_000
        jitter_factor: float = 0.1

        def get_description(self) -> str:
            """The strategy in words."""
            return (
                f"Restart with exponential delay: from {self.initial_backoff_ms} ms by "
                f"{self.backoff_multiplier} to {self.max_backoff_ms} ms."
            )

    @dataclass(frozen=True)
    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Whatever the configuration of the cluster says."""

        def get_description(self) -> str:
            """The strategy in words."""
            return "Cluster level default restart strategy"

    @staticmethod
    def no_restart() -> RestartStrategies.NoRestartStrategyConfiguration:
        """A failure ends the job."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> RestartStrategies.FallbackRestartStrategyConfiguration:
        """Whatever the configuration says."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: DurationLike
    ) -> RestartStrategies.FixedDelayRestartStrategyConfiguration:
        """Try again that often, with that pause before each attempt."""
        delay_ms = to_millis(delay_between_attempts)
        if restart_attempts < 0 or delay_ms < 0:
            raise InvalidArgumentError(
                f"restarts need 0 or more attempts and no negative delay, not {restart_attempts} "
                f"and {delay_ms} ms"
            )
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_ms)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: DurationLike, delay_interval: DurationLike
    ) -> RestartStrategies.FailureRateRestartStrategyConfiguration:
        """Try again unless that many failures happen within the interval."""
        interval_ms, delay_ms = to_millis(failure_interval), to_millis(delay_interval)
        if failure_rate < 1 or interval_ms <= 0 or delay_ms < 0:
            raise InvalidArgumentError(
                f"a failure rate needs 1 or more failures, an interval and no negative delay, not "
                f"{failure_rate}, {interval_ms} ms and {delay_ms} ms"
            )
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, interval_ms, delay_ms
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: DurationLike = 1000,
        max_backoff: DurationLike = 60_000,
        backoff_multiplier: float = 1.5,
        reset_backoff_threshold: DurationLike = 3_600_000,
        jitter_factor: float = 0.1,
    ) -> RestartStrategies.ExponentialDelayRestartStrategyConfiguration:
        """Try again without end, with a pause that grows. Ours, from Java."""
        strategy = RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            to_millis(initial_backoff),
            to_millis(max_backoff),
            backoff_multiplier,
            to_millis(reset_backoff_threshold),
            jitter_factor,
        )
        if (
            strategy.initial_backoff_ms < 1
            or strategy.max_backoff_ms < strategy.initial_backoff_ms
            or backoff_multiplier < 1
            or not 0 <= jitter_factor <= 1
        ):
            raise InvalidArgumentError(
                f"an exponential delay needs 1 ms <= initial <= max, a multiplier >= 1 and a "
                f"jitter from 0 to 1, not {strategy}"
            )
        return strategy
