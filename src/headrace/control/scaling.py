"""Proposes a parallelism from how busy a job is and how far its sources are behind.

    load    = share of the time that the job works, times what it has to catch up
    wanted  = ceil(parallelism * load / target utilisation), if the load is outside of the band

In: vertices as they are now, their diagnosis (control/views/).  Out: a Proposal; nothing is done.
`Autoscaler` says when proposals were alike for long enough to act on them; who acts is the
dispatcher, or a person with `headrace rescale`.  Pure: time comes in as an argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headrace.common.configuration import Configuration
from headrace.common.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.opaque import OptionValue
    from headrace.control.views.models import JobView, SourceLag, VertexView
    from headrace.control.views.reader import JobViews

__all__ = [
    "Autoscaler",
    "Proposal",
    "ScalingSettings",
    "propose",
    "propose_parallelism",
    "scaling_of",
]

_PREFIX = "job.autoscaler."
# a job that has just started is busy with starting
_EARLY_MS, _FEW_EPOCHS = 30_000, 3


@dataclass(frozen=True, slots=True)
class ScalingSettings:
    """What is aimed at, and what is allowed.

    Attributes:
        target: the share of the time that the job should work.
        band: how far from the target the load may be, on either side, without a proposal.
        catch_up_s: in which time what waits in the sources is to be read, beside what comes.
        lowest, highest: the bounds of a proposal.
        stable_s: how long proposals have to point the same way before somebody acts.
        rest_s: how long a job is left alone after it was rescaled.
    """

    target: float = 0.7
    band: float = 0.2
    catch_up_s: float = 60.0
    lowest: int = 1
    highest: int = 200
    stable_s: float = 60.0
    rest_s: float = 180.0

    @staticmethod
    def of(option: Callable[[str], OptionValue]) -> ScalingSettings:
        """What the options ``job.autoscaler.*`` say."""
        return ScalingSettings(
            target=option(f"{_PREFIX}utilization.target"),
            band=option(f"{_PREFIX}target.utilization.boundary"),
            catch_up_s=option(f"{_PREFIX}catch-up.duration") / 1000,
            lowest=option(f"{_PREFIX}vertex.min-parallelism"),
            highest=option(f"{_PREFIX}vertex.max-parallelism"),
            stable_s=option(f"{_PREFIX}stabilization.interval") / 1000,
            rest_s=option(f"{_PREFIX}metrics.window") / 1000,
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """What to run a job with.

    Attributes:
        parallelism: what it should have; equal to `current` if nothing is to be done.
        load: the share of the time that it would have to work to keep up; above 1 it cannot.
        reason: for people.
    """

    current: int
    parallelism: int
    load: float
    reason: str

    @property
    def direction(self) -> Literal["up", "down", "none"]:
        """Whether more or fewer are proposed."""
        if self.parallelism == self.current:
            return "none"
        return "up" if self.parallelism > self.current else "down"


def propose_parallelism(
    views: JobViews, job_id: str, settings: ScalingSettings | None = None
) -> Proposal:
    """A proposal for a job of a registry.

    Raises:
        JobNotFoundError: there is none with this id.
    """
    job = views.job(job_id)
    return propose(job, views.diagnosis(job_id).lags, settings or ScalingSettings())


def scaling_of(views: JobViews, job_id: str) -> ScalingSettings:
    """What a job was configured with."""
    configured = Configuration.from_dict(dict(views.configuration(job_id).options))
    return ScalingSettings.of(lambda key: configured.get(OPTIONS[key]))


def propose(job: JobView, lags: Sequence[SourceLag], settings: ScalingSettings) -> Proposal:
    """A proposal for a job as it is now."""
    current = job.overview.parallelism
    early = _too_early(job)
    if early is not None:
        return Proposal(current, current, 0.0, early)
    work = _utilisation(job.vertices, continuous=job.mode == "continuous")
    if work is None:
        return Proposal(current, current, 0.0, "all of it runs natively, so its time is not known")
    behind = _behind(job.vertices, lags, settings.catch_up_s)
    load = work * behind
    told = f"it works {work:.0%} of the time" + (
        f", and {behind:.1f} times that to catch up within {settings.catch_up_s:g} s"
        if behind > 1.05
        else ""
    )
    low, high = settings.target - settings.band, settings.target + settings.band
    if low - 1e-9 <= load <= high + 1e-9:
        reason = f"{told}: between {low:.0%} and {high:.0%}, so nothing is to be done"
        return Proposal(current, current, round(load, 3), reason)
    wanted = math.ceil(current * load / settings.target - 1e-9)
    wanted = max(wanted, math.ceil(current / 2))  # fewer by half at most: a pause is no trend
    bounded = max(settings.lowest, min(wanted, settings.highest, _most(job)))
    limit = "" if bounded == wanted else f" ({wanted} would be needed, {bounded} is the limit)"
    reason = f"{told}; {settings.target:.0%} is aimed at{limit}"
    return Proposal(current, bounded, round(load, 3), reason)


def _too_early(job: JobView) -> str | None:
    if job.overview.state != "RUNNING":
        return f"it is {job.overview.state}"
    ran_ms = job.now - job.state_times.get("RUNNING", job.now)
    if ran_ms < _EARLY_MS or job.epochs < _FEW_EPOCHS:
        return f"it is too early to tell: {job.epochs} epochs in {ran_ms / 1000:.0f} s"
    return None


def _utilisation(vertices: Sequence[VertexView], *, continuous: bool) -> float | None:
    """The share of the time that the job works.

    Continuous: that of its busiest vertex, over its subtasks on average, since uneven keys do not
    get better with more of them.  Micro-batches: the stages work one after the other, so it is the
    time that a source is at work or waits for those behind it.
    """
    shares = []
    for vertex in vertices:
        measured = [each.counts for each in vertex.subtasks if each.counts.busy is not None]
        if not measured:
            continue
        busy = sum(counts.busy or 0.0 for counts in measured) / len(measured)
        pressed = sum(counts.back_pressured or 0.0 for counts in measured) / len(measured)
        if continuous or vertex.kind == "source":
            shares.append(busy if continuous else busy + pressed)
    return max(shares) / 1000 if shares else None


def _behind(vertices: Sequence[VertexView], lags: Sequence[SourceLag], catch_up_s: float) -> float:
    """How much more than now a source has to read to be on time, at least 1."""
    rates = {
        operator.uid: operator.counts.records_out_per_second
        for vertex in vertices
        for operator in vertex.operators
    }
    most = 1.0
    for lag in lags:
        rate = rates.get(lag.uid, 0.0)
        waiting = lag.pending_records or 0
        # what is read within a second has not waited
        if rate > 0 and waiting > rate:
            most = max(most, 1 + waiting / catch_up_s / rate)
    return most


def _most(job: JobView) -> int:
    """More subtasks than key groups would have nothing to do."""
    return job.max_parallelism if job.max_parallelism > 0 else 1 << 15


class Autoscaler:
    """Waits until proposals have pointed the same way for long enough, and rests afterwards.

    Args:
        settings: how long both take.
    """

    def __init__(self, settings: ScalingSettings) -> None:
        self._settings = settings
        self._direction: str = "none"
        self._since_s = 0.0
        self._rests_until_s = float("-inf")

    def observe(self, proposal: Proposal, now_s: float) -> int | None:
        """The parallelism to rescale to now; None to leave the job alone.

        Args:
            proposal: the newest.
            now_s: seconds of a clock that never goes back.
        """
        if proposal.direction != self._direction:
            self._direction, self._since_s = proposal.direction, now_s
        if self._direction == "none" or now_s < self._rests_until_s:
            return None
        if now_s - self._since_s < self._settings.stable_s:
            return None
        self._direction, self._rests_until_s = "none", now_s + self._settings.rest_s
        return proposal.parallelism
