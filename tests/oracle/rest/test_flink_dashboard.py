"""Flink's own dashboard over our REST API: every page, without an error or a call that fails."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from answering_driver import answering_driver
from browser import Page, chromium  # noqa: F401 - a fixture
from headrace.control.registry import JobRegistry
from headrace.rest.flame_graphs import FlameGraphSettings
from headrace.rest.settings import RestSettings
from oracle.rest.flink_dashboard import FlinkDashboard
from oracle.session import missing_reason
from rest_fakes import ENDED, JOB, WINDOW, FakeDispatcher, FakeViews
from rest_serving import serving
from skips import give_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selenium.webdriver.chrome.webdriver import WebDriver

    from headrace.common.opaque import JsonObject

pytestmark = pytest.mark.slow  # a minute of pages
EXECUTOR = f"{JOB[:12]}-0"
VERTEX = f"job/running/{JOB}/overview/{WINDOW}"
# Refused, and told so on their pages: logs of an executor that writes no file.
REFUSED = re.compile(rf"404 /taskmanagers/{EXECUTOR}/(log|stdout)")
THREADS = {"threadName": "Executor task launch worker", "stringifiedThreadInfo": "at run()"}
SAMPLES = [{"stack": ["orders.score:58", "orders.features:31"], "on": 3, "off": 1}]
# What a page shows when its calls were answered.
PAGES = {
    "overview": "Available Task Slots",
    "application/running": "orders",
    "application/completed": "broken",
    f"application/running/{JOB}/overview": "orders",
    f"application/running/{JOB}/exceptions": "Root Exception",
    f"application/completed/{ENDED}/exceptions": "Traceback",
    "job/running": "orders",
    "job/completed": "broken",
    f"job/running/{JOB}/overview": "Source: orders",
    f"{VERTEX}/detail": "window",
    f"{VERTEX}/subtasks": "localhost:38241",
    f"{VERTEX}/taskmanagers": "localhost:38241",
    f"{VERTEX}/watermarks": "Datetime of Watermark",
    f"{VERTEX}/accumulators": "Vertex Accumulators",
    f"{VERTEX}/backpressure": "OK",
    f"{VERTEX}/metrics": "window",
    f"{VERTEX}/flamegraph": "Flame Graph",
    f"job/running/{JOB}/exceptions": "Exception History",
    f"job/running/{JOB}/dataskew": "window",
    f"job/running/{JOB}/timeline": "Vertex TimeLine",
    f"job/running/{JOB}/checkpoints": "Latest Completed Checkpoint",
    f"job/running/{JOB}/configuration": "Execution Configuration",
    f"job/completed/{ENDED}/exceptions": "Traceback",
    "task-manager": "localhost:38241",
    f"task-manager/{EXECUTOR}/metrics": "Flink Memory Model",
    f"task-manager/{EXECUTOR}/logs": "",
    f"task-manager/{EXECUTOR}/stdout": "",
    f"task-manager/{EXECUTOR}/log-list": "stdout",
    f"task-manager/{EXECUTOR}/thread-dump": "at run()",
    "job-manager/metrics": "Metrics",
    "job-manager/config": "spark.authenticate.secret",
    "job-manager/logs": "dispatcher-started",
    "job-manager/stdout": "dispatcher-started",
    "job-manager/log": "dispatcher.log",
    # which thread comes first is left open, and the editor holds only lines that are in sight
    "job-manager/thread-dump": '" Id=',
    "submit": "Add New",
}


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlinkDashboard]:
    reason = missing_reason()
    if reason is not None:
        give_up(reason)
    folder = tmp_path_factory.mktemp("cluster")
    own_log = logging.FileHandler(folder / "dispatcher.log")
    own_log.emit(logging.LogRecord("", 0, "", 0, "dispatcher-started", None, None))
    logging.getLogger().handlers.insert(0, own_log)  # before pytest's own, which is a file, too
    dispatcher = FakeDispatcher(FakeViews(), folder)
    dispatcher.registry = JobRegistry(folder / "jobs")
    answers: dict[str, Callable[[JsonObject], JsonObject]] = {
        "threads": lambda _: {"threadInfos": [THREADS]},
        "samples": lambda _: {"samples": SAMPLES},
    }
    flame_graphs = FlameGraphSettings(enabled=True)
    try:
        with (
            # parts of a page that are loaded late get what they show with the next look
            answering_driver(dispatcher.registry, JOB, answers),
            serving(
                dispatcher, RestSettings(port=0, refresh_ms=1000, flame_graphs=flame_graphs)
            ) as rest,
            FlinkDashboard(rest.server.port) as found,
        ):
            yield found
    finally:
        logging.getLogger().removeHandler(own_log)
        own_log.close()


@pytest.fixture
def page(chromium: WebDriver, dashboard: FlinkDashboard) -> Iterator[Page]:  # noqa: F811
    made = Page(chromium, dashboard.url)
    made.complaints()
    made.asked()
    yield made
    chromium.get("about:blank")  # asks nothing more of a server that ends


@pytest.mark.parametrize("place", PAGES)
def test_a_page_opens(page: Page, place: str) -> None:
    page.open(place)
    calls = Calls(page)

    def unanswered() -> str:
        return f"{place}: calls are not answered: {calls.open}"

    page.wait(calls.are_over, unanswered)
    if PAGES[place]:
        page.wait_for(PAGES[place], within="body")
    page.wait(calls.are_over, unanswered)
    assert [call for call in calls.failed if not REFUSED.fullmatch(call)] == []
    assert page.complaints() == []


class Calls:
    """The requests of a page, as the browser logs them."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._began = False
        self.open: dict[str, str] = {}
        self.failed: list[str] = []

    def are_over(self) -> bool:
        """Whether there were some, and all that there were are answered."""
        for entry in self._page.logged("performance"):
            event = json.loads(entry["message"])["message"]
            self._note(event["method"], event["params"])
        return self._began and not self.open

    def _note(self, method: str, told: dict[str, object]) -> None:
        number = str(told.get("requestId"))
        # workers of an editor ask for files of their own, whose end is not told here
        if method == "Network.requestWillBeSent" and told.get("type") in ("XHR", "Fetch"):
            self._began = True
            self.open[number] = urlsplit(told["request"]["url"]).path  # type: ignore[index]
        elif method == "Network.responseReceived" and told["response"]["status"] >= 400:  # type: ignore[index]
            path = urlsplit(told["response"]["url"]).path  # type: ignore[index]
            self.failed.append(f"{told['response']['status']} {path}")  # type: ignore[index]
        elif method == "Network.loadingFailed":
            if not told.get("canceled"):
                self.failed.append(f"{told.get('errorText')} {self.open.get(number)}")
            self.open.pop(number, None)
        elif method == "Network.loadingFinished":
            self.open.pop(number, None)
