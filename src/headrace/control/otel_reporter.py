"""Sends a job's metrics to OpenTelemetry's collectors: ``metrics.reporter.<name>.*``.

In: the options, and the registry in which the job writes.  Out: a request every interval, and one
with the last numbers when the job has ended.  A collector that cannot be reached is told once, and
tried again at every interval; the job does not wait for it.  Next: control/views/opentelemetry.py
"""

from __future__ import annotations

import logging
import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.options import OPTIONS, find_option
from headrace.common.sensitive import masked_text
from headrace.control.views.reader import JobViews
from headrace.control.views.samples import job_samples
from headrace.errors import ConfigurationError, EnvironmentSetupError

if TYPE_CHECKING:
    from headrace.common.configuration import Configuration
    from headrace.common.opaque import OptionValue
    from headrace.control.registry import JobRegistry

__all__ = ["OtelReporter", "OtelSettings", "is_started", "otel_settings"]

log = logging.getLogger(__name__)

_OF = "metrics.reporter.<name>."
_FACTORY = "OpenTelemetryMetricReporterFactory"
_PROMETHEUS = "PrometheusReporterFactory"  # control/metrics_port.py
# how long the end of a job waits for its last numbers, and then for the log to say that they failed
_LAST_S, _LAST_WORD_S = 2.0, 0.1
_LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class OtelSettings:
    """What the options say of one reporter."""

    name: str
    endpoint: str
    interval_s: float
    timeout_s: float
    attributes: dict[str, str]


def is_started(configuration: Configuration, name: str) -> bool:
    """Whether `metrics.reporters`, if it is set, names a reporter."""
    listed = configuration.get(OPTIONS["metrics.reporters"])
    return listed is None or name in re.split(r"[\s,;]+", listed)


def otel_settings(configuration: Configuration) -> list[OtelSettings]:
    """All reporters to OpenTelemetry; those to others are told in the log.

    Raises:
        ConfigurationError: one has no address, or none of HTTP.
    """
    found = []
    for name, factory in sorted(_factories(configuration).items()):
        if not is_started(configuration, name):
            continue
        if factory.endswith(_FACTORY):
            found.append(_settings(configuration, name))
        elif not factory.endswith(_PROMETHEUS):
            log.info(
                "reporter %s has no effect: there is no %s; there are metrics.reporter.prom.port, "
                "for Prometheus, and %s, for OpenTelemetry",
                name, factory, _FACTORY,
            )  # fmt: skip
    return found


def _factories(configuration: Configuration) -> dict[str, str]:
    before, after = (_OF + "factory.class").split("<name>")
    return {
        key.removeprefix(before).removesuffix(after): value
        for key, value in configuration.to_dict().items()
        if key.startswith(before) and key.endswith(after)
    }


def _settings(configuration: Configuration, name: str) -> OtelSettings:
    def get(key: str) -> OptionValue:
        option = find_option(key.replace("<name>", name))
        assert option is not None
        return configuration.get(option)

    endpoint = str(get(_OF + "exporter.endpoint") or "")
    if not re.fullmatch(r"https?://[^/\s]+(/\S*)?", endpoint):
        raise ConfigurationError(
            f"reporter {name!r} needs the address of a collector, not {masked_text(endpoint)!r}",
            where=(_OF + "exporter.endpoint").replace("<name>", name),
            fix="give the whole address, such as http://127.0.0.1:4318/v1/metrics",
        )
    named = {
        "service.name": get(_OF + "service.name"),
        "service.version": get(_OF + "service.version"),
    }
    return OtelSettings(
        name=name,
        endpoint=endpoint,
        interval_s=get(_OF + "interval") / 1000,
        timeout_s=get(_OF + "exporter.timeout") / 1000,
        attributes={key: value for key, value in named.items() if value is not None},
    )


class OtelReporter:
    """Reports one job to one collector, in a thread of its own.

    Args:
        settings: of the reporter.
        registry: where the job writes.
        job_id: which job.

    Raises:
        EnvironmentSetupError: OpenTelemetry's packages are not installed.
    """

    def __init__(self, settings: OtelSettings, registry: JobRegistry, job_id: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http import metric_exporter
            from opentelemetry.sdk.resources import Resource

            from headrace.control.views.opentelemetry import OtelData
        except ImportError:
            raise EnvironmentSetupError(
                f"reporter {settings.name!r} needs opentelemetry-sdk and "
                "opentelemetry-exporter-otlp-proto-http, which are not installed",
                fix="pip install 'headrace[otel]', or remove the option",
            ) from None
        self._settings = settings
        self._job_id = job_id
        self._views = JobViews(registry)
        self._data = OtelData(Resource.create(settings.attributes))
        self._exporter = metric_exporter.OTLPMetricExporter(
            settings.endpoint, timeout=settings.timeout_s
        )
        self._said = _Said(logging.getLogger(metric_exporter.__name__))
        self._over = threading.Event()
        self._failing = False  # written by the thread
        name = f"headrace-otel-{settings.name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Report from now on."""
        self._thread.start()

    def close(self) -> None:
        """Report the last numbers, and no more; nobody waits for a collector that has failed."""
        self._over.set()
        until = time.monotonic() + _LAST_S
        while self._thread.is_alive() and not self._in_trouble() and time.monotonic() < until:
            self._thread.join(_LOOK_EVERY_S)
        self._exporter.shutdown()  # it tries no more
        self._thread.join(_LAST_WORD_S)

    def _in_trouble(self) -> bool:
        return self._failing or bool(self._said.texts)

    def _run(self) -> None:
        with self._said:
            while not self._over.wait(self._settings.interval_s):
                self._report()
            if not self._failing:
                self._report()

    def _report(self) -> None:
        """The job runs on, whatever becomes of its metrics."""
        try:
            problem = self._send()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem is not None and not self._failing:  # tried again at the next interval, told once
            log.warning(
                "the metrics of job %s do not reach %s: %s",
                self._job_id, masked_text(self._settings.endpoint), masked_text(problem),
            )  # fmt: skip
        elif problem is None and self._failing:
            log.info("the metrics of job %s are sent again", self._job_id)
        self._failing = problem is not None

    def _send(self) -> str | None:
        """Send what there is now; what was wrong, if it did not arrive."""
        samples = list(job_samples(self._views, self._job_id))
        if not samples:
            return None  # the job has not begun to tell of itself
        result = self._exporter.export(self._data.of(samples))
        problem = self._said.texts[:1] or [result.name]  # the first has the reason
        self._said.texts.clear()
        return None if result.name == "SUCCESS" else problem[0]


class _Said(logging.Filter):
    """Keeps what the exporter logs in this thread: it would say it at every sending.

    Args:
        logger: the exporter's, which the program may use for a reporter of its own.
    """

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__()
        self._logger = logger
        self._thread = 0
        self.texts: list[str] = []

    def __enter__(self) -> None:
        self._thread = threading.get_ident()
        self._logger.addFilter(self)

    def __exit__(self, *raised: object) -> None:
        self._logger.removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True
        self.texts.append(record.getMessage())
        return False
