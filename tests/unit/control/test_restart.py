"""When a failed job is tried again: every strategy, on a clock of its own."""

from __future__ import annotations

import pytest

from headrace.common import Configuration
from headrace.common.configuration import effective_configuration
from headrace.common.restart_strategy import (
    RestartStrategies,
    RestartStrategyConfiguration,
    strategy_as_options,
    strategy_from_options,
)
from headrace.control.restart import is_worth_another_try, make_backoff
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import (
    CheckpointMismatchError,
    ConfigurationError,
    ConnectorError,
    EnvironmentSetupError,
    InvalidArgumentError,
    JobError,
    TypeMismatchError,
    UnsupportedStepError,
    UserFunctionError,
)


def delays(strategy: RestartStrategyConfiguration, *times_ms: int) -> list[int | None]:
    """What the strategy says to failures at these times, without jitter by chance."""
    backoff = make_backoff(strategy, chance=lambda: 0.0)
    return [backoff.after_failure(now) for now in times_ms]


def test_without_a_strategy_the_first_failure_is_the_last() -> None:
    assert delays(RestartStrategies.no_restart(), 0) == [None]


def test_fixed_delay_tries_so_often_and_gives_up() -> None:
    strategy = RestartStrategies.fixed_delay_restart(3, 500)
    assert delays(strategy, 0, 10**9, 2 * 10**9, 2 * 10**9) == [500, 500, 500, None]
    assert delays(RestartStrategies.fixed_delay_restart(0, 500), 0) == [None]


def test_failure_rate_gives_up_at_one_failure_too_many_within_the_interval() -> None:
    strategy = RestartStrategies.failure_rate_restart(2, 1000, 50)
    assert delays(strategy, 0, 500, 1000) == [50, 50, None]


def test_failure_rate_forgets_failures_that_are_older_than_the_interval() -> None:
    strategy = RestartStrategies.failure_rate_restart(2, 1000, 50)
    assert delays(strategy, 0, 500, 1001, 1501, 2000) == [50, 50, 50, 50, None]


def test_exponential_delay_grows_to_its_maximum() -> None:
    strategy = RestartStrategies.exponential_delay_restart(100, 700, 2.0, 10_000)
    assert delays(strategy, 0, 200, 500, 1000, 2000) == [100, 200, 400, 700, 700]


def test_exponential_delay_begins_anew_after_a_quiet_time() -> None:
    strategy = RestartStrategies.exponential_delay_restart(100, 700, 2.0, 10_000)
    # the quiet time counts from the restart, not from the failure
    assert delays(strategy, 0, 200, 200 + 200 + 9_999, 30_000) == [100, 200, 400, 100]


def test_exponential_delay_counts_attempts_until_a_quiet_time() -> None:
    strategy = RestartStrategies.exponential_delay_restart(
        100, 700, 2.0, 10_000, attempts_before_reset_backoff=2
    )
    assert delays(strategy, 0, 200, 20_000, 20_200, 20_700) == [100, 200, 100, 200, None]


def test_jitter_moves_the_delay_but_not_beyond_its_limits() -> None:
    strategy = RestartStrategies.exponential_delay_restart(1000, 1200, 1.5, 10_000, 0.5)
    chances = iter([-1.0, -1.0, 1.0])
    backoff = make_backoff(strategy, chance=lambda: next(chances))
    assert [backoff.after_failure(now) for now in (0, 1, 2)] == [1000, 1000, 1200]


@pytest.mark.parametrize(
    "strategy",
    [
        RestartStrategies.no_restart(),
        RestartStrategies.fixed_delay_restart(7, 250),
        RestartStrategies.failure_rate_restart(4, 60_000, 10),
        RestartStrategies.exponential_delay_restart(5, 50, 3.0, 500, 0.2, 9),
    ],
)
def test_a_strategy_by_code_is_the_same_by_options(strategy: RestartStrategyConfiguration) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_restart_strategy(strategy)
    assert env.get_restart_strategy() == strategy
    configuration = Configuration.from_dict(strategy_as_options(strategy))
    read = effective_configuration(configuration, environment={})
    assert strategy_from_options(read, checkpointing=True) == strategy


def test_the_default_is_exponential_delay_with_checkpointing_and_none_without() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.get_restart_strategy() == RestartStrategies.no_restart()
    env.enable_checkpointing(1000)
    assert env.get_restart_strategy() == RestartStrategies.exponential_delay_restart()
    env.set_restart_strategy(RestartStrategies.fall_back_restart())
    assert env.get_restart_strategy() == RestartStrategies.exponential_delay_restart()


def test_the_old_key_of_flink_1_works() -> None:
    settings = effective_configuration(
        Configuration.from_dict({"restart-strategy": "fixed-delay"}), environment={}
    )
    found = strategy_from_options(settings, checkpointing=False)
    assert found == RestartStrategies.fixed_delay_restart(1, 1000)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        RestartStrategies.exponential_delay_restart(attempts_before_reset_backoff=0)
    with pytest.raises(InvalidArgumentError):
        StreamExecutionEnvironment.get_execution_environment().set_restart_strategy("always")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (UserFunctionError("a function raised"), True),
        (TypeMismatchError("a record does not fit"), True),
        (ConnectorError("a sink is down"), True),
        (JobError("an executor was lost"), True),
        (OSError("disk full"), True),
        (ConfigurationError("no such option"), False),
        (UnsupportedStepError("not here"), False),
        (CheckpointMismatchError("not yours"), False),
        (EnvironmentSetupError("no Java"), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_what_repeats_for_certain_is_not_tried_again(error: BaseException, again: bool) -> None:
    assert is_worth_another_try(error) is again
