"""Whose jobs a command is about: this user's on this machine, or those of a dispatcher (-m).

In: ``-m HOST:PORT``, or nothing.  Out: Jobs, which answer the same questions either way, so that
commands print and end the same.  Next: control/requests.py, client/rest_client.py
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from headrace.cli.output import registry
from headrace.common.configuration import effective_configuration
from headrace.control.requests import ask
from headrace.errors import JobNotFoundError

if TYPE_CHECKING:
    from headrace.client import RestClient
    from headrace.common.opaque import JsonObject
    from headrace.control.registry import JobRecord, JobRegistry

Dispatcher = Annotated[
    str | None,
    typer.Option(
        "--jobmanager",
        "-m",
        metavar="HOST:PORT",
        help="A dispatcher to ask, or several of a cluster, separated by commas; without it, this "
        "machine. A token is read from the variable HEADRACE_REST_TOKEN.",
    ),
]


class Jobs(Protocol):
    """Jobs that can be looked at and steered."""

    def all(self) -> list[JobRecord]:
        """All known jobs, the newest first."""
        ...

    def get(self, job_id: str) -> JobRecord | None:
        """One job by its whole id."""
        ...

    def find(self, text: str, *, newest: bool = False) -> JobRecord:
        """One job by its id, the beginning of its id, or its name."""
        ...

    def ask_to_end(
        self, job_id: str, action: str, arguments: JsonObject, *, timeout_s: float
    ) -> None:
        """Ask a job to stop or to cancel; returns when it knows."""
        ...

    def savepoint(self, job_id: str, folder: str | None, *, timeout_s: float) -> str:
        """Take a savepoint; where it is."""
        ...

    def checkpoint(self, job_id: str, *, timeout_s: float) -> int:
        """Have a checkpoint of now; its number."""
        ...

    def diagnosis(self, job_id: str) -> JsonObject:
        """What limits a job, as plain data (control/views/models.py, Diagnosis)."""
        ...

    def proposal(self, job_id: str) -> JsonObject:
        """Which parallelism is proposed, as plain data (control/scaling.py, Proposal)."""
        ...


class LocalJobs:
    """The jobs of this user on this machine."""

    def __init__(self, jobs: JobRegistry) -> None:
        self._registry = jobs

    def all(self) -> list[JobRecord]:
        """All known jobs, the newest first."""
        return self._registry.all()

    def get(self, job_id: str) -> JobRecord | None:
        """One job by its whole id."""
        return self._registry.get(job_id)

    def find(self, text: str, *, newest: bool = False) -> JobRecord:
        """One job by its id, the beginning of its id, or its name."""
        return self._registry.find(text, newest=newest)

    def ask_to_end(
        self, job_id: str, action: str, arguments: JsonObject, *, timeout_s: float
    ) -> None:
        """Ask its driver."""
        ask(self._registry, job_id, action, arguments, timeout_s=timeout_s)

    def savepoint(self, job_id: str, folder: str | None, *, timeout_s: float) -> str:
        """Ask its driver."""
        answer = ask(self._registry, job_id, "savepoint", {"folder": folder}, timeout_s=timeout_s)
        return str(answer["savepoint"])

    def checkpoint(self, job_id: str, *, timeout_s: float) -> int:
        """Ask its driver."""
        return int(ask(self._registry, job_id, "checkpoint", timeout_s=timeout_s)["checkpoint"])

    def diagnosis(self, job_id: str) -> JsonObject:
        """From the job's files."""
        # only here: read models take a tenth of a second to load, and most commands need none
        from headrace.control.views.reader import JobViews

        return asdict(JobViews(self._registry).diagnosis(job_id))

    def proposal(self, job_id: str) -> JsonObject:
        """From the job's files."""
        from headrace.control.scaling import propose_parallelism, scaling_of
        from headrace.control.views.reader import JobViews

        views = JobViews(self._registry)
        return asdict(propose_parallelism(views, job_id, scaling_of(views, job_id)))


class RemoteJobs:
    """The jobs of a dispatcher."""

    def __init__(self, client: RestClient) -> None:
        self.client = client

    def all(self) -> list[JobRecord]:
        """All known jobs, the newest first."""
        return self.client.jobs()

    def get(self, job_id: str) -> JobRecord | None:
        """One job by its whole id."""
        try:
            return self.client.find(job_id)
        except JobNotFoundError:
            return None

    def find(self, text: str, *, newest: bool = False) -> JobRecord:
        """One job by its id, the beginning of its id, or its name."""
        return self.client.find(text, newest=newest)

    def ask_to_end(
        self, job_id: str, action: str, arguments: JsonObject, *, timeout_s: float
    ) -> None:
        """Ask the dispatcher, which asks the driver."""
        if action == "cancel":
            self.client.cancel(job_id)
            return
        self.client.stop(
            job_id,
            drain=bool(arguments.get("drain")),
            savepoint="savepoint" in arguments,
            folder=arguments.get("savepoint"),
        )

    def savepoint(self, job_id: str, folder: str | None, *, timeout_s: float) -> str:
        """Ask the dispatcher, which asks the driver."""
        return self.client.savepoint(job_id, folder, timeout_s=timeout_s)

    def checkpoint(self, job_id: str, *, timeout_s: float) -> int:
        """Ask the dispatcher, which asks the driver."""
        return self.client.checkpoint(job_id, timeout_s=timeout_s)

    def diagnosis(self, job_id: str) -> JsonObject:
        """Ask the dispatcher."""
        return self.client.diagnosis(job_id)

    def proposal(self, job_id: str) -> JsonObject:
        """Ask the dispatcher."""
        return self.client.proposal(job_id)


def rest_client(address: str) -> RestClient:
    """The client of ``-m``."""
    # only here: most commands need none
    from headrace.client import RestClient

    return RestClient.of(address, effective_configuration())


def jobs_of(address: str | None) -> Jobs:
    """The jobs that a command is about."""
    return LocalJobs(registry()) if address is None else RemoteJobs(rest_client(address))
