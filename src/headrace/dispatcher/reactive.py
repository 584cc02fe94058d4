"""Reactive mode: rescales the jobs that ask for it when their load has asked for it long enough.

    every few seconds, of each running job with job.autoscaler.enabled:
        proposal (control/scaling.py) ─▶ the same way for a while? ─▶ rescale

In: read models.  Out: calls of the dispatcher's own `rescale`, as a person would make them.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from headrace.common.configuration import Configuration
from headrace.common.options import OPTIONS
from headrace.control.scaling import Autoscaler, propose_parallelism, scaling_of
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.control.registry import JobRecord
    from headrace.control.views.reader import JobViews

__all__ = ["ReactiveMode"]

log = logging.getLogger(__name__)

_EVERY_S = 5.0


class ReactiveMode:
    """Looks at all jobs now and then.

    Args:
        views: their read models.
        rescale: called with a job's id and its new parallelism.
        clock: seconds, never going back.
    """

    def __init__(
        self,
        views: JobViews,
        rescale: Callable[[str, int], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._views = views
        self._rescale = rescale
        self._clock = clock
        self._looked_at = float("-inf")
        # by checkpoint: a job that was rescaled has another id, but is the same to us
        self._scalers: dict[str, Autoscaler] = {}

    def look(self) -> None:
        """Rescale what has to be; cheap when it is not time yet."""
        now_s = self._clock()
        if now_s - self._looked_at < _EVERY_S:
            return
        self._looked_at = now_s
        running = [record for record in self._views.records() if record.state == "RUNNING"]
        wanted = {record.checkpoint or record.job_id: record for record in running}
        for place, record in wanted.items():
            if self._asks_for_it(record):
                self._look_at(place, record, now_s)

    def _asks_for_it(self, record: JobRecord) -> bool:
        options = self._views.configuration(record.job_id).options
        return bool(Configuration.from_dict(dict(options)).get(OPTIONS["job.autoscaler.enabled"]))

    def _look_at(self, place: str, record: JobRecord, now_s: float) -> None:
        settings = scaling_of(self._views, record.job_id)
        scaler = self._scalers.setdefault(place, Autoscaler(settings))
        proposal = propose_parallelism(self._views, record.job_id, settings)
        parallelism = scaler.observe(proposal, now_s)
        if parallelism is None:
            return
        log.warning(
            "job %s (%s) is rescaled from %d to %d: %s",
            record.name, record.job_id[:12], proposal.current, parallelism, proposal.reason,
        )  # fmt: skip
        try:
            self._rescale(record.job_id, parallelism)
        except HeadraceError as refused:  # it rests before the next try
            log.warning("job %s could not be rescaled: %s", record.name, refused)
