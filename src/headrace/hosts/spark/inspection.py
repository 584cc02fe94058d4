"""What Spark's Python workers are doing, asked while they do it: stacks for dumps and flame graphs.

    worker ── connects, says who it is ──▶ driver ── a question ──▶ worker ── stacks ──▶ driver

Every worker process has one line to the driver of each run, with a thread of its own at both ends:
so a task is seen that hangs, which could send nothing with its results.  A thread that waits for a
question costs nothing, and a worker that cannot reach the driver works on without it.

In: the driver's address, inside the code of tasks; questions of control/agent.py.  Out: answers.
Next: hosts/continuous/wire.py (the line), runtime/task_samples.py
"""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import JobError
from headrace.hosts.continuous.wire import LineGone, Switchboard, connect
from headrace.io.processes import here
from headrace.runtime.task_samples import sampled
from headrace.runtime.thread_infos import thread_infos

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import JsonObject, TaskMessage
    from headrace.hosts.continuous.wire import Line

__all__ = ["Inspector", "WorkerProcess", "let_inspect"]

log = logging.getLogger(__name__)

# between a worker and its executor's JVM stands at most Spark's daemon; more is generous
_ANCESTORS = 4


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A Python worker.

    Attributes:
        machine: ``host:pid``.
        executor: id of the executor that it belongs to; None where the system does not tell.
    """

    machine: str
    executor: str | None


# --- in a worker ---------------------------------------------------------------------------------

# what can be asked, and what answers
_QUESTIONS: dict[str, Callable[..., list[JsonObject]]] = {
    "threads": thread_infos,
    "samples": sampled,
}
_known: set[bytes] = set()


def let_inspect(inspector: bytes) -> None:
    """Answer the questions of a driver from now on.

    Args:
        inspector: a pickled Address; empty for nobody.
    """
    if inspector and inspector not in _known:
        _known.add(inspector)
        threading.Thread(
            target=_answer_all, args=(inspector,), name="headrace-inspection", daemon=True
        ).start()


def _answer_all(inspector: bytes) -> None:
    try:
        line = connect(pickle.loads(inspector))
    except JobError as error:
        log.info("threads of this worker cannot be shown: %s", error)
        return
    try:
        line.send("hello", WorkerProcess(here(), _executor_id()))
        while True:
            number, question, *arguments = line.receive()
            threading.Thread(
                target=_answer,
                args=(line, number, question, arguments),
                name="headrace-inspection",
                daemon=True,
            ).start()
    except (EOFError, OSError):
        _known.discard(inspector)  # the run is over
    finally:
        line.close()


def _answer(line: Line, number: int, question: str, arguments: list[TaskMessage]) -> None:
    try:
        line.send(number, _QUESTIONS[question](*arguments))
    except LineGone:
        pass  # nobody waits for it any more
    except Exception as error:
        log.warning("%r could not be answered: %s", question, error)
        line.hang_up()  # better than to let the driver wait


def _executor_id() -> str | None:
    """Of the JVM that started this process: its command line says so, and nothing else does."""
    pid = os.getppid()
    for _ in range(_ANCESTORS):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        if "--executor-id" in words[:-1]:
            return words[words.index("--executor-id") + 1]
        pid = int(stat.rpartition(")")[2].split()[1])
    return None


# --- in the driver -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Question:
    missing: set[Line]
    answers: list[tuple[WorkerProcess, list[JsonObject]]] = field(default_factory=list)


class Inspector:
    """Asks the workers of a run.

    Args:
        host: the address to listen on.
        reached_as: under which workers reach this machine.
    """

    def __init__(self, host: str, reached_as: str) -> None:
        self._changed = threading.Condition()
        self._workers: dict[Line, WorkerProcess] = {}
        self._questions: dict[int, _Question] = {}
        self._numbers = itertools.count(1)
        self._closed = False
        self._switchboard = Switchboard(host, self._serve)
        #: for `let_inspect`
        self.address = pickle.dumps(self._switchboard.address(reached_as))

    def ask(
        self,
        question: str,
        *arguments: TaskMessage,
        patience_s: float,
        of: Callable[[WorkerProcess], bool] = lambda _: True,
    ) -> list[tuple[WorkerProcess, list[JsonObject]]]:
        """Ask all workers at once; those that end or stay silent are left out.

        Args:
            question: what workers know, by name.
            arguments: of the question.
            patience_s: how long to wait for the slowest.
            of: which workers.
        """
        with self._changed:
            number = next(self._numbers)
            asked = _Question({line for line, worker in self._workers.items() if of(worker)})
            self._questions[number] = asked
            lines = list(asked.missing)
        for line in lines:
            try:
                line.send(number, question, *arguments)
            except LineGone:
                self._forget(line)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not asked.missing, patience_s)
            del self._questions[number]
            return asked.answers

    def _serve(self, line: Line) -> None:
        """One worker, until it ends; in a thread of its own."""
        try:
            _, worker = line.receive()
            with self._changed:
                self._workers[line] = worker
                self._changed.notify_all()
            while not self._closed:
                number, answer = line.receive()
                with self._changed:
                    asked = self._questions.get(number)
                    if asked is not None and line in asked.missing:
                        asked.missing.discard(line)
                        asked.answers.append((worker, answer))
                        self._changed.notify_all()
        except (EOFError, OSError):
            pass  # it has ended, as idle workers do
        finally:
            self._forget(line)

    def _forget(self, line: Line) -> None:
        with self._changed:
            self._workers.pop(line, None)
            for asked in self._questions.values():
                asked.missing.discard(line)
            self._changed.notify_all()

    def close(self) -> None:
        """The run is over: workers need not wait for questions."""
        self._switchboard.close()
        with self._changed:
            self._closed = True
            lines = list(self._workers)
            self._changed.notify_all()
        for line in lines:
            line.hang_up()
