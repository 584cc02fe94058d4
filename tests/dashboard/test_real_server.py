"""The dashboard on a real dispatcher: sign in, upload, run, watch, save, stop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from browser import Page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.chrome.webdriver import WebDriver

# The local host: a job without a JVM, so that the test is one of the dashboard and not of Spark.
_PROGRAM = """
import time

from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy


def score(order):
    time.sleep(0.001)
    return order


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
orders = DataGeneratorSource(
    lambda n: (f"shop-{n % 5}", n),
    None,
    RateLimiterStrategy.per_second(200),
    Types.TUPLE([Types.STRING(), Types.LONG()]),
)
stream = env.from_source(orders, None, "orders")
scored = stream.key_by(lambda order: order[0]).map(score).name("score <b>orders</b>").uid("score")
scored.print()
env.execute("shop orders")
"""


class Dispatcher:
    """A process of `headrace cluster start`, and a token for all of it."""

    def __init__(self, folder: Path) -> None:
        self._environment = {**os.environ, "HEADRACE_HOME": str(folder / "home")}
        self._tokens = ("-D", f"headrace.rest.tokens={folder / 'tokens.json'}")
        made = self._run("token", "create", "--name", "test", "--role", "submit", *self._tokens)
        self.token = made["token"]
        settings = {
            "headrace.execution.host": "local",
            "web.refresh-interval": "500",
            "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
        }
        options = [text for key, value in settings.items() for text in ("-D", f"{key}={value}")]
        self.address = self._run("start", "-d", "--port", "0", *self._tokens, *options)["address"]

    def _run(self, *arguments: str) -> Any:
        command = [sys.executable, "-m", "headrace.cli", "cluster", *arguments, "--json"]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout[done.stdout.index("{") :])

    def stop(self) -> None:
        command = [sys.executable, "-m", "headrace.cli", "cluster", "stop", "--stop-jobs"]
        subprocess.run(command, env=self._environment, capture_output=True, check=False, timeout=60)


@pytest.fixture
def dispatcher(tmp_path: Path) -> Iterator[Dispatcher]:
    made = Dispatcher(tmp_path)
    yield made
    made.stop()


def test_a_program_lives_and_ends_in_the_dashboard(
    chromium: WebDriver, dispatcher: Dispatcher, tmp_path: Path
) -> None:
    program = tmp_path / "orders.py"
    program.write_text(_PROGRAM)
    page = Page(chromium, f"{dispatcher.address}/")
    page.complaints()
    page.open()
    page.find("input[name=token]").send_keys(f"{dispatcher.token}\n")
    page.wait_for("No job is running.")

    page.open("submit")
    page.find("input[type=file]").send_keys(str(program))
    page.wait_for("orders.py")
    page.click("Run")
    page.click("Run program")
    page.wait_for("It runs as", within="dialog")
    page.find("dialog a").click()

    page.wait_for("shop orders", "score <b>orders</b>", "Level 1")
    assert page.find(".edge-label").text == "hash"
    page.wait(lambda: any("/s" in card.text for card in page.all("button.card")), "no rate")
    page.all("button.card")[1].click()
    page.wait(lambda: len(page.all("tr.after tbody tr")) == 2, "no subtasks")
    job = page.run("return location.hash.split('/')[2]")
    for tab, text in {
        "pressure": "score <b>orders</b>",
        "metrics": "Records in per second",
        "exceptions": "Nothing has gone wrong.",
        "configuration": "headrace.execution.host",
        "log": "lines",
    }.items():
        page.open(f"jobs/{job}/{tab}")
        page.wait_for(text)
    page.open(f"jobs/{job}/checkpoints")
    page.wait(lambda: page.all("td .badge.good"), "no completed checkpoint")

    page.click("Savepoint")
    page.click("Take savepoint")
    page.wait_for("The savepoint is at", within="dialog")
    page.click("Close")
    page.click("Stop")
    page.click("Stop job")
    page.wait_for("Stopped. The savepoint is at", within="dialog")
    page.click("Close")
    page.wait_for("FINISHED")
    for place, text in {"": "shop orders", "executors": "Executors", "dispatcher": "rest"}.items():
        page.open(place)
        page.wait_for(text)
    assert page.complaints() == []
    page.run("sessionStorage.clear()")
