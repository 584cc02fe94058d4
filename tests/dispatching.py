"""Dispatchers for tests, with drivers that only pretend to run a job: small, quick processes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from headrace.common.configuration import Configuration
from headrace.dispatcher.dispatcher import Dispatcher
from headrace.dispatcher.drivers import Drivers
from headrace.dispatcher.job_store import Submission
from headrace.dispatcher.settings import ClusterSettings
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.control.registry import JobRecord

# Registers a job, answers requests, and behaves as the program's first argument says.
_FAKE = """
import json, os, sys, time
from pathlib import Path
from headrace.control.fence import Fence
from headrace.control.registry import JobRecord, JobRegistry, write_json
from headrace.control.requests import Inbox
from headrace.io.processes import this_process

folder = Path(sys.argv[1])
content = json.loads((folder / "driver.json").read_text())
orders = json.loads(os.environ["_HEADRACE_ORDERS"])
behaviour = (content["arguments"] or ["run"])[0]


def leave(code):
    write_json(folder / f"exit-{orders['token']}.json", {"code": code})
    sys.exit(code)


if behaviour == "broken":
    print("ModuleNotFoundError: No module named 'nothing'")
    leave(int([*content["arguments"], "1"][1]))
registry = JobRegistry(Path(content["settings"]["headrace.jobs.dir"]))
me, now = this_process(), time.time() * 1000
job_id = content["settings"].get("user.job-id") or orders["job_id"]
earlier = registry.get(job_id)
settings = content["settings"]
record = JobRecord(job_id, settings.get("pipeline.name", "fake"), "RUNNING", me.host, me.pid,
                   me.born, int(now), int(now), launch=orders["token"],
                   checkpoint=settings["execution.checkpointing.dir"],
                   parallelism=orders["parallelism"] or int(settings.get("parallelism.default", 1)),
                   restarts=0 if earlier is None else earlier.restarts,
                   failures=[] if earlier is None else earlier.failures,
                   restart_options={"restart-strategy.type": "fixed-delay",
                                    "restart-strategy.fixed-delay.attempts": "2",
                                    "restart-strategy.fixed-delay.delay": "100 ms"})
fence = Fence(folder, orders["token"])
inbox = Inbox(registry.requests_of(job_id))
registry.write(record)
for _ in range(6000):
    try:
        fence.check()
    except Exception:
        leave(1)
    for request in inbox.take():
        record.state = {"cancel": "CANCELED", "stop": "FINISHED"}.get(request.action, record.state)
        if "savepoint" in request.arguments or request.action == "savepoint":
            record.savepoint = "/savepoints/1"
        registry.write(record)
        inbox.answer(request, {"checkpoint": 7} if request.action == "checkpoint"
                     else {"savepoint": "/savepoints/1"})
    if behaviour == "finish":
        record.state = "FINISHED"
        registry.write(record)
    if behaviour == "spark-ended":
        record.state, record.error, record.driver_is_lost = "FAILED", "Spark has ended", True
        registry.write(record)
        leave(1)
    if record.state != "RUNNING":
        leave(0)
    record.updated = int(time.time() * 1000)
    if behaviour == "die" and record.restarts < 1:
        os.kill(os.getpid(), 9)
    time.sleep(0.01)
"""


def fake_drivers(folder: Path) -> Drivers:
    """Drivers that pretend."""
    script = folder / "fake_driver.py"
    script.write_text(_FAKE)
    return Drivers((sys.executable, str(script)))


def cluster_settings(folder: Path, **options: str) -> ClusterSettings:
    """Settings of a cluster below a folder; options are written with underscores."""
    settings = {
        "headrace.cluster.dir": str(folder / "cluster"),
        "headrace.jobs.dir": str(folder / "jobs"),
    }
    return ClusterSettings.of(Configuration.from_dict(settings | options))


def fake_dispatcher(
    folder: Path, *, address: str = "", election: Any = None, **options: str
) -> Dispatcher:
    """A dispatcher with drivers that pretend; not started.

    Args:
        folder: its directory.
        address: where it says that it listens.
        election: an Election; Any, as `**options` of callers could be it, for all that mypy knows.
        options: the settings.
    """
    return Dispatcher(
        cluster_settings(folder, **options),
        address=address,
        drivers=fake_drivers(folder),
        election=election,
    )


def wait_for(what: Callable[[], bool]) -> None:
    """Until it is so."""
    wait_until(what, "it takes too long")


def wait_for_state(dispatcher: Dispatcher, job_id: str, *states: str) -> JobRecord:
    """Until a job is in one of some states."""
    wait_for(lambda: dispatcher.job(job_id).state in states)
    return dispatcher.job(job_id)


def pretend(*arguments: str, **settings: str) -> Submission:
    """A program for drivers that pretend."""
    return Submission("fake:main", arguments, dict(settings))
