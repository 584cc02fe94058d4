"""Logs of executors: files of the driver where it runs the tasks, else links to Spark's pages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rest_fakes import ENDED, JOB, FakeViews

if TYPE_CHECKING:
    from pathlib import Path

    from rest_serving import Serving

SPARKS, DRIVER = f"/taskmanagers/{JOB[:12]}-0", f"/taskmanagers/{JOB[:12]}-driver"
STDERR = "http://127.0.0.1:8081/logPage?logType=stderr"
STDOUT = STDERR.replace("stderr", "stdout")


def _serve(rest: Serving, log: Path | None, links: dict[str, str]) -> None:
    """One executor of Spark's with links, and one that is the driver with a log."""
    views = rest.dispatcher.views
    (one,) = FakeViews.executors(views)
    found = (replace(one, logs=links), replace(one, id="driver", logs={}))
    job = replace(views.job(JOB), log=None if log is None else str(log))
    views.executors = lambda job_id=None: found  # type: ignore[method-assign]
    views.job = lambda job_id: job  # type: ignore[method-assign]


@pytest.fixture
def log(acting: Serving, tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text("the job began\n")
    (tmp_path / "secret.log").write_text("not for you")
    _serve(acting, path, {"stdout": STDOUT, "stderr": STDERR})
    return path


def test_the_log_of_the_driver_is_that_of_its_executor(acting: Serving, log: Path) -> None:
    (entry,) = acting.get(f"{DRIVER}/logs").json()["logs"]
    assert (entry["name"], entry["size"], "url" in entry) == ("job.log", 14, False)
    for path in ("logs/job.log", "log", "stdout"):
        assert acting.get(f"{DRIVER}/{path}").text == "the job began\n"
    url = acting.get(f"/jobs/{JOB}{DRIVER}/log-url").json()["url"]
    assert acting.get(url).text == "the job began\n"


@pytest.mark.parametrize(
    "name",
    ["secret.log", "..%2Fsecret.log", "%2e%2e%2fsecret.log", ".%2Fjob.log", "%2Fetc%2Fpasswd"],
)
@pytest.mark.usefixtures("log")
def test_only_a_listed_log_is_given_out(acting: Serving, name: str) -> None:
    assert acting.get(f"{DRIVER}/logs/{name}").status_code == 404


@pytest.mark.parametrize(
    ("path", "url"),
    [("log", STDERR), ("stdout", STDOUT), ("logs/stdout", STDOUT), ("logs/stderr", STDERR)],
)
@pytest.mark.usefixtures("log")
def test_the_logs_of_sparks_executors_are_links(acting: Serving, path: str, url: str) -> None:
    answer = acting.get(f"{SPARKS}/{path}")
    assert (answer.status_code, answer.headers["Location"]) == (303, url)
    assert acting.get(f"/jobs/{JOB}{SPARKS}/log-url").json() == {"url": STDERR}


def test_an_executor_without_a_log_says_so(acting: Serving) -> None:
    _serve(acting, None, {"stdout": "javascript:alert(1)"})
    for executor in (SPARKS, DRIVER):
        assert acting.get(f"{executor}/logs").json() == {"logs": []}
        for path in ("log", "stdout", "logs/stdout"):
            answer = acting.get(f"{executor}/{path}")
            assert (answer.status_code, len(answer.json()["errors"])) == (404, 1)
        assert acting.get(f"/jobs/{JOB}{executor}/log-url").status_code == 404
    assert acting.get(f"/jobs/{ENDED}{DRIVER}/log-url").status_code == 404
