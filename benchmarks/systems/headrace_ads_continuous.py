"""The ad campaigns in continuous mode: the program of examples/applications, bounded, with Redis.

No batch has a duration here: the clock is that of the job's checkpoints, each of which tells how
many records the source had sent when its barrier went out.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import pairwise
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "applications"))

import ad_campaigns
from headrace_continuous import environment
from measure import WorkerMemory, arguments, checkpoints_of, report

EPOCH = "2 s"


def main() -> None:
    options = arguments()
    jobs = options.scratch / "jobs"
    env = environment(
        options.scratch,
        **{
            "execution.checkpointing.interval": EPOCH,
            "headrace.jobs.dir": str(jobs),
            "web.checkpoints.history": "1000",
        },
    )
    ad_campaigns.build(env, options.kafka, options.topic, options.redis, bounded=True)
    memory, began = WorkerMemory(), time.perf_counter()
    with memory:
        env.execute("bench")
    seconds = time.perf_counter() - began
    marks = [(mark.triggered_ms, mark.events) for mark in checkpoints_of(jobs)]
    if marks[-1][1] != options.events:
        raise SystemExit(f"{marks[-1][1]} of {options.events} events were read")
    steady = [mark for mark in marks if mark[1] >= options.warmup_events]
    (first_ms, before), (last_ms, after) = steady[0], steady[-1]
    rate = (after - before) / (last_ms - first_ms) * 1000
    report(
        system="headrace_ads_continuous",
        job=options.job,
        events=options.events,
        seconds=round(seconds, 3),
        events_per_s=round(rate),
        batch_ms=[after - before for (before, _), (after, _) in pairwise(marks)],
        worker_rss_mb=memory.quarters(),
        note=f"{rate / 2:,.0f} events/s a core; a checkpoint every {EPOCH}",
    )


if __name__ == "__main__":
    main()
