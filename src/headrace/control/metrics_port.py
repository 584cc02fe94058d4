"""A driver's own port for Prometheus: ``metrics.reporter.prom.port``, for jobs without dispatcher.

In: the registry in which the job writes.  Out: a server of prometheus-client on the loopback
address, until the job ends.  Next: control/views/prometheus.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.control.views.reader import JobViews
from headrace.errors import ConfigurationError, EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.control.registry import JobRegistry

__all__ = ["MetricsPort"]

_LOOPBACK = "127.0.0.1"
_OPTION = "metrics.reporter.prom.port"


class MetricsPort:
    """Answers Prometheus for one job.

    Args:
        registry: where the job writes.
        job_id: which job.
        port: 0 for any that is free.

    Raises:
        ConfigurationError: somebody else has the port, or it is none.
        EnvironmentSetupError: prometheus-client is not installed.
    """

    def __init__(self, registry: JobRegistry, job_id: str, port: int) -> None:
        try:
            from prometheus_client import start_http_server

            from headrace.control.views.prometheus import registry_of
        except ImportError:
            raise EnvironmentSetupError(
                f"{_OPTION} needs prometheus-client, which is not installed",
                fix="pip install 'headrace[cluster]', or remove the option",
            ) from None
        served = registry_of(JobViews(registry), job_id)
        try:
            server, thread = start_http_server(port, _LOOPBACK, registry=served)
        except (OSError, OverflowError) as error:
            raise ConfigurationError(
                f"port {port} cannot be used for {_OPTION}: {error}",
                where=f"{_LOOPBACK}:{port}",
                fix="choose another port, or 0 for any that is free; jobs of one machine need "
                "ports of their own",
            ) from None
        self.address = f"http://{_LOOPBACK}:{server.server_port}/metrics"
        self._close: tuple[Callable[[], None], ...] = (
            server.shutdown,
            server.server_close,
            thread.join,
        )

    def close(self) -> None:
        """Answer no more."""
        for close in self._close:
            close()
        self._close = ()
