"""Metrics that are sent to a collector of OpenTelemetry."""

from __future__ import annotations

import logging
import re
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.exporter.otlp.proto.http import metric_exporter
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from opentelemetry.sdk.resources import Resource

from headrace.common import Configuration, Types
from headrace.common.configuration import effective_configuration
from headrace.control import otel_reporter
from headrace.control.otel_reporter import OtelReporter, OtelSettings, otel_settings
from headrace.control.registry import JobRegistry
from headrace.control.views.models import MetricKind
from headrace.control.views.opentelemetry import OtelData
from headrace.control.views.reader import JobViews
from headrace.control.views.samples import Sample, job_samples
from headrace.datastream import MapFunction, StreamExecutionEnvironment
from headrace.errors import ConfigurationError, EnvironmentSetupError
from job_files import environment, run_three_stages, three_stages
from otel_collector import Collector, labels_of, metrics_of, points_of, resource_of, total
from patience import wait_until
from ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FACTORY = "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory"
TASK, STEP = "flink.taskmanager.job.task.", "flink.taskmanager.job.task.operator."


def options(endpoint: str, **more: str) -> dict[str, Any]:
    named = {"factory__class": FACTORY, "exporter__endpoint": endpoint, **more}
    return {f"metrics__reporter__otel__{key}": value for key, value in named.items()}


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    names = (otel_reporter.__name__, "opentelemetry")
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= logging.WARNING and record.name.startswith(names)
    ]


# --- what arrives --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Collector, JobViews, str]:
    """What a collector has of a job that was shorter than an interval."""
    named = {"service__name": "orders", "service__version": "7"}
    with Collector() as collector:
        settings = options(collector.endpoint, interval="1 h", **named)
        views, job_id = run_three_stages(tmp_path_factory.mktemp("job"), **settings)
    return collector, views, job_id


def test_the_last_numbers_are_sent_when_the_job_has_ended(
    ended: tuple[Collector, JobViews, str],
) -> None:
    [request] = ended[0].requests
    found = metrics_of(request)
    assert total(found[f"{TASK}numRecordsIn"]) == 6000
    assert total(found["flink.jobmanager.job.numRestarts"]) == 0
    assert resource_of(request)["service.name"] == "orders"
    assert resource_of(request)["service.version"] == "7"


def test_counters_are_sums_and_anything_else_is_a_gauge(
    ended: tuple[Collector, JobViews, str],
) -> None:
    found = metrics_of(ended[0].requests[-1])
    counted = found[f"{STEP}numRecordsIn"].sum
    assert counted.is_monotonic
    assert counted.aggregation_temporality == (
        AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    )
    point = counted.data_points[0]
    assert 0 < point.start_time_unix_nano < point.time_unix_nano
    mine = found[f"{STEP}mine.seen"].sum
    assert not mine.is_monotonic  # a user may count down
    assert sum(each.as_int for each in mine.data_points) == 3000
    gauges = ("mine.last", "mine.marks", "currentInputWatermark", "numRecordsInPerSecond")
    assert all(found[STEP + name].HasField("gauge") for name in gauges)
    assert total(found[f"{TASK}isBackPressured"]) in range(9)


def test_a_distribution_is_a_count_and_gauges(ended: tuple[Collector, JobViews, str]) -> None:
    found = metrics_of(ended[0].requests[-1])
    sizes = {each: found[f"{STEP}mine.sizes.{each}"] for each in ("count", "min", "max", "mean")}
    assert sizes["count"].sum.is_monotonic
    assert total(sizes["count"]) == 3000
    assert max(point.as_int for point in points_of(sizes["max"])) == 9
    assert all(sizes[each].HasField("gauge") for each in ("min", "max", "mean"))


def test_a_point_has_the_attributes_of_its_scope(ended: tuple[Collector, JobViews, str]) -> None:
    collector, _, job_id = ended
    found = metrics_of(collector.requests[-1])
    [job] = points_of(found["flink.jobmanager.job.uptime"])
    assert labels_of(job) == {"job_id": job_id, "job_name": "three stages"}
    steps = [labels_of(point) for point in points_of(found[f"{STEP}mine.seen"])]
    assert {each["operator_name"] for each in steps} == {"slow"}
    assert {each["subtask_index"] for each in steps} == {"0", "1"}
    assert set(steps[0]) == {
        "job_id", "job_name", "task_id", "task_name", "subtask_index", "host",
        "operator_id", "operator_name",
    }  # fmt: skip


