"""Options of proposals for another parallelism: those of Flink's autoscaler, as far as they act.

Out: ``SCALING_OPTIONS``, which common/options.py lists.  Next: control/scaling.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.config_options import ConfigOption

if TYPE_CHECKING:
    from headrace.common.opaque import OptionValue

SCALING_OPTIONS: tuple[ConfigOption[OptionValue], ...] = (
    ConfigOption(
        "job.autoscaler.enabled",
        "boolean",
        default=False,
        doc="Reactive mode: whether a dispatcher rescales the job when proposals have pointed the "
        "same way for job.autoscaler.stabilization.interval.",
    ),
    ConfigOption(
        "job.autoscaler.utilization.target",
        "float",
        0.7,
        "The share of the time that a job should work.",
    ),
    ConfigOption(
        "job.autoscaler.target.utilization.boundary",
        "float",
        0.2,
        "How far from the target the load may be, on either side, before another parallelism is "
        "proposed.",
    ),
    ConfigOption(
        "job.autoscaler.catch-up.duration",
        "duration",
        "60 s",
        "In which time what waits in the sources is to be read, beside what comes.",
        minimum=1,
    ),
    ConfigOption(
        "job.autoscaler.vertex.min-parallelism",
        "int",
        1,
        "The smallest parallelism that is proposed.",
        minimum=1,
    ),
    ConfigOption(
        "job.autoscaler.vertex.max-parallelism",
        "int",
        200,
        "The largest parallelism that is proposed; never more than the job has key groups.",
        minimum=1,
    ),
    ConfigOption(
        "job.autoscaler.stabilization.interval",
        "duration",
        "60 s",
        "Reactive mode: how long proposals have to point the same way.",
        minimum=0,
    ),
    ConfigOption(
        "job.autoscaler.metrics.window",
        "duration",
        "180 s",
        "Reactive mode: how long a job is left alone after it was rescaled, so that its metrics "
        "are those of the new parallelism.",
        minimum=0,
    ),
)
