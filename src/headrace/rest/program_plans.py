"""The plan of an uploaded program, made by running it up to execute(), in a process of its own.

    /jars/ID/plan ─▶ unpack ─▶ `headrace explain --json` ─▶ Flink's nodes

In: a stored program, its entry and arguments.  Out: Flink's JobPlanInfo.  No Spark is started and
no sink is touched; but the program's code runs, as the user of the dispatcher: role ``submit``.
"""

from __future__ import annotations

import html
import json
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.sensitive import is_sensitive
from headrace.dispatcher.program_store import unpack
from headrace.rest.answers import Refusal

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject

_PATIENCE_S = 60.0
# arguments come in by a pipe: a command line is for everybody to read
_LAUNCH = "import json, sys; sys.argv = json.load(sys.stdin); from headrace.cli import main; main()"
_running = threading.Semaphore(2)


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is to be planned.

    Attributes:
        file: the stored program.
        name: of the file at its user.
        entry: a script, or ``module:function``.
        arguments: what the program finds in ``sys.argv``.
        parallelism: None for the default.
        settings: options; a plan needs no secrets, so they are left out.
    """

    file: Path
    name: str
    entry: str
    arguments: tuple[str, ...] = ()
    parallelism: int | None = None
    settings: dict[str, str] = field(default_factory=dict)


def make_plan(request: PlanRequest) -> JsonObject:
    """The plan of a program's first job.

    Raises:
        Refusal: 400, the program fails or executes nothing; 503, others are being planned.
    """
    if not _running.acquire(timeout=_PATIENCE_S):
        raise Refusal(503, "other programs are being planned", kind="BUSY", fix="ask again")
    try:
        with tempfile.TemporaryDirectory(prefix="headrace-plan-") as folder:
            return _flink_plan(_explained(request, Path(folder)))
    finally:
        _running.release()


def _explained(request: PlanRequest, folder: Path) -> JsonObject:
    unpack(request.file, request.name, folder)
    defined = [
        word
        for key, value in request.settings.items()
        if not is_sensitive(key)
        for word in ("-D", f"{key}={value}")
    ]
    wide = [] if request.parallelism is None else ["--parallelism", str(request.parallelism)]
    words = ["headrace", "explain", "--json", *wide, *defined, request.entry, *request.arguments]
    try:
        done = subprocess.run(
            [sys.executable, "-c", _LAUNCH], cwd=folder, input=json.dumps(words), text=True,
            capture_output=True, timeout=_PATIENCE_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Refusal(
            400, f"the program has not reached its end within {_PATIENCE_S:g} s", kind="PROGRAM"
        ) from None
    return _first_job(done)


def _first_job(done: subprocess.CompletedProcess[str]) -> JsonObject:
    """What the command printed last: a program may print, too."""
    text = f"\n{done.stdout}"
    try:
        told: JsonObject = json.loads(text[text.rfind("\n{\n") :])
    except ValueError:
        told = {"error": {"message": (done.stderr or done.stdout).strip()[-2000:]}}
    if "error" in told:
        error = told["error"]
        raise Refusal(
            400,
            str(error.get("message") or "the program failed"),
            where=error.get("where"),
            fix=error.get("fix"),
            kind=str(error.get("condition") or "PROGRAM"),
        )
    job: JsonObject = told["jobs"][0]
    return job


def _flink_plan(job: JsonObject) -> JsonObject:
    return {
        "plan": {
            "jid": "0" * 32,
            "name": job["name"],
            "type": "STREAMING",
            "nodes": [_node(node) for node in job["plan"]["nodes"]],
        }
    }


def _node(node: JsonObject) -> JsonObject:
    told: JsonObject = {
        "id": _id(node["id"]),
        "operator": "",
        "parallelism": node["parallelism"],
        "operator_strategy": "",
        "description": html.escape(str(node["contents"]), quote=False),
        "optimizer_properties": {
            "level": node["level"],
            "runs": node["lowering"],
            "call_site": node["call_site"],
        },
    }
    inputs = node.get("predecessors", ())
    if inputs:
        told["inputs"] = [
            {
                "id": _id(each["id"]),
                "num": number,
                "exchange": "pipelined_bounded",
                "ship_strategy": each["ship_strategy"],
            }
            for number, each in enumerate(inputs)
        ]
    return told


def _id(number: int) -> str:
    return f"{number:032x}"
