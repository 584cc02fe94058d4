"""What a failure of Spark itself means: its own report in short, or that its JVM has died.

In: what pyspark raised.  Out: a `JobError`; errors of workers come in carried_errors.py.
Next: control/job.py (whether the job is started again)
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from headrace.errors import JobError

if TYPE_CHECKING:
    from headrace.errors import HeadraceError

# A connection is lost a moment before the process is gone.
_DYING_S = 5.0
_LOST = (ConnectionError, EOFError, Py4JNetworkError)


def spark_failure(error: BaseException) -> HeadraceError:
    """Spark's own failure, with its first telling line on top and the rest as the cause."""
    died = jvm_death() if _is_lost_line(error) else None
    if died is not None:
        return died
    text = str(error).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((n for n, line in enumerate(lines) if "Caused by" in line), 0)
    # some messages begin on the line below their class
    told = [line for line in lines[first : first + 4] if not line.startswith("at ")]
    telling = " ".join(told) if told and told[0].endswith(":") else (told or [text])[0]
    return JobError(
        f"Spark failed under the job: {telling[:500]}",
        fix="Spark's full report is the cause of this error (error.__cause__)",
    )


def jvm_death() -> JobError | None:
    """How the JVM that this process has started died; None if it lives, or is another's."""
    jvm = getattr(SparkContext._gateway, "proc", None)
    if jvm is None:
        return None
    try:
        code = jvm.wait(_DYING_S)
    except subprocess.TimeoutExpired:
        return None
    return death(jvm.pid, code, Path.cwd())


def death(pid: int, code: int, folder: Path) -> JobError:
    """The error for a JVM that has ended.

    Args:
        pid: of its process.
        code: how it ended, as `subprocess` says it.
        folder: where it was started; a JVM that crashes leaves its report there.
    """
    report = folder / f"hs_err_pid{pid}.log"
    how, fix = f"with exit code {code}", "its last words are in the driver's log (stderr)"
    if code < 0:
        how = f"killed by {signal.Signals(-code).name}"
    if code == -signal.SIGKILL:
        fix = (
            "the kernel kills so when memory is short (dmesg says so, or the limit of the "
            "container): lower spark.driver.memory, or give the machine more"
        )
    if report.exists():
        fix = f"the JVM has written a report of its crash: {report}"
    return JobError(
        f"Spark's JVM has died under the job: process {pid} ended, {how}",
        where=f"the driver's machine; its folder is {folder}",
        fix=f"{fix}; run the program again to continue from the checkpoint",
    )


def _is_lost_line(error: BaseException | None) -> bool:
    """Whether it was a lost connection, or was raised because of one."""
    while error is not None:
        if isinstance(error, _LOST):
            return True
        error = error.__cause__ or error.__context__
    return False
