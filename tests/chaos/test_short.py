"""The fault experiment in short, and tests of its checker; `make chaos` is the long one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from chaos.checker import differences
from chaos.machine import Generator, undisturbed
from chaos.media import Files, Kafka
from chaos.monkey import FAULTS, Fault, schedule
from chaos.runner import Experiment, reason_of
from chaos.sql_media import SqlFiles, sql_differences
from chaos.sql_text import right_totals
from standalone import Cluster

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.machine import Answers

SEED = 5


def fault(kind: str, *dice: float) -> Fault:
    first, second, third = (*dice, 0.0, 0.0, 0.0)[:3]
    return Fault(kind, 0.5, overlaps=False, dice=(first, second, third))


# --- the experiment ------------------------------------------------------------------------------


@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_nothing_is_lost_or_repeated_when_driver_python_and_sink_die_and_the_job_is_rescaled(
    tmp_path: Path,
) -> None:
    with Experiment(tmp_path, SEED, cluster=None) as experiment:
        experiment.wait_for_start()
        experiment.strike(fault("python worker", 0.0, 0.9))
        experiment.strike(fault("failing sink", 0.7, 0.3))  # in the middle of a commit
        experiment.strike(fault("driver", 0.9))  # while the sink is still broken, perhaps
        experiment.strike(fault("savepoint and rescale", 0.5))
        experiment.wait_for_recovery()
        assert experiment.finish() == []
    whats = {strike.kind: strike.what for strike in experiment.strikes}
    assert whats["python worker"].startswith("process ")
    assert whats["failing sink"] == "commit torn, after 1 changes"
    assert whats["savepoint and rescale"] == "parallelism 2 to 3"
    assert experiment.ends == []


@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_continuous_mode_loses_and_repeats_nothing_when_driver_python_and_sink_die(
    tmp_path: Path,
) -> None:
    with Experiment(tmp_path, SEED, cluster=None, mode="continuous") as experiment:
        experiment.wait_for_start()
        experiment.strike(fault("python worker", 0.0, 0.9))
        experiment.strike(fault("failing sink", 0.7, 0.3))  # in the middle of a commit
        experiment.strike(fault("driver", 0.9))
        experiment.strike(fault("savepoint and rescale", 0.5))
        experiment.wait_for_recovery()
        assert experiment.finish() == []
    whats = {strike.kind: strike.what for strike in experiment.strikes}
    assert whats["savepoint and rescale"] == "parallelism 2 to 3"


@pytest.mark.slow  # two minutes; `make chaos` has longer ones
@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_an_executor_that_is_killed_costs_no_event_and_no_driver(tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    with (
        Cluster(tmp_path / "cluster") as cluster,
        Experiment(tmp_path, SEED, cluster=cluster) as experiment,
    ):
        experiment.wait_for_start()
        experiment.strike(fault("executor", 0.0))
        experiment.wait_for_recovery()
        assert experiment.finish() == []
    assert experiment.strikes[0].what.startswith("process ")
    assert experiment.ends == []


@pytest.mark.slow  # two minutes; `make chaos` has longer ones
@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_kafka_in_and_out_loses_and_repeats_nothing_when_driver_sink_and_broker_die(
    tmp_path: Path,
) -> None:
    with Experiment(tmp_path, SEED, cluster=None, medium=Kafka(tmp_path)) as experiment:
        experiment.wait_for_start()
        experiment.strike(fault("failing sink", 0.9))  # behind a commit
        experiment.strike(fault("broker", 0.0, 0.2))
        experiment.strike(fault("driver", 0.9))
        experiment.strike(fault("savepoint and rescale", 0.5))
        experiment.wait_for_recovery()
        assert experiment.finish() == []
    whats = {strike.kind: strike.what for strike in experiment.strikes}
    assert whats["broker"].startswith("killed")
    assert whats["savepoint and rescale"] == "parallelism 2 to 3"


@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_sql_gives_the_table_of_a_batch_when_worker_database_and_driver_die_and_it_is_rescaled(
    tmp_path: Path,
) -> None:
    with Experiment(tmp_path, SEED, cluster=None, medium=SqlFiles(tmp_path)) as experiment:
        experiment.wait_for_start()
        experiment.strike(fault("python worker", 0.0, 0.9))
        experiment.strike(fault("connection", 0.3, 0.3))
        experiment.strike(fault("database", 0.0, 0.2))
        experiment.strike(fault("driver", 0.9))
        experiment.strike(fault("savepoint and rescale", 0.5))
        experiment.wait_for_recovery()
        assert experiment.finish() == []
    whats = {strike.kind: strike.what for strike in experiment.strikes}
    assert whats["database"].startswith("killed")
    assert whats["savepoint and rescale"] == "parallelism 2 to 3"


# --- the experiment can fail, and can be repeated ------------------------------------------------


def write_output(folder: Path, right: Answers) -> None:
    """The files of a run in which nothing happened."""
    steps = [step for entity in right.steps.values() for step in entity]
    windows: list[dict[str, Any]] = [
        {"entity": entity, "start": start, "events": events, "sum": total}
        for (entity, start), (events, total) in right.windows.items()
    ]
    for name, rows in (("answers", steps), ("windows", windows)):
        (folder / name).mkdir()
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / name / "part-0.json").write_text(lines)


def found_in(folder: Path, right: Answers) -> list[str]:
    written = Files(folder)
    return differences(written.rows("answers"), written.rows("windows"), right)


@pytest.mark.parametrize(
    ("sink", "change", "told"),
    [
        ("answers", lambda lines: lines, ""),
        ("answers", lambda lines: lines[:7] + lines[8:], "answer 7"),
        ("answers", lambda lines: [lines[0], *lines], "answer 1"),
        ("answers", lambda lines: [lines[1], lines[0], *lines[2:]], "answer 0"),
        ("answers", lambda lines: lines[:-1], "instead of"),
        ("windows", lambda lines: lines[1:], "is missing"),
        ("windows", lambda lines: [*lines, lines[3]], "is too much"),
    ],
)
def test_the_checker_sees_what_is_lost_repeated_or_out_of_order(
    tmp_path: Path, sink: str, change: Any, told: str
) -> None:
    generator = Generator(SEED, entities=3)
    right = undisturbed([generator.next_file() for _ in range(6)])
    write_output(tmp_path, right)
    file = tmp_path / sink / "part-0.json"
    file.write_text("".join(change(file.read_text().splitlines(keepends=True))))

    found = found_in(tmp_path, right)

    assert bool(found) == bool(told)
    assert told in " ".join(found)


def test_the_checker_sees_a_false_alert(tmp_path: Path) -> None:
    right = undisturbed([Generator(SEED, entities=3).next_file()])
    write_output(tmp_path, right)
    file = tmp_path / "answers" / "part-0.json"
    repeated = {**json.loads(file.read_text().splitlines()[0]), "alert": "repeated: 1"}
    file.write_text(f"{file.read_text()}{json.dumps(repeated)}\n")

    found = found_in(tmp_path, right)

    assert found[0].startswith("false alert: ")


def test_a_seed_gives_the_same_events_and_faults_again_and_another_seed_others() -> None:
    def both(seed: int) -> tuple[Any, Any]:
        faults = schedule(seed, tuple(FAULTS))
        return Generator(seed).next_file(), [next(faults) for _ in range(20)]

    assert both(1) == both(1)
    assert both(1)[0] != both(2)[0]
    assert both(1)[1] != both(2)[1]
    assert {fault.kind for fault in both(1)[1][: len(FAULTS)]} == set(FAULTS)


def test_some_alerts_are_right() -> None:
    generator = Generator(SEED)
    right = undisturbed([generator.next_file() for _ in range(20)])
    alerts = [step["alert"] for steps in right.steps.values() for step in steps if step["alert"]]
    assert 0 < len(alerts) < 100


def test_the_checker_of_sql_sees_one_event_that_is_lost_repeated_or_graded_otherwise() -> None:
    generator = Generator(SEED)
    files = [generator.next_file() for _ in range(40)]
    right = right_totals(SEED, files)
    assert len({grade for grade, *_ in right}) > 3
    for changed in ([*files[:-1], files[-1][:-1]], [*files[:-1], [*files[-1], files[-1][0]]]):
        told = sql_differences(right_totals(SEED, changed), right, "the table")
        assert len(told) == 2, told
    assert sql_differences(right_totals(SEED + 1, files), right, "the table")
    assert sql_differences(right, right, "the table") == []


def test_the_reason_why_a_driver_ended_is_its_last_error() -> None:
    tail = """Traceback (most recent call last):
  File "program.py", line 7, in <module>
headrace.errors.JobError: [JOB] only 3 of 4 tasks have started
  fix:   give Spark more slots
"""
    assert reason_of(tail) == "headrace.errors.JobError: [JOB] only 3 of 4 tasks have started"
    assert reason_of("Killed\n") == "Killed"
    assert reason_of("") == "nothing in its log"