def test_prometheus_and_opentelemetry_tell_the_same(ended: tuple[Collector, JobViews, str]) -> None:
    from prometheus_client import generate_latest

    from headrace.control.views.prometheus import registry_of

    collector, views, job_id = ended
    lines = generate_latest(registry_of(views, job_id)).decode().splitlines()
    told = {re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")}
    sent = metrics_of(collector.requests[-1])
    assert {re.sub(r"[^a-zA-Z0-9_:]", "_", name) for name in sent} == told


def test_a_running_job_sends_at_every_interval(tmp_path: Path) -> None:
    with Collector() as collector:
        settings = options(collector.endpoint, interval="50 ms")
        env = StreamExecutionEnvironment.get_execution_environment(
            environment(tmp_path, **settings)
        )
        three_stages(env, 1_000_000, 0.0005)
        client = env.execute_async("sent")
        try:
            collector.wait_for(3)
        finally:
            client.cancel().result()
        # whoever could send more has ended with the job
        assert "headrace-otel-otel" not in {thread.name for thread in threading.enumerate()}
    jobs = [
        points_of(metrics_of(each)["flink.jobmanager.job.uptime"]) for each in collector.requests
    ]
    times = [point.time_unix_nano for [point] in jobs]
    assert times == sorted(set(times))


class _NamesLikeOurs(MapFunction):
    def open(self, runtime_context: Any) -> None:
        runtime_context.get_metrics_group().gauge("numRecordsIn", lambda: 5)

    def map(self, value: Any) -> Any:
        return value


def test_the_kind_of_a_name_is_that_of_the_value_that_won(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(environment(tmp_path))
    stream = env.from_collection([1, 2, 3], Types.LONG()).map(_NamesLikeOurs(), Types.LONG())
    stream.name("mine").add_sink(lambda n: None)
    env.execute("named")
    views = JobViews(JobRegistry(tmp_path / "jobs"))
    found = [
        (sample.value, sample.kind)
        for sample in job_samples(views, views.overview()[0].job_id)
        if sample.name == f"{STEP}numRecordsIn" and sample.labels["operator_name"] == "mine"
    ]
    assert set(found) == {(5, MetricKind.GAUGE)}


# --- the data ------------------------------------------------------------------------------------


def values(data: OtelData, *samples: Sample) -> list[float]:
    [resource] = data.of(samples).resource_metrics
    metrics = resource.scope_metrics[0].metrics
    return [point.value for metric in metrics for point in metric.data.data_points]  # type: ignore[union-attr]


def test_a_count_never_falls_though_a_failure_undoes_an_epoch() -> None:
    data = OtelData(Resource({}))
    one, other = {"subtask_index": "0"}, {"subtask_index": "1"}
    for counted, told in ((10, 10), (7, 10), (12, 12)):
        assert values(data, Sample("n", one, counted, MetricKind.COUNT)) == [told]
    assert values(data, Sample("n", other, 1, MetricKind.COUNT)) == [1]
    for kind in (MetricKind.TALLY, MetricKind.GAUGE):
        assert values(data, Sample("n", one, 7, kind), Sample("n", one, 3, kind)) == [7, 3]


def test_numbers_fit_into_what_is_sent() -> None:
    found = values(OtelData(Resource({})), Sample("a", {}, True), Sample("b", {}, 1 << 70))
    assert [(type(each), each) for each in found] == [(int, 1), (float, 2.0**70)]


# --- collectors that do not answer ---------------------------------------------------------------


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often reporters have read what there is to send."""
    read: list[str] = []

    def counted(views: JobViews, job_id: str) -> Iterator[Sample]:
        read.append(job_id)
        return iter(job_samples(views, job_id))

    monkeypatch.setattr(otel_reporter, "job_samples", counted)
    return lambda: len(read)


def reporter(views: JobViews, job_id: str, endpoint: str) -> OtelReporter:
    settings = OtelSettings("otel", endpoint, interval_s=0.02, timeout_s=0.5, attributes={})
    return OtelReporter(settings, views.registry, job_id)


def test_a_collector_that_is_away_is_told_once_and_found_again(
    ended: tuple[Collector, JobViews, str],
    caplog: pytest.LogCaptureFixture,
    rounds: Callable[[], int],
) -> None:
    _, views, job_id = ended
    port = free_port()
    mine = reporter(views, job_id, f"http://me:s3cret@127.0.0.1:{port}/v1/metrics")
    with caplog.at_level(logging.INFO):
        mine.start()
        warning = wait_for_warning(caplog)
        wait_until(lambda: rounds() > 10)
        with Collector(port) as collector:
            collector.wait_for(2)
            mine.close()
    assert warnings_of(caplog) == [warning]
    assert warning.startswith(f"the metrics of job {job_id} do not reach http://******")
    assert "s3cret" not in warning
    assert any("sent again" in record.getMessage() for record in caplog.records)


def test_an_answer_that_is_an_error_is_told_with_its_reason(
    ended: tuple[Collector, JobViews, str], caplog: pytest.LogCaptureFixture
) -> None:
    _, views, job_id = ended
    with Collector(status=404) as collector:
        mine = reporter(views, job_id, collector.endpoint)
        mine.start()
        collector.wait_for(3)
        mine.close()
    [warning] = warnings_of(caplog)
    assert "code: 404, reason: Not Found" in warning


def test_what_goes_wrong_while_reading_is_told_once(
    ended: tuple[Collector, JobViews, str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collector, views, job_id = ended
    mine = reporter(views, job_id, collector.endpoint)
    tried: list[str] = []

    def no_samples(views: JobViews, job_id: str) -> None:
        tried.append(job_id)
        raise ZeroDivisionError

    monkeypatch.setattr(otel_reporter, "job_samples", no_samples)
    mine.start()
    wait_until(lambda: len(tried) > 3)
    mine.close()
    [warning] = warnings_of(caplog)
    assert "ZeroDivisionError" in warning


def test_logs_of_other_exporters_pass(
    ended: tuple[Collector, JobViews, str], caplog: pytest.LogCaptureFixture
) -> None:
    _, views, job_id = ended
    logger = logging.getLogger(metric_exporter.__name__)
    with Collector() as collector:
        mine = reporter(views, job_id, collector.endpoint)
        mine.start()
        collector.wait_for(1)
        logger.warning("of the program's own")
        mine.close()
    assert warnings_of(caplog) == ["of the program's own"]
    assert not logger.filters


def wait_for_warning(caplog: pytest.LogCaptureFixture) -> str:
    [warning] = wait_until(lambda: warnings_of(caplog), "nothing is told")
    return warning


@pytest.mark.parametrize("interval", ["20 ms", "1 h"])
def test_a_job_ends_though_its_collector_is_away(
    interval: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = options(f"http://127.0.0.1:{free_port()}/v1/metrics", interval=interval)
    views, job_id = run_three_stages(tmp_path, records=1000, **settings)
    assert views.job(job_id).overview.state == "FINISHED"
    assert "Connection refused" in wait_for_warning(caplog)


def test_nobody_waits_while_a_collector_that_is_away_is_tried_again(
    ended: tuple[Collector, JobViews, str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    rounds: Callable[[], int],
) -> None:
    _, views, job_id = ended
    # so long would it wait for the last numbers, and for the exporter's own attempts
    monkeypatch.setattr(otel_reporter, "_LAST_S", 600.0)
    monkeypatch.setattr(otel_reporter, "_LAST_WORD_S", 600.0)
    endpoint = f"http://127.0.0.1:{free_port()}/v1/metrics"
    settings = OtelSettings("otel", endpoint, interval_s=0.01, timeout_s=600, attributes={})
    mine = OtelReporter(settings, views.registry, job_id)
    mine.start()
    wait_until(lambda: rounds() > 0)
    wait_until(mine._in_trouble)
    began = time.monotonic()
    mine.close()
    assert time.monotonic() - began < 300
    assert "Connection refused" in wait_for_warning(caplog)


def test_the_end_of_a_job_does_not_wait_long_for_a_collector_that_hangs(
    ended: tuple[Collector, JobViews, str],
) -> None:
    _, views, job_id = ended
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts, and never answers
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/metrics"
        settings = OtelSettings("otel", endpoint, interval_s=6000, timeout_s=600, attributes={})
        mine = OtelReporter(settings, views.registry, job_id)
        mine.start()
        began = time.monotonic()
        mine.close()
        # it gives up before the collector's own limit; a busy machine may take its time
        assert time.monotonic() - began < 300


# --- options -------------------------------------------------------------------------------------


def read(**settings: str) -> Configuration:
    named = {key.replace("__", "."): value for key, value in settings.items()}
    return effective_configuration(Configuration.from_dict(dict(named)), environment={})


def test_settings_have_flinks_defaults() -> None:
    [found] = otel_settings(read(**options("https://host/v1/metrics")))
    assert found == OtelSettings("otel", "https://host/v1/metrics", 10.0, 10.0, {})


def test_variables_name_reporters_too() -> None:
    found = effective_configuration(
        environment={
            "HEADRACE_METRICS_REPORTER_OTEL_FACTORY_CLASS": FACTORY,
            "HEADRACE_METRICS_REPORTER_OTEL_EXPORTER_ENDPOINT": "http://host:4318/v1/metrics",
        }
    )
    assert [each.name for each in otel_settings(found)] == ["otel"]


@pytest.mark.parametrize("endpoint", [None, "", "host:4318", "ftp://host/", "http:///v1"])
def test_a_reporter_without_an_address_is_refused(endpoint: str | None, tmp_path: Path) -> None:
    settings = options(endpoint or "")
    if endpoint is None:
        del settings["metrics__reporter__otel__exporter__endpoint"]
    env = StreamExecutionEnvironment.get_execution_environment(environment(tmp_path, **settings))
    three_stages(env, 10, 0.0)
    with pytest.raises(ConfigurationError, match="needs the address of a collector") as caught:
        env.execute("unsent")
    assert caught.value.where == "metrics.reporter.otel.exporter.endpoint"
    assert JobRegistry(tmp_path / "jobs").all() == []


def test_only_http_is_spoken() -> None:
    assert otel_settings(read(**options("http://host/", exporter__protocol="http")))
    with pytest.raises(ConfigurationError, match=r"otel\.exporter\.protocol cannot be set") as no:
        read(**options("http://host/", exporter__protocol="gRPC"))
    assert "set it to HTTP" in str(no.value.fix)


def test_a_value_that_cannot_be_read_names_the_users_key() -> None:
    with pytest.raises(ConfigurationError, match=r"option metrics\.reporter\.otel\.interval is"):
        read(**options("http://host/", interval="soon"))


def test_a_missing_extra_prints_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    settings = options("http://127.0.0.1:4318/v1/metrics")
    env = StreamExecutionEnvironment.get_execution_environment(environment(tmp_path, **settings))
    three_stages(env, 10, 0.0)
    with pytest.raises(EnvironmentSetupError, match="needs opentelemetry-sdk") as caught:
        env.execute("unsent")
    assert "pip install 'headrace[otel]'" in str(caught.value.fix)
    assert JobRegistry(tmp_path / "jobs").all() == []


def test_a_reporter_to_others_has_no_effect_and_the_log_says_what_there_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    datadog = "org.apache.flink.metrics.datadog.DatadogHttpReporterFactory"
    prometheus = "org.apache.flink.metrics.prometheus.PrometheusReporterFactory"
    with caplog.at_level(logging.INFO, logger=otel_reporter.__name__):
        views, job_id = run_three_stages(
            tmp_path,
            records=10,
            metrics__reporter__dd__factory__class=datadog,
            metrics__reporter__dd__apikey="s3cret",
            metrics__reporter__prom__factory__class=prometheus,
        )
    assert views.job(job_id).overview.state == "FINISHED"
    [told] = [each for each in caplog.records if each.name == otel_reporter.__name__]
    assert told.levelno == logging.INFO
    assert told.getMessage().startswith(f"reporter dd has no effect: there is no {datadog}; there")
    assert "prom.port" in told.getMessage()
    assert "OpenTelemetryMetricReporterFactory" in told.getMessage()


def test_a_list_of_reporters_leaves_the_others_out(tmp_path: Path) -> None:
    with Collector() as collector:
        settings = {
            **options(collector.endpoint),
            **{key.replace("otel", "two"): each for key, each in options("nowhere").items()},
            "metrics__reporter__prom__port": "0",
            "metrics__reporters": "three, otel",
        }
        views, job_id = run_three_stages(tmp_path, records=10, **settings)
    assert len(collector.requests) == 1
    assert "prometheus" not in views.record(job_id).web


def test_a_job_without_the_option_does_not_import_opentelemetry(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from job_files import run_three_stages
run_three_stages(Path({str(tmp_path)!r}), records=10)
import headrace.rest.app, headrace.dispatcher.dispatcher
print(sorted(name for name in sys.modules if name.startswith("opentelemetry.") and
             name.split(".")[1] in ("sdk", "exporter", "proto")))
"""
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert answer.stdout.strip().splitlines()[-1:] == ["[]"], answer.stderr
