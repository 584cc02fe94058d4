"""The ad campaigns in continuous mode: the program of examples/applications, with an end."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "applications"))

import ad_campaigns
from headrace_continuous import environment
from measure import arguments, measure_checkpoints

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
    measure_checkpoints(
        options, jobs, lambda: env.execute("bench"), system="headrace_ads_continuous", epoch=EPOCH
    )


if __name__ == "__main__":
    main()
