"""One session of headrace's SQL client in this process, as Flink's test opens one of its own.

In: statements of a script.  Out: `Printed`: the text and the error of each.  Next: compare.py
"""

from __future__ import annotations

import contextlib
import io
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flink_programs.steps import JavaRow, TableStep
from flink_programs.values_connector import AT_ONCE, SOURCES
from headrace.cli.sql.client import SqlClient
from headrace.cli.sql.command import HELP_TEXT
from headrace.cli.sql.display import TextDisplay
from headrace.cli.sql.script import statements_of
from headrace.connectors.tables import TABLE_CONNECTORS
from headrace.table.catalogs.modules import MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 30
# what stands for places in the scripts, but for their folders
VARIABLES = {"$VAR_JOBMANAGER_RPC_ADDRESS": "localhost", "$VAR_REST_PORT": "38081"}
# what Flink's client is started with in its test, and what its session adds
CLUSTER = {
    "$internal.deployment.config-dir": "/dummy/conf/",
    "execution.attached": "true",
    "execution.shutdown-on-attached-exit": "false",
    "execution.target": "remote",
    "jobmanager.rpc.address": VARIABLES["$VAR_JOBMANAGER_RPC_ADDRESS"],
    "rest.port": VARIABLES["$VAR_REST_PORT"],
}
SESSION = {
    "sql-client.display.print-time-cost": "false",
    "table.exec.legacy-cast-behaviour": "DISABLED",
}


@dataclass(frozen=True)
class Printed:
    """What a statement gave."""

    text: str
    error: BaseException | None


class Session:
    """A client that is asked statement by statement."""

    def __init__(self) -> None:
        _put_twins()
        self._client = SqlClient(CLUSTER, TextDisplay(full_screen=False), help_text=HELP_TEXT)
        for key, value in SESSION.items():
            self.run(f"SET '{key}' = '{value}';")

    def run(self, text: str) -> Printed:
        """Execute statements; what they print, and the error of the one that failed."""
        out = io.StringIO()
        error: BaseException | None = None
        with contextlib.redirect_stdout(out), _time_limit():
            try:
                for statement in statements_of(text):
                    self._client.run(statement)
            except Exception as found:
                error = found
        lines = [line.rstrip() for line in out.getvalue().splitlines()]
        return Printed("\n".join(lines).strip("\n"), error)

    def close(self) -> None:
        """End what still runs."""
        with contextlib.redirect_stdout(io.StringIO()):
            self._client.cancel_jobs()


def _put_twins() -> None:
    """The module and the connectors of Flink's tests: lines are those of `prepareData`."""
    MODULES._own["dummy"] = "flink_scripts.functions:DummyModule"
    for name in ("values", "test-update-delete"):
        TABLE_CONNECTORS._own[name] = "flink_programs.values_connector:ValuesTables"
    AT_ONCE[0] = True
    lines = [JavaRow([number, f"b_{number}", number * 2.0]) for number in range(5)]
    SOURCES.clear()
    SOURCES["t"] = TableStep("t", before=lines)


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"did not end within {SECONDS} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
