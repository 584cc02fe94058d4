"""The OpenAPI document is true: schemathesis finds no answer that it does not allow, and no 500."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from headrace.rest.app import create_app
from headrace.rest.settings import RestSettings
from rest_fakes import CHECKPOINT, JOB, WINDOW, FakeDispatcher, FakeViews

if TYPE_CHECKING:
    from rest_serving import Serving

KNOWN = {
    "jobid": JOB,
    "applicationid": JOB,
    "vertexid": WINDOW,
    "taskmanagerid": f"{JOB[:12]}-0",
    "checkpointid": CHECKPOINT.id,
    "subtaskindex": 1,
    "attempt": 0,
    "text": "orders",
}


def _operations() -> dict[str, schemathesis.APIOperation]:
    with tempfile.TemporaryDirectory() as folder:
        dispatcher = FakeDispatcher(FakeViews(), Path(folder))
        document = create_app(dispatcher, RestSettings(), views=dispatcher.views).openapi()
    schema = schemathesis.openapi.from_dict(document)
    parsed: Any = schema.get_all_operations()
    found = [each.ok() for each in parsed]
    return {operation.label: operation for operation in found if operation.path != "/cluster"}


OPERATIONS = _operations()


@pytest.mark.parametrize("examples", [4, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_is_a_500(rest: Serving, label: str, examples: int) -> None:
    """Once as it was made up, once for things that there are."""

    @given(case=OPERATIONS[label].as_strategy())
    @settings(
        max_examples=examples,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        answers = [case.call(base_url=rest.server.address)]
        if case.path_parameters:
            case.path_parameters |= {n: v for n, v in KNOWN.items() if n in case.path_parameters}
            answers.append(case.call(base_url=rest.server.address))
        for answer in answers:
            assert answer.status_code < 500 or answer.status_code == 501, answer.text
            if answer.status_code >= 400:
                assert answer.json()["errors"], answer.text

    ask()


def test_every_path_of_flinks_is_served_or_refused(rest: Serving) -> None:
    """Those of `rest_v1_dispatcher.yml`, Flink's contract: only its history of rescales is not."""
    served = rest.get("/openapi.json").json()["paths"]
    missing = [path for method, path in FLINKS if method.lower() not in served.get(path, {})]
    assert all("/rescales/" in path for path in missing)
    for path in missing:
        filled = path.replace("{jobid}", JOB).replace("{rescaleuuid}", JOB)
        answer = rest.get(filled, headers={"Accept": "application/json"})
        assert (answer.status_code, answer.json()["kind"]) == (404, "NOT_SERVED")


FLINKS = [
    tuple(line.split(" "))
    for line in """\
GET /applications/overview
GET /applications/{applicationid}
POST /applications/{applicationid}/cancel
GET /applications/{applicationid}/exceptions
GET /applications/{applicationid}/jobmanager/config
DELETE /cluster
GET /config
GET /datasets
GET /datasets/delete/{triggerid}
DELETE /datasets/{datasetid}
GET /jars
POST /jars/upload
DELETE /jars/{jarid}
POST /jars/{jarid}/plan
POST /jars/{jarid}/run
POST /jars/{jarid}/run-application
GET /jobmanager/config
GET /jobmanager/environment
GET /jobmanager/logs
GET /jobmanager/metrics
GET /jobmanager/thread-dump
GET /jobs
GET /jobs/metrics
GET /jobs/overview
GET /jobs/{jobid}
PATCH /jobs/{jobid}
GET /jobs/{jobid}/accumulators
GET /jobs/{jobid}/checkpoints
POST /jobs/{jobid}/checkpoints
GET /jobs/{jobid}/checkpoints/config
GET /jobs/{jobid}/checkpoints/details/{checkpointid}
GET /jobs/{jobid}/checkpoints/details/{checkpointid}/subtasks/{vertexid}
GET /jobs/{jobid}/checkpoints/{triggerid}
PATCH /jobs/{jobid}/clientHeartbeat
GET /jobs/{jobid}/config
GET /jobs/{jobid}/exceptions
GET /jobs/{jobid}/execution-result
GET /jobs/{jobid}/jobmanager/config
GET /jobs/{jobid}/jobmanager/environment
GET /jobs/{jobid}/jobmanager/log-url
GET /jobs/{jobid}/metrics
GET /jobs/{jobid}/plan
GET /jobs/{jobid}/rescales/config
GET /jobs/{jobid}/rescales/details/{rescaleuuid}
GET /jobs/{jobid}/rescales/history
GET /jobs/{jobid}/rescales/overview
GET /jobs/{jobid}/rescales/summary
PATCH /jobs/{jobid}/rescaling
GET /jobs/{jobid}/rescaling/{triggerid}
GET /jobs/{jobid}/resource-requirements
PUT /jobs/{jobid}/resource-requirements
POST /jobs/{jobid}/savepoints
GET /jobs/{jobid}/savepoints/{triggerid}
GET /jobs/{jobid}/status
POST /jobs/{jobid}/stop
GET /jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url
GET /jobs/{jobid}/vertices/{vertexid}
GET /jobs/{jobid}/vertices/{vertexid}/accumulators
GET /jobs/{jobid}/vertices/{vertexid}/backpressure
GET /jobs/{jobid}/vertices/{vertexid}/flamegraph
GET /jobs/{jobid}/vertices/{vertexid}/jm-operator-metrics
GET /jobs/{jobid}/vertices/{vertexid}/metrics
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/accumulators
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/metrics
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/attempts/{attempt}
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/attempts/{attempt}/accumulators
GET /jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/metrics
GET /jobs/{jobid}/vertices/{vertexid}/subtasktimes
GET /jobs/{jobid}/vertices/{vertexid}/taskmanagers
GET /jobs/{jobid}/vertices/{vertexid}/watermarks
GET /overview
POST /savepoint-disposal
GET /savepoint-disposal/{triggerid}
GET /taskmanagers
GET /taskmanagers/metrics
GET /taskmanagers/{taskmanagerid}
GET /taskmanagers/{taskmanagerid}/logs
GET /taskmanagers/{taskmanagerid}/metrics
GET /taskmanagers/{taskmanagerid}/thread-dump
""".splitlines()
]
