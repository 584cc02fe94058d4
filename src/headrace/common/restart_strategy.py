"""What happens after a failure: give up, or try again, how often and how soon.

In: ``RestartStrategies.fixed_delay_restart(3, 1000)``, or the options ``restart-strategy.*``.
Out: frozen configurations.  Next: control/restart.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from headrace.common.options import OPTIONS
from headrace.common.time import DurationLike, to_millis
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.configuration import Configuration
    from headrace.common.opaque import OptionValue

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

        restart_attempts: int | None = None
        delay_between_attempts_interval: DurationLike | None = None

        def __post_init__(self) -> None:
            _check(self.get_restart_attempts() >= 0 and self.delay_ms >= 0, self)

        @property
        def delay_ms(self) -> int:
            """How long to wait before an attempt, in milliseconds."""
            return _millis(self.delay_between_attempts_interval, 1000)

        def get_restart_attempts(self) -> int:
            """How often to try again."""
            return 1 if self.restart_attempts is None else self.restart_attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            """How long to wait before."""
            return timedelta(milliseconds=self.delay_ms)

        def get_description(self) -> str:
            """The strategy in words."""
            return (
                f"Restart with fixed delay ({self.delay_ms} ms). "
                f"#{self.get_restart_attempts()} restart attempts."
            )

    @dataclass(frozen=True)
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Try again as long as failures are rare."""

        max_failure_rate: int | None = None
        failure_interval: DurationLike | None = None
        delay_between_attempts_interval: DurationLike | None = None

        def __post_init__(self) -> None:
            fits = self.get_max_failure_rate() >= 1 and self.failure_interval_ms > 0
            _check(fits and self.delay_ms >= 0, self)

        @property
        def failure_interval_ms(self) -> int:
            """The interval in which failures are counted, in milliseconds."""
            return _millis(self.failure_interval, 60_000)

        @property
        def delay_ms(self) -> int:
            """How long to wait before an attempt, in milliseconds."""
            return _millis(self.delay_between_attempts_interval, 1000)

        def get_max_failure_rate(self) -> int:
            """How many failures within the interval are too many."""
            return 1 if self.max_failure_rate is None else self.max_failure_rate

        def get_failure_interval(self) -> timedelta:
            """The interval in which failures are counted."""
            return timedelta(milliseconds=self.failure_interval_ms)

        def get_delay_between_attempts_interval(self) -> timedelta:
            """How long to wait before a new attempt."""
            return timedelta(milliseconds=self.delay_ms)

        def get_description(self) -> str:
            """The strategy in words."""
            return (
                f"Failure rate restart with maximum of {self.get_max_failure_rate()} failures "
                f"within interval {self.failure_interval_ms} ms and fixed delay {self.delay_ms} ms."
            )

    @dataclass(frozen=True)
    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Try again with a pause that grows; it shrinks back after quiet times. Ours, from Java."""

        initial_backoff_ms: int = 1000
        max_backoff_ms: int = 60_000
        backoff_multiplier: float = 1.5
        reset_backoff_threshold_ms: int = 3_600_000
        jitter_factor: float = 0.1
        attempts_before_reset_backoff: int | None = None  # None: without end

        def __post_init__(self) -> None:
            grows = 1 <= self.initial_backoff_ms <= self.max_backoff_ms
            limit = self.attempts_before_reset_backoff
            _check(grows and self.backoff_multiplier >= 1 and 0 <= self.jitter_factor <= 1, self)
            _check(self.reset_backoff_threshold_ms >= 1 and (limit is None or limit >= 1), self)

        def get_description(self) -> str:
            """The strategy in words."""
            limit = self.attempts_before_reset_backoff
            often = "" if limit is None else f" #{limit} restart attempts."
            return (
                f"Restart with exponential delay: from {self.initial_backoff_ms} ms by "
                f"{self.backoff_multiplier} to {self.max_backoff_ms} ms.{often}"
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
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(
            restart_attempts, to_millis(delay_between_attempts)
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: DurationLike, delay_interval: DurationLike
    ) -> RestartStrategies.FailureRateRestartStrategyConfiguration:
        """Try again unless that many failures happen within the interval."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, to_millis(failure_interval), to_millis(delay_interval)
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: DurationLike = 1000,
        max_backoff: DurationLike = 60_000,
        backoff_multiplier: float = 1.5,
        reset_backoff_threshold: DurationLike = 3_600_000,
        jitter_factor: float = 0.1,
        attempts_before_reset_backoff: int | None = None,
    ) -> RestartStrategies.ExponentialDelayRestartStrategyConfiguration:
        """Try again with a pause that grows, without end if not told how often. From Java."""
        return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            to_millis(initial_backoff),
            to_millis(max_backoff),
            backoff_multiplier,
            to_millis(reset_backoff_threshold),
            jitter_factor,
            attempts_before_reset_backoff,
        )


