"""A driver with its workers in one process, which kills itself at a chosen point of a commit.

    python kafka_killed.py BOOTSTRAP TOPIC PREFIX JOB FOLDER POINT

Batch 0 (numbers 0 to 5) is committed; in batch 1 (6 to 11, two subtasks) it dies.
"""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka.decision_log import DecisionLog
from headrace.connectors.kafka.transaction_admin import TransactionAdmin
from headrace.testing.connectors import SinkDriver
from kafka_sinks import text_sink

if TYPE_CHECKING:
    from headrace.connectors.kafka.transactions import Decision

POINTS = (
    "while writing",
    "before the decision",
    "after the decision",
    "between two commits",
    "after all commits",
    "after done",
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(point: str) -> None:
    """From now on the process dies at this point."""
    write, commit = DecisionLog.write, TransactionAdmin.commit

    def write_or_die(log: DecisionLog, decision: Decision) -> None:
        now = point, decision.stage
        if now in (("before the decision", "decided"), ("after all commits", "done")):
            die()
        write(log, decision)
        if now in (("after the decision", "decided"), ("after done", "done")):
            die()

    def commit_or_die(admin: TransactionAdmin, transactions: Any) -> None:
        if point == "between two commits":
            first = next(iter(transactions))
            commit(admin, {first: transactions[first]})
            die()
        commit(admin, transactions)

    DecisionLog.write = write_or_die  # type: ignore[method-assign, assignment]
    TransactionAdmin.commit = commit_or_die  # type: ignore[method-assign, assignment]


def main(bootstrap: str, topic: str, prefix: str, job_id: str, folder: str, point: str) -> None:
    sink = text_sink(SimpleNamespace(bootstrap=bootstrap, login={}), topic, prefix)  # type: ignore[arg-type]
    job = SinkDriver(sink, job_id=job_id, state_dir=folder)
    job.run(0, [0, 1, 2], [3, 4, 5])
    if point == "while writing":
        writer = job.writer(1)
        writer.write([6, 7], None)
        writer._producer.flush()  # type: ignore[attr-defined]
        die()
    arm(point)
    job.run(1, [6, 7, 8], [9, 10, 11])


if __name__ == "__main__":
    main(*sys.argv[1:])
