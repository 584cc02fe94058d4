"""A driver asks worker processes what they are doing: those that answer, hang up, or never came."""

from __future__ import annotations

import pickle
import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.hosts.continuous.wire import connect
from headrace.hosts.spark.inspection import Inspector, WorkerProcess, let_inspect
from headrace.hosts.spark.threads import spark_samples
from headrace.io.processes import here
from headrace.runtime.task_samples import Sampling
from headrace.runtime.task_threads import TaskAtWork, note_task
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.hosts.continuous.wire import Line

LOOK = Sampling(frozenset({"score"}), None, count=5, delay_s=0.01, depth=50)


@pytest.fixture
def inspector() -> Iterator[Inspector]:
    made = Inspector("127.0.0.1", "127.0.0.1")
    yield made
    made.close()


def _asked(inspector: Inspector) -> list[tuple[WorkerProcess, list[dict[str, Any]]]]:
    return inspector.ask("threads", patience_s=PATIENCE_S)


def _by_hand(inspector: Inspector, worker: WorkerProcess) -> Line:
    """A worker whose answers the test gives."""
    line = connect(pickle.loads(inspector.address))
    line.send("hello", worker)
    return line


def test_a_worker_is_asked_once_however_many_tasks_it_runs(inspector: Inspector) -> None:
    for _ in range(3):
        let_inspect(inspector.address)
    wait_until(lambda: bool(_asked(inspector)))
    [(worker, infos)] = _asked(inspector)
    assert (worker.machine, worker.executor) == (here(), None)
    assert "test_inspection.py" in str(infos)


def test_a_task_is_seen_in_a_dump_and_in_samples(inspector: Inspector) -> None:
    go_on = threading.Event()

    def score() -> None:
        note_task(TaskAtWork("job", frozenset({"score"}), 3))
        go_on.wait(PATIENCE_S)

    thread = threading.Thread(target=score, name="worker's own")
    thread.start()
    try:
        let_inspect(inspector.address)
        wait_until(lambda: bool(_asked(inspector)))
        [(_, infos)] = _asked(inspector)
        [told] = [each for each in infos if each["threadName"] == "worker's own"]
        head = told["stringifiedThreadInfo"].splitlines()[0]
        assert head.endswith("runs subtask 3 of score")
        samples = spark_samples(inspector, "job", LOOK)
        assert sum(each["on"] + each["off"] for each in samples) == LOOK.count
        assert any("score" in call for each in samples for call in each["stack"])
        assert spark_samples(inspector, "another job", LOOK) == []
    finally:
        go_on.set()
        thread.join()


def test_only_workers_of_an_executor_are_asked(inspector: Inspector) -> None:
    lines = [_by_hand(inspector, WorkerProcess(f"mill:{n}", str(n))) for n in range(2)]
    found: list[Any] = []

    def ask() -> None:
        while not found:  # until the worker has said who it is
            found.extend(
                inspector.ask("threads", patience_s=PATIENCE_S, of=lambda w: w.executor == "1")
            )

    asking = threading.Thread(target=ask)
    asking.start()
    number, question = lines[1].receive()
    assert question == "threads"
    lines[1].send(number, [{"threadName": "main"}])
    asking.join(PATIENCE_S)
    assert found == [(WorkerProcess("mill:1", "1"), [{"threadName": "main"}])]
    assert not lines[0].poll(0)
    for line in lines:
        line.close()


def test_nobody_waits_for_a_worker_that_ends(inspector: Inspector) -> None:
    line = _by_hand(inspector, WorkerProcess("mill:1", None))

    def end_when_asked() -> None:
        line.receive()
        line.close()

    ending = threading.Thread(target=end_when_asked)
    ending.start()
    wait_until(
        lambda: inspector.ask("threads", patience_s=PATIENCE_S) == [] and not ending.is_alive()
    )


def test_one_who_stays_silent_is_left_out(inspector: Inspector) -> None:
    line = _by_hand(inspector, WorkerProcess("mill:1", None))
    wait_until(lambda: inspector.ask("threads", patience_s=0.01) == [] and line.poll(0))
    line.close()


def test_a_worker_whose_run_is_over_asks_for_no_more(inspector: Inspector) -> None:
    let_inspect(inspector.address)
    wait_until(lambda: bool(_asked(inspector)))
    inspector.close()
    names = "headrace-inspection"
    wait_until(lambda: not any(each.name == names for each in threading.enumerate()))


def test_a_worker_that_cannot_reach_the_driver_works_on(inspector: Inspector) -> None:
    inspector.close()
    let_inspect(inspector.address)
    let_inspect(b"")
