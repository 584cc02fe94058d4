"""When a failed job is started again: the strategies of common/restart_strategy.py at work.

In: failures and the clock.  Out: how long to wait, or None to give up.  No threads and no sleeping
here, so tests bring their own clock.  Next: control/job.py asks after every failure.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

from headrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from headrace.errors import EnvironmentSetupError, PlanError, ProgramError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable

# What will be wrong in the next attempt as well: the program, its plan, the machine, the state.
_REPEATS_FOR_CERTAIN = (ProgramError, PlanError, EnvironmentSetupError, StateError)


def is_worth_another_try(error: BaseException) -> bool:
    """Whether a new attempt could end otherwise; a function that failed may succeed next time."""
    return isinstance(error, Exception) and not isinstance(error, _REPEATS_FOR_CERTAIN)


class Backoff(ABC):
    """Counts the failures of one job."""

    @abstractmethod
    def after_failure(self, now_ms: int) -> int | None:
        """The job failed: milliseconds to wait before the next attempt, None to give up."""


class NoBackoff(Backoff):
    """The first failure ends the job."""

    def after_failure(self, now_ms: int) -> int | None:
        return None


class FixedDelayBackoff(Backoff):
    """So many attempts, with the same pause before each."""

    def __init__(self, attempts: int, delay_ms: int) -> None:
        self._left = attempts
        self._delay_ms = delay_ms

    def after_failure(self, now_ms: int) -> int | None:
        self._left -= 1
        return self._delay_ms if self._left >= 0 else None


class FailureRateBackoff(Backoff):
    """Gives up when more than `most` failures fall into one interval."""

    def __init__(self, most: int, interval_ms: int, delay_ms: int) -> None:
        self._times: deque[int] = deque(maxlen=most + 1)
        self._interval_ms = interval_ms
        self._delay_ms = delay_ms

    def after_failure(self, now_ms: int) -> int | None:
        times = self._times
        times.append(now_ms)
        too_many = len(times) == times.maxlen and now_ms - times[0] <= self._interval_ms
        return None if too_many else self._delay_ms


class ExponentialDelayBackoff(Backoff):
    """A pause that grows with every failure, and starts again after a quiet time.

    Args:
        strategy: the numbers.
        chance: a number in [-1, 1] each time it is called; moves the pause by the jitter, so that
            jobs which failed together do not come back together.
    """

    def __init__(
        self,
        strategy: RestartStrategies.ExponentialDelayRestartStrategyConfiguration,
        chance: Callable[[], float],
    ) -> None:
        self._strategy = strategy
        self._chance = chance
        self._attempts = 0
        self._delay_ms = 0.0
        # when the attempt that failed now was started
        self._resumed_ms: int | None = None

    def after_failure(self, now_ms: int) -> int | None:
        wanted = self._strategy
        quiet = self._resumed_ms is None or (
            now_ms - self._resumed_ms >= wanted.reset_backoff_threshold_ms
        )
        if quiet:
            self._attempts, self._delay_ms = 0, wanted.initial_backoff_ms
        else:
            grown = self._delay_ms * wanted.backoff_multiplier
            self._delay_ms = min(grown, wanted.max_backoff_ms)
        self._attempts += 1
        limit = wanted.attempts_before_reset_backoff
        if limit is not None and self._attempts > limit:
            return None
        moved = self._delay_ms * (1 + wanted.jitter_factor * self._chance())
        delay_ms = round(min(max(moved, wanted.initial_backoff_ms), wanted.max_backoff_ms))
        self._resumed_ms = now_ms + delay_ms
        return delay_ms


def make_backoff(
    strategy: RestartStrategyConfiguration, chance: Callable[[], float] | None = None
) -> Backoff:
    """The counter for one job."""
    kinds = RestartStrategies
    if isinstance(strategy, kinds.FixedDelayRestartStrategyConfiguration):
        return FixedDelayBackoff(strategy.get_restart_attempts(), strategy.delay_ms)
    if isinstance(strategy, kinds.FailureRateRestartStrategyConfiguration):
        return FailureRateBackoff(
            strategy.get_max_failure_rate(), strategy.failure_interval_ms, strategy.delay_ms
        )
    if isinstance(strategy, kinds.ExponentialDelayRestartStrategyConfiguration):
        return ExponentialDelayBackoff(strategy, chance or (lambda: random.uniform(-1, 1)))
    return NoBackoff()
