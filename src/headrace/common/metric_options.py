"""Options of metrics and of the history that jobs keep of themselves.

In: nothing.  Out: ``METRIC_OPTIONS``, which common/options.py lists.
Next: control/history.py, control/metrics_port.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.config_options import ConfigOption

if TYPE_CHECKING:
    from headrace.common.opaque import OptionValue

METRIC_OPTIONS: tuple[ConfigOption[OptionValue], ...] = (
    ConfigOption(
        "web.checkpoints.history",
        "int",
        10,
        "How many of its newest checkpoints a job tells of, with the size of every operator's "
        "part; savepoints and failed ones included.",
        minimum=1,
    ),
    ConfigOption(
        "headrace.metrics.history.interval",
        "duration",
        "5 s",
        "How often a job adds a point to the history of its metrics; 0 ms for no history.",
        minimum=0,
    ),
    ConfigOption(
        "headrace.metrics.history.size",
        "int",
        720,
        "How many points that history has at most: the oldest half is dropped when there are more.",
        minimum=2,
    ),
    ConfigOption(
        "metrics.reporter.prom.port",
        "int",
        None,
        "A port of this machine's loopback address on which the job's driver answers Prometheus; "
        "0 for any free one, which `headrace status` shows. A dispatcher answers for all its jobs "
        "at /metrics without it. Needs headrace[cluster].",
        minimum=0,
    ),
)
