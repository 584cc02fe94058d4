"""The ad campaigns in continuous mode: the program of examples/applications, bounded, with Redis.

No batch has a duration here, so the clock is what a user sees: the moment when the first count of
a ten-second window stands in Redis. Event time is even (benchmarks/kafka_data.py), so two such
moments tell how many events were worked off between them.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "applications"))

import ad_campaigns
import redis
from headrace_continuous import environment
from measure import WorkerMemory, arguments, report

if TYPE_CHECKING:
    import argparse

EVENTS_PER_MS = 20  # benchmarks/kafka_data.py
LOOK_S = 0.02
CAMPAIGN = "campaign:campaign-000"


class Windows:
    """When each window of one campaign was first seen in Redis."""

    def __init__(self, url: str) -> None:
        self._server: Any = redis.Redis.from_url(url, decode_responses=True)
        for key in self._server.keys("campaign:*"):  # of the system before
            self._server.delete(key)
        self._seen: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Windows:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()
        self._server.close()

    def _watch(self) -> None:
        while not self._stop.wait(LOOK_S):
            self._look()

    def _look(self) -> None:
        now = time.perf_counter()
        for start in map(int, self._server.hkeys(CAMPAIGN)):
            self._seen.setdefault(start, now)

    def rate(self, options: argparse.Namespace) -> float:
        """Events a second between the first window behind the warm-up and the last one."""
        starts = sorted(self._seen)
        if (starts[-1] - starts[0]) * EVENTS_PER_MS < 0.9 * options.events:
            raise SystemExit(f"windows of {starts[-1] - starts[0]} ms only are in Redis")
        after = starts[0] + options.warmup_events // EVENTS_PER_MS
        first = next(start for start in starts if start >= after)
        events = (starts[-1] - first) * EVENTS_PER_MS
        return events / (self._seen[starts[-1]] - self._seen[first])


def main() -> None:
    options = arguments()
    env = environment(options.scratch, **{"execution.checkpointing.interval": "10 s"})
    ad_campaigns.build(env, options.kafka, options.topic, options.redis, bounded=True)
    memory, began = WorkerMemory(), time.perf_counter()
    with Windows(options.redis) as windows, memory:
        env.execute("bench")
    rate = windows.rate(options)
    report(
        system="headrace_ads_continuous",
        job=options.job,
        events=options.events,
        seconds=round(time.perf_counter() - began, 3),
        events_per_s=round(rate),
        worker_rss_mb=memory.quarters(),
        note=f"{rate / 2:,.0f} events/s a core; by the clock of what stands in Redis",
    )


if __name__ == "__main__":
    main()
