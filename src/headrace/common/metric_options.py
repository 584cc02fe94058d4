"""Options of metrics and of the history that jobs keep of themselves.

Out: ``METRIC_OPTIONS``, which common/options.py lists; ``reporter_option(key)``, for
keys in which the user has named a reporter.
Next: control/history.py, control/metrics_port.py, control/otel_reporter.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.common.config_options import ConfigOption, Effect

if TYPE_CHECKING:
    from headrace.common.opaque import OptionValue

_PREFIX = "metrics.reporter."
_OF_REPORTER = f"{_PREFIX}<name>."

_REPORTER_OPTIONS: tuple[ConfigOption[OptionValue], ...] = (
    ConfigOption(
        f"{_OF_REPORTER}factory.class",
        "string",
        None,
        "Flink's class of the reporter that `<name>` stands for. "
        "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory: the job's driver sends "
        "its metrics to an OpenTelemetry collector; needs headrace[otel]. Any other has no effect, "
        "and the log says so at INFO.",
    ),
    ConfigOption(
        f"{_OF_REPORTER}interval",
        "duration",
        "10 s",
        "OpenTelemetry: how often metrics are sent.",
        minimum=1,
    ),
    ConfigOption(
        f"{_OF_REPORTER}exporter.endpoint",
        "string",
        None,
        "OpenTelemetry: where metrics are sent, the whole address: http://host:4318/v1/metrics. "
        "Must be set.",
    ),
    ConfigOption(
        f"{_OF_REPORTER}exporter.protocol",
        "string",
        "HTTP",
        "OpenTelemetry: how metrics are sent.",
        effect=Effect.REFUSED,
        why="metrics are sent as protobuf over HTTP",
        instead="set it to HTTP: collectors take that on port 4318, at /v1/metrics",
        taken=("HTTP",),
    ),
    ConfigOption(
        f"{_OF_REPORTER}exporter.timeout",
        "duration",
        "10 s",
        "OpenTelemetry: how long one sending may take, with what is tried again.",
        minimum=1,
    ),
    ConfigOption(
        f"{_OF_REPORTER}service.name",
        "string",
        None,
        "OpenTelemetry: the resource attribute of this name; if not set, the variable "
        "OTEL_SERVICE_NAME says it.",
    ),
    ConfigOption(
        f"{_OF_REPORTER}service.version",
        "string",
        None,
        "OpenTelemetry: the resource attribute of this name.",
    ),
)

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
    ConfigOption(
        "metrics.reporters",
        "string",
        None,
        "The names of the reporters to start, with commas between them; all that are configured "
        "if not set.",
    ),
    *_REPORTER_OPTIONS,
)


def reporter_option(key: str) -> ConfigOption[OptionValue] | None:
    """The option of a reporter under the name that the user gave it; None if it is not known."""
    _, _, rest = key.removeprefix(_PREFIX).partition(".")
    if not key.startswith(_PREFIX) or not rest:
        return None
    found = next((each for each in _REPORTER_OPTIONS if each.key == _OF_REPORTER + rest), None)
    return None if found is None else replace(found, key=key)
