"""Patterns in whole jobs: event time, late data, time-outs; a savepoint amid partial matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.cep import CEP
from headrace.common import Types
from headrace.datastream import RuntimeExecutionMode
from headrace.errors import HeadraceError
from host_contract import Job
from patience import wait_until
from pattern_jobs import (
    EVENTS,
    FOUND,
    LATE,
    OVER,
    TIMED_OUT,
    check_resumed,
    digits,
    matches,
    run_to_savepoint,
    timed,
    write_matches,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("host", ["local", "spark"])
def test_matches_timeouts_and_late_events_of_a_whole_job(
    host: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    job = Job(host, tmp_path, request.getfixturevalue("spark") if host == "spark" else None)
    env = job.env(source__max_records_per_batch="4")
    found: dict[str, list[Any]] = {"matches": [], "over": [], "late": []}
    # the late one comes at the end, far behind
    numbers = env.from_collection(
        [*EVENTS, ("x", 5)], Types.TUPLE([Types.STRING(), Types.LONG()])
    ).set_parallelism(1)
    results = matches(numbers, digits())
    results.add_sink(found["matches"].append)
    results.get_side_output(TIMED_OUT).add_sink(found["over"].append)
    results.get_side_output(LATE).add_sink(found["late"].append)
    env.execute("digits")
    assert sorted(found["matches"]) == FOUND
    assert sorted(found["over"]) == OVER
    assert found["late"] == [("x", 5)]


def test_a_stream_without_keys_is_one_sequence(tmp_path: Path) -> None:
    job = Job("local", tmp_path, None)
    stream = timed(job.env().from_collection(EVENTS))
    with (
        CEP.pattern(stream, digits())
        .select(lambda match: [event[0] for _, event, _ in match.path])
        .execute_and_collect("digits") as found
    ):
        assert list(found) == [["x", "x", "x"], ["y", "x", "x"], ["x", "x", "x"]]


def test_batch_mode_finds_the_same(tmp_path: Path) -> None:
    job = Job("local", tmp_path, None)
    env = job.env()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with matches(env.from_collection(EVENTS[::-1]), digits()).execute_and_collect("d") as found:
        assert sorted(found) == FOUND


def test_partial_matches_survive_a_savepoint_and_another_parallelism(tmp_path: Path) -> None:
    check_resumed(Job("local", tmp_path, None), tmp_path)


def test_another_pattern_is_refused_before_the_job_starts(tmp_path: Path) -> None:
    job = Job("local", tmp_path, None)
    location = run_to_savepoint(job, tmp_path)
    job.checkpoint = tmp_path / "again"
    env = job.env(execution__state_recovery__path=location)
    write_matches(job, env, digits(("one", "three")), bounded=True)
    with pytest.raises(HeadraceError, match=r"pattern \[one, three\].*pattern \[one, two, three\]"):
        env.execute("digits")


def test_a_failure_amid_partial_matches_changes_nothing(tmp_path: Path) -> None:
    job = Job("local", tmp_path, None)
    job.broken.write_text("yes")
    broken = str(job.broken)

    def is_three(event: Any) -> bool:
        from pathlib import Path

        if event[1] == 63 and Path(broken).exists():
            raise ValueError("not yet")
        return bool(event[1] % 10 == 3)

    one_two = digits(("one", "two"))
    env = job.env(
        restart_strategy__type="fixed-delay",
        restart_strategy__fixed_delay__attempts="100",
        restart_strategy__fixed_delay__delay="100 ms",
        source__max_records_per_batch="2",
    )
    write_matches(job, env, one_two.followed_by("three").where(is_three), bounded=False)
    job.write("a", *EVENTS, ("x", 2000))
    client = env.execute_async("digits")
    wait_until(lambda: len(client.get_exception_history()) > 0)
    error = str(client.get_exception_history()[0])
    assert "a condition of pattern 'three'" in error
    assert "not yet" in error
    assert "('x', 63)" in error
    job.broken.unlink()
    wait_until(lambda: job.results() == FOUND, lambda: str(job.results()))
    client.cancel().result()


def test_a_worker_that_is_killed_amid_partial_matches_changes_nothing(
    tmp_path: Path, spark: SparkSession
) -> None:
    job = Job("spark", tmp_path, spark)
    job.broken.write_text("yes")
    broken = str(job.broken)

    def is_three(event: Any) -> bool:
        import os
        import signal
        from pathlib import Path

        if event[1] == 63 and Path(broken).exists():
            Path(broken).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return bool(event[1] % 10 == 3)

    env = job.env(
        restart_strategy__type="fixed-delay",
        restart_strategy__fixed_delay__delay="100 ms",
        source__max_records_per_batch="2",
    )
    pattern = digits(("one", "two")).followed_by("three").where(is_three)
    write_matches(job, env, pattern, bounded=True)
    job.write("a", *EVENTS)
    env.execute("digits")
    assert not job.broken.exists()
    assert job.results() == FOUND


def test_a_savepoint_shows_the_partial_matches(tmp_path: Path) -> None:
    from headrace.control.savepoints import read_savepoint

    location = run_to_savepoint(Job("local", tmp_path, None), tmp_path)
    [operator] = [each for each in read_savepoint(location).operators if each.uid == "digits"]
    assert "matches" in {state.name for state in operator.states}
    assert operator.entries > 0
