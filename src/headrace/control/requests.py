"""How another terminal asks a running job for something: requests and answers as files.

    client                              driver, polled by control/agent.py
    ask("cancel")  ── <id>.request ──▶  handler("cancel", {...})
         result    ◀── <id>.answer ──   {"ok": true, "result": {...}}  or the parts of an error

In: an action and its arguments.  Out: the handler's result, or its error raised here.  Files need
no port, no server, and no rights beyond those of the user.  Next: control/agent.py (handlers)
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.control.registry import JobRegistry, write_json
from headrace.errors import HeadraceError, JobError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.common.opaque import JsonObject

_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a job."""

    id: str
    action: str
    arguments: JsonObject


# --- the client's side ---------------------------------------------------------------------------


def ask(
    registry: JobRegistry,
    job_id: str,
    action: str,
    arguments: JsonObject | None = None,
    *,
    timeout_s: float = 30.0,
    sleep: Callable[[float], None] = time.sleep,
) -> JsonObject:
    """Ask a running job, and wait for its answer.

    Raises:
        JobError: the job has ended, its driver is dead or does not answer, or it refuses.
    """
    _check_running(registry, job_id, action)
    folder = registry.requests_of(job_id)
    folder.mkdir(parents=True, exist_ok=True)
    number = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"
    question, answer = folder / f"{number}.request", folder / f"{number}.answer"
    write_json(question, {"id": number, "action": action, "arguments": arguments or {}})
    deadline = time.monotonic() + timeout_s
    try:
        while not answer.exists():
            if time.monotonic() > deadline:
                raise JobError(
                    f"job {job_id[:8]} did not answer {action!r} within {timeout_s:g} s",
                    fix="the driver may be busy or suspended; try again with a longer --timeout",
                )
            if not _is_running(registry, job_id):
                sleep(_POLL_S)  # it may have answered with its last breath
                if not answer.exists():
                    _check_running(registry, job_id, action)
                continue
            sleep(_POLL_S)
        return _result(json.loads(answer.read_text()))
    finally:
        question.unlink(missing_ok=True)
        answer.unlink(missing_ok=True)


def _is_running(registry: JobRegistry, job_id: str) -> bool:
    record = registry.get(job_id)
    return record is not None and record.is_running


def _check_running(registry: JobRegistry, job_id: str, action: str) -> None:
    record = registry.get(job_id)
    if record is None:
        raise JobError(f"job {job_id[:8]} is no longer known", where=str(registry.folder))
    if record.is_running:
        return
    if record.state == "LOST":
        resume = f" on its checkpoint {record.checkpoint}" if record.checkpoint else ""
        raise JobError(
            f"job {record.name!r} ({job_id[:8]}) cannot {action}: its driver, {record.driver}, is "
            "dead",
            fix=f"run the program again to continue{resume}",
        )
    raise JobError(f"job {record.name!r} ({job_id[:8]}) has ended: it is {record.state}")


def _result(content: JsonObject) -> JsonObject:
    if content["ok"]:
        return dict(content["result"])
    raise JobError(content["message"], where=content.get("where"), fix=content.get("fix"))


# --- the driver's side ---------------------------------------------------------------------------


class Inbox:
    """The requests to one job."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: set[str] = set()
        for old in folder.glob("*"):  # of an earlier run of this job; nobody waits for it
            old.unlink(missing_ok=True)

    def take(self) -> Iterator[Request]:
        """New requests, in order; each is given out once."""
        for path in self._requests():
            if path.stem in self._taken:
                continue
            try:
                content = json.loads(path.read_text())
                request = Request(path.stem, str(content["action"]), dict(content["arguments"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue  # withdrawn meanwhile, or not ours
            self._taken.add(path.stem)
            yield request

    def _requests(self) -> list[Path]:
        try:
            return sorted(self._folder.glob("*.request"))
        except OSError:
            return []  # the next look may find more

    def answer(self, request: Request, result: JsonObject) -> None:
        """The request was carried out."""
        self._put(request, {"ok": True, "result": result})

    def refuse(self, request: Request, error: BaseException) -> None:
        """The request failed."""
        parts: JsonObject = {"ok": False, "message": f"{type(error).__name__}: {error}"}
        if isinstance(error, HeadraceError):
            parts |= {"message": error.message, "where": error.where, "fix": error.fix}
        self._put(request, parts)

    def _put(self, request: Request, content: JsonObject) -> None:
        if (self._folder / f"{request.id}.request").exists():  # else the client has given up
            write_json(self._folder / f"{request.id}.answer", content)
