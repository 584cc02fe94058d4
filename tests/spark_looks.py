"""What is seen of a job on Spark that stands still: its stacks, in dumps and in a flame graph.

Next: tests/spark/test_threads.py, tests/continuous/test_threads.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.rest.flame_graphs import FlameGraphSettings
from headrace.rest.settings import RestSettings
from held_job import held_job
from patience import wait_until
from rest_fakes import FakeDispatcher
from rest_serving import Serving, serving

if TYPE_CHECKING:
    from pathlib import Path

SOON = FlameGraphSettings(enabled=True, count=10, delay_ms=10)


def see_where_a_job_stands(folder: Path, **options: str) -> None:
    """Run a job on Spark whose function waits, and look at it as on-call engineers do."""
    options = {"headrace__execution__host": "spark", **options}
    with held_job(folder, **options) as (views, job_id):
        dispatcher = FakeDispatcher(views, folder / "cluster")  # type: ignore[arg-type]
        with serving(dispatcher, RestSettings(port=0, flame_graphs=SOON)) as rest:
            (executor,) = rest.get("/taskmanagers").json()["taskmanagers"]
            dump = f"/taskmanagers/{executor['id']}/thread-dump"
            # workers report to the driver beside their work
            wait_until(lambda: bool(held_threads(thread_infos(rest, dump))))
            told = thread_infos(rest, dump)
            [stack] = held_threads(told)
            head = stack.splitlines()[0]
            assert " runs subtask " in head
            assert "held" in head
            assert any(name.startswith("Executor task launch worker") for name, _ in told)
            of_driver = thread_infos(rest, f"/jobs/{job_id}/thread-dump")
            assert {"MainThread", "main"} & {name for name, _ in of_driver}
            assert not any("(Python worker" in name for name, _ in of_driver)
            vertices = views.job(job_id).vertices
            [held] = [v for v in vertices if "held" in {step.uid for step in v.operators}]
            path = f"/jobs/{job_id}/vertices/{held.id}/flamegraph"
            wait_until(lambda: rest.get(path).json()["endTimestamp"] > 0)
            graph = rest.get(path).json()["data"]
            assert graph["value"] > 0
            assert any("hold_record:" in name for name in names(graph))


def held_threads(told: list[tuple[str, str]]) -> list[str]:
    """Stacks of workers that are in the user's function; this process's own name it, too."""
    return [stack for name, stack in told if "(Python worker" in name and "hold_record" in stack]


def thread_infos(rest: Serving, path: str) -> list[tuple[str, str]]:
    """Names and stacks of a dump."""
    answer = rest.get(path)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, str]] = answer.json()["threadInfos"]
    return [(each["threadName"], each["stringifiedThreadInfo"]) for each in found]


def names(node: dict[str, Any]) -> set[str]:
    """All calls of a flame graph."""
    return {node["name"]}.union(*map(names, node["children"]))
