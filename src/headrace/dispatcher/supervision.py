"""What has become of a job's driver, and what follows: a table of cases without any effects.

    starting ─▶ running ─▶ ended
        └──────────┴─────▶ died ─▶ the restart strategy decides (dispatcher.py)

In: how far the job was (Launch) and what can be seen of its driver.  Out: a Verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from headrace.control.registry import JobRecord
    from headrace.dispatcher.job_store import Launch

Change = Literal["none", "running", "ended", "died", "hung"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What can be seen of a driver.

    Attributes:
        record: what the driver has written about its job; None if it has not yet.
        alive: whether its process runs; None where that is not known.
        exit_code: that it left behind; None while it runs, and if it was killed.
        silent_s: how long ago it last gave a sign of life, as far as this dispatcher has watched.
    """

    record: JobRecord | None
    alive: bool | None
    exit_code: int | None = None
    silent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What has happened.

    Attributes:
        change: ``hung`` is a driver that is to be killed first.
        state: that the job has ended in.
        reason: in words.
        exit_code: of a program that has ended before its job had begun.
    """

    change: Change
    state: str = ""
    reason: str = ""
    exit_code: int | None = None


NOTHING = Verdict("none")


def judge(launch: Launch, seen: Seen, *, timeout_s: float) -> Verdict:
    """What has become of a job that is starting or running."""
    record = seen.record
    if record is not None and record.state in ("FINISHED", "CANCELED", "FAILED"):
        if record.driver_is_lost:
            return Verdict("died", reason=f"Spark has ended under the driver: {record.error}")
        return Verdict("ended", record.state, record.error or "")
    if seen.alive is False:
        return _gone(launch, seen)
    if record is None:
        return NOTHING
    if seen.alive is None and record.state == "LOST":
        return Verdict("died", reason=f"{record.driver} has not been heard of")
    if seen.silent_s > timeout_s:
        reason = f"{record.driver} has given no sign of life for {seen.silent_s:.0f} s"
        return Verdict("hung", reason=reason)
    return Verdict("running") if launch.phase == "starting" else NOTHING


def _gone(launch: Launch, seen: Seen) -> Verdict:
    driver = launch.driver or "the driver"
    if seen.record is not None or seen.exit_code is None:
        return Verdict("died", reason=f"{driver} has ended without a word")
    if seen.exit_code == 0:
        return Verdict(
            "ended", "FAILED", "the program has ended without starting a job: no env.execute()"
        )
    told = f"the program ended with exit code {seen.exit_code}"
    return Verdict("ended", "FAILED", told, seen.exit_code)
