"""Buttons ask, act, and show what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dashboard_server import Refused

if TYPE_CHECKING:
    from pathlib import Path

    from browser import Page
    from dashboard_server import DashboardServer

JOB = "1" * 32


def _changes(server: DashboardServer) -> list[str]:
    return [asked for asked in server.cluster.requests if not asked.startswith("GET")]


def _bodies(server: DashboardServer) -> dict[str, Any]:
    return dict(server.cluster.bodies)


def _open(page: Page, button: str) -> None:
    page.open(f"jobs/{JOB}")
    page.click(button)
    page.find("dialog[open]")


@pytest.mark.parametrize("button", ["Savepoint", "Checkpoint", "Rescale", "Stop", "Cancel"])
def test_a_button_asks_before_it_acts(page: Page, server: DashboardServer, button: str) -> None:
    _open(page, button)
    assert "orders: enrich, score and aggregate?" in page.text("dialog")
    page.click("Back")
    page.wait(lambda: not page.all("dialog"))
    assert _changes(server) == []
    assert page.run("return document.activeElement.innerText") == button


def test_escape_closes_the_question(page: Page, server: DashboardServer) -> None:
    from selenium.webdriver import ActionChains, Keys

    _open(page, "Cancel")
    ActionChains(page.browser).send_keys(Keys.ESCAPE).perform()
    page.wait(lambda: not page.all("dialog"))
    assert _changes(server) == []


def test_a_savepoint_is_taken_where_it_was_asked_for(page: Page, server: DashboardServer) -> None:
    _open(page, "Savepoint")
    page.find("dialog input[name=target]").send_keys("/backup/friday")
    page.click("Take savepoint")
    page.wait_for("The savepoint is at /backup/friday/savepoint-111111-", within="dialog")
    assert _bodies(server)[f"POST /jobs/{JOB}/savepoints"] == {
        "target-directory": "/backup/friday",
        "cancel-job": False,
    }
    page.click("Close")
    assert "RUNNING" in page.text()


def test_a_savepoint_that_fails_says_why_and_can_be_tried_again(
    page: Page, server: DashboardServer
) -> None:
    path = f"POST /jobs/{JOB}/savepoints"
    server.cluster.refuse[path] = Refused(
        409, "a savepoint is being taken", where="job orders", fix="wait for it"
    )
    _open(page, "Savepoint")
    page.click("Take savepoint")
    page.wait_for("a savepoint is being taken", "job orders", "wait for it", within="dialog")
    page.click("Try again")
    page.wait_for("The savepoint is at", within="dialog")


def test_an_operation_that_fails_later_says_why(page: Page, server: DashboardServer) -> None:
    server.cluster.begin = lambda _: _failing(server)  # type: ignore[method-assign, assignment]
    _open(page, "Savepoint")
    page.click("Take savepoint")
    page.wait_for("the disk is full", "free some space", within="dialog")


def _failing(server: DashboardServer, word: str = "failure-cause") -> dict[str, str]:
    cause = {"class": "OSError"}
    told = {"message": "the disk is full", "fix": "free some space", word: cause}
    server.cluster.operations["f" * 32] = (0.0, lambda: told)
    return {"request-id": "f" * 32}


def test_a_checkpoint_is_made_now_and_its_number_shown(page: Page, server: DashboardServer) -> None:
    _open(page, "Checkpoint")
    page.click("Make checkpoint")
    number = server.cluster.job(JOB).checkpoints()["history"][0]["id"]
    page.wait_for(f"Checkpoint {number} is made.", within="dialog")
    assert _bodies(server)[f"POST /jobs/{JOB}/checkpoints"] == {}
    page.click("Close")
    assert "RUNNING" in page.text()


def test_a_checkpoint_that_fails_says_why(page: Page, server: DashboardServer) -> None:
    server.cluster.begin = lambda _: _failing(server, "failureCause")  # type: ignore[method-assign, assignment]
    _open(page, "Checkpoint")
    page.click("Make checkpoint")
    page.wait_for("the disk is full", "free some space", within="dialog")


def test_who_closes_the_dialog_hears_of_the_end(page: Page, server: DashboardServer) -> None:
    server.cluster.operation_s = 1.0
    _open(page, "Savepoint")
    page.click("Take savepoint")
    page.click("Close, it goes on")
    page.wait_for("The savepoint is at", within="#notices")
    page.click("Dismiss")
    page.wait(lambda: page.text("#notices") == "")


def test_stop_takes_a_savepoint_and_the_page_shows_the_end(
    page: Page, server: DashboardServer
) -> None:
    _open(page, "Stop")
    page.find("dialog input[name=drain]").click()
    page.click("Stop job")
    page.wait_for("Stopped. The savepoint is at", within="dialog")
    body = _bodies(server)[f"POST /jobs/{JOB}/stop"]
    assert body == {"targetDirectory": None, "drain": True, "savepoint": True}
    page.click("Close")
    page.wait_for("FINISHED")


def test_cancel_ends_the_job(page: Page, server: DashboardServer) -> None:
    _open(page, "Cancel")
    page.click("Cancel job")
    page.wait_for("is being canceled", within="dialog")
    page.click("Close")
    page.wait_for("CANCELED")
    assert _changes(server) == [f"PATCH /jobs/{JOB}"]


def test_rescale_proposes_and_leads_to_the_job_that_goes_on(
    page: Page, server: DashboardServer
) -> None:
    _open(page, "Rescale")
    page.wait_for("parallelism 4", "Proposed: 8", within="dialog")
    box = page.find("dialog input[name=parallelism]")
    assert box.get_attribute("value") == "8"
    box.clear()
    box.send_keys("0")
    page.click("Rescale job")
    assert _changes(server) == [], "0 is refused by the form"
    box.clear()
    box.send_keys("6")
    page.click("Rescale job")
    page.wait_for("with parallelism 6", within="dialog")
    page.find("dialog a").click()
    page.wait(lambda: "PARALLELISM\n6" in page.text(".facts").upper())


def test_buttons_that_the_server_does_not_offer_are_not_there(
    page: Page, server: DashboardServer
) -> None:
    server.cluster.config["features"] |= {"web-cancel": False, "web-submit": False}
    page.open(f"jobs/{JOB}")
    assert page.button("Stop").is_displayed()
    assert "Cancel" not in page.text(".job-buttons")
    assert "Submit" not in page.text("nav.nav")


def test_a_program_is_uploaded_run_and_deleted(
    page: Page, server: DashboardServer, tmp_path: Path
) -> None:
    program = tmp_path / "words & <b>counts.py"
    program.write_text("print('hello')\n")
    page.open("submit")
    page.find("input[type=file]").send_keys(str(program))
    page.wait_for("words & <b>counts.py")
    page.click("Run")
    page.find("dialog input[name=args]").send_keys("--input 'my files' -n 3")
    page.find("dialog input[name=parallelism]").send_keys("2")
    page.click("Run program")
    page.wait_for("It runs as", within="dialog")
    (body,) = [body for asked, body in server.cluster.bodies if asked.endswith("/run")]
    assert body["programArgsList"] == ["--input", "my files", "-n", "3"]
    assert body["parallelism"] == 2
    page.find("dialog a").click()
    page.wait_for("words & <b>counts", "RUNNING")
    page.open("submit")
    page.click("Delete")
    page.click("Delete program")
    page.wait_for("The program was deleted.", within="dialog")
    assert server.cluster.programs == {}


def test_an_upload_that_is_refused_says_why(
    page: Page, server: DashboardServer, tmp_path: Path
) -> None:
    server.cluster.refuse["POST /jars/upload"] = Refused(413, "the program is too large")
    program = tmp_path / "large.zip"
    program.write_text("x")
    page.open("submit")
    page.find("input[type=file]").send_keys(str(program))
    page.wait_for("the program is too large")
