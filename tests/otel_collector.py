"""A collector of OpenTelemetry on loopback: takes metrics over HTTP, and keeps them."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from patience import wait_until

if TYPE_CHECKING:
    from typing import Self

    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint


class Collector:
    """Used in a `with` block.

    Args:
        port: 0 for any that is free.
        status: what it answers.
    """

    def __init__(self, port: int = 0, status: int = 200) -> None:
        self.requests: list[ExportMetricsServiceRequest] = []
        self.status = status
        taken = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.path == "/v1/metrics"
                assert self.headers["Content-Type"] == "application/x-protobuf"
                taken.requests.append(ExportMetricsServiceRequest.FromString(body))
                self.send_response(taken.status)
                self.end_headers()

            def log_message(self, *said: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}/v1/metrics"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait_for(self, count: int) -> None:
        """Until there are more requests by so many."""
        wanted = len(self.requests) + count
        wait_until(lambda: len(self.requests) >= wanted, "the collector gets no metrics")


def metrics_of(request: ExportMetricsServiceRequest) -> dict[str, Metric]:
    """By name."""
    [resource] = request.resource_metrics
    [scope] = resource.scope_metrics
    return {metric.name: metric for metric in scope.metrics}


def resource_of(request: ExportMetricsServiceRequest) -> dict[str, str]:
    """Who has sent it."""
    [resource] = request.resource_metrics
    return {each.key: each.value.string_value for each in resource.resource.attributes}


def points_of(metric: Metric) -> list[NumberDataPoint]:
    """Of a sum or a gauge."""
    return list((metric.sum if metric.HasField("sum") else metric.gauge).data_points)


def labels_of(point: NumberDataPoint) -> dict[str, str]:
    """The attributes of a point."""
    return {each.key: each.value.string_value for each in point.attributes}


def total(metric: Metric) -> float:
    """Over all points."""
    return sum(
        point.as_int if point.HasField("as_int") else point.as_double for point in points_of(metric)
    )