# --- strategies as options, so that code, variables and files all say it in one way --------------

_FIXED, _RATE = "restart-strategy.fixed-delay.", "restart-strategy.failure-rate."
_EXPONENTIAL = "restart-strategy.exponential-delay."


def strategy_from_options(
    configuration: Configuration, *, checkpointing: bool
) -> RestartStrategyConfiguration:
    """The strategy that the options ask for.

    Args:
        configuration: the effective settings of a job.
        checkpointing: whether an interval is set. As in Flink, a job with checkpointing is
            restarted with exponential delay and one without is not, if nothing else is said.
    """

    def value(key: str) -> OptionValue:
        return configuration.get(OPTIONS[key])

    kind = value("restart-strategy.type") or ("exponential-delay" if checkpointing else "none")
    return _STRATEGIES[kind](value)


def strategy_as_options(strategy: RestartStrategyConfiguration) -> dict[str, str]:
    """The options that ask for this strategy; none for the fallback."""
    r = RestartStrategies
    if isinstance(strategy, r.FixedDelayRestartStrategyConfiguration):
        kind, values = (
            "fixed-delay",
            {
                _FIXED + "attempts": strategy.get_restart_attempts(),
                _FIXED + "delay": f"{strategy.delay_ms} ms",
            },
        )
    elif isinstance(strategy, r.FailureRateRestartStrategyConfiguration):
        kind, values = (
            "failure-rate",
            {
                _RATE + "max-failures-per-interval": strategy.get_max_failure_rate(),
                _RATE + "failure-rate-interval": f"{strategy.failure_interval_ms} ms",
                _RATE + "delay": f"{strategy.delay_ms} ms",
            },
        )
    elif isinstance(strategy, r.ExponentialDelayRestartStrategyConfiguration):
        kind, values = (
            "exponential-delay",
            {
                _EXPONENTIAL + "initial-backoff": f"{strategy.initial_backoff_ms} ms",
                _EXPONENTIAL + "max-backoff": f"{strategy.max_backoff_ms} ms",
                _EXPONENTIAL + "backoff-multiplier": strategy.backoff_multiplier,
                _EXPONENTIAL
                + "reset-backoff-threshold": f"{strategy.reset_backoff_threshold_ms} ms",
                _EXPONENTIAL + "jitter-factor": strategy.jitter_factor,
                _EXPONENTIAL
                + "attempts-before-reset-backoff": strategy.attempts_before_reset_backoff,
            },
        )
    elif isinstance(strategy, r.NoRestartStrategyConfiguration):
        kind, values = "none", {}
    elif isinstance(strategy, r.FallbackRestartStrategyConfiguration):
        return {}
    else:
        raise InvalidArgumentError(
            f"{strategy!r} is not a restart strategy", fix="make one with RestartStrategies"
        )
    options = {"restart-strategy.type": kind, **values}
    return {key: str(value) for key, value in options.items() if value is not None}


def _none(_: Callable[[str], OptionValue]) -> RestartStrategyConfiguration:
    return RestartStrategies.no_restart()


def _fixed_delay(value: Callable[[str], OptionValue]) -> RestartStrategyConfiguration:
    return RestartStrategies.fixed_delay_restart(
        value(_FIXED + "attempts"), value(_FIXED + "delay")
    )


def _failure_rate(value: Callable[[str], OptionValue]) -> RestartStrategyConfiguration:
    return RestartStrategies.failure_rate_restart(
        value(_RATE + "max-failures-per-interval"),
        value(_RATE + "failure-rate-interval"),
        value(_RATE + "delay"),
    )


def _exponential_delay(value: Callable[[str], OptionValue]) -> RestartStrategyConfiguration:
    return RestartStrategies.exponential_delay_restart(
        value(_EXPONENTIAL + "initial-backoff"),
        value(_EXPONENTIAL + "max-backoff"),
        value(_EXPONENTIAL + "backoff-multiplier"),
        value(_EXPONENTIAL + "reset-backoff-threshold"),
        value(_EXPONENTIAL + "jitter-factor"),
        value(_EXPONENTIAL + "attempts-before-reset-backoff"),
    )


_STRATEGIES = {
    "none": _none,
    "off": _none,
    "disable": _none,
    "fixed-delay": _fixed_delay,
    "failure-rate": _failure_rate,
    "exponential-delay": _exponential_delay,
}


def _millis(value: DurationLike | None, default_ms: int) -> int:
    return default_ms if value is None else to_millis(value)


def _check(fits: bool, strategy: object) -> None:
    if not fits:
        raise InvalidArgumentError(
            f"this restart strategy is not possible: {strategy!r}",
            fix="counts and intervals must be positive, delays must not be negative or shrink, a "
            "jitter must be between 0 and 1",
        )
