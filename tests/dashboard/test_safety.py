"""Strangers: names that attack, tokens, a server that goes away; and the two themes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dashboard_jobs import ATTACK, FakeJob, FakeVertex, failure
from dashboard_server import Refused

if TYPE_CHECKING:
    from browser import Page
    from dashboard_server import DashboardServer

JOB = "1" * 32


def test_names_that_attack_stay_text(page: Page, server: DashboardServer) -> None:
    vertices = (
        FakeVertex("a" * 32, ATTACK, 0, "source", call_site=ATTACK),
        FakeVertex("b" * 32, f"sink {ATTACK}", 1, "sink", inputs=(("a" * 32, ATTACK),)),
    )
    job = FakeJob("e" * 32, ATTACK, vertices=vertices)
    job.failures = [failure(message=ATTACK, where=ATTACK, code=ATTACK, taskName=ATTACK)]
    server.cluster.jobs[job.id] = job
    server.cluster.options[ATTACK] = ATTACK
    places = ["", "dispatcher", "dispatcher/log"]
    tabs = (
        "graph",
        "graph/" + "a" * 32,
        "pressure",
        "checkpoints",
        "metrics",
        "exceptions",
        "log",
        "flames",
        "threads",
    )
    places += [f"jobs/{job.id}/{tab}" for tab in tabs]
    for place in places:
        page.open(place)
        page.wait(lambda: page.all("section.panel"))
        page.wait(lambda: "Loading" not in page.text())
        assert page.run("return window.attacked") is None, place
        assert not page.all("main img, main script"), place
    page.open(f"jobs/{job.id}")
    page.wait_for("<img src=x onerror=")
    page.click("Cancel")
    page.wait_for("<script>", within="dialog")
    assert page.run("return window.attacked") is None


def test_an_address_that_attacks_is_not_found(page: Page) -> None:
    page.open("jobs/%3Cimg%20src%3Dx%20onerror%3D%22window.attacked%3D1%22%3E")
    page.wait_for("Not here")
    page.open("jobs/%")
    page.wait_for("Not here")
    page.open("nowhere/at/all")
    page.wait_for("There is no such page.")
    assert page.run("return window.attacked") is None


def test_the_policy_blocks_what_is_inline(page: Page) -> None:
    page.open()
    page.wait_for("orders: enrich")
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.attacked = 1';"
        "document.body.append(s)"
    )
    assert page.run("return window.attacked") is None
    assert any("Content Security Policy" in text for text in page.complaints())


def test_a_long_name_does_not_break_the_page(page: Page, server: DashboardServer) -> None:
    name = "a" * 400
    vertices = (FakeVertex("a" * 32, name, 0, "source"),)
    server.cluster.jobs["e" * 32] = FakeJob("e" * 32, name, vertices=vertices)
    for place in ("", "jobs/" + "e" * 32):
        page.open(place)
        page.wait_for(name)
        assert page.run("return document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_server_with_tokens_asks_for_one(page: Page, server: DashboardServer) -> None:
    server.cluster.token = "correct horse"
    page.open()
    page.wait_for("Sign in", "asks for a token")
    page.find("input[name=token]").send_keys("wrong\n")
    page.wait_for("does not accept this token")
    page.find("input[name=token]").send_keys("correct horse\n")
    page.wait_for("orders: enrich")
    # for this tab only: neither in a cookie nor in the lasting storage
    assert page.run("return document.cookie + JSON.stringify({...localStorage})").find("horse") < 0
    page.click("Sign out")
    page.wait_for("Sign in")
    assert page.run("return sessionStorage.length") == 0


def test_a_token_that_expires_leads_to_the_sign_in(page: Page, server: DashboardServer) -> None:
    page.open(f"jobs/{JOB}")
    page.wait_for("What limits this job")
    server.cluster.token = "new"
    page.wait_for("asks for a token")
    page.find("input[name=token]").send_keys("new\n")
    page.wait_for("What limits this job")
    page.run("sessionStorage.clear()")


def test_what_a_role_may_not_do_is_told(page: Page, server: DashboardServer) -> None:
    server.cluster.refuse[f"PATCH /jobs/{JOB}"] = Refused(
        403, "the token may only read", fix="a token with the role operate"
    )
    page.open(f"jobs/{JOB}")
    page.click("Cancel")
    page.click("Cancel job")
    page.wait_for("may only read", "the role operate", within="dialog")


def test_who_may_only_read_is_offered_nothing_else(page: Page, server: DashboardServer) -> None:
    server.cluster.config["role"] = "read"
    page.open(f"jobs/{JOB}")
    page.wait_for("with a token of the role operate", "has the role read", within=".job-head")
    assert not page.all(".job-buttons button")
    assert "Submit" not in page.text("nav.nav")
    page.open("submit")
    page.wait_for("with a token of the role submit")
    assert not page.all("main input, main button")


def test_who_may_operate_has_the_buttons_of_jobs(page: Page, server: DashboardServer) -> None:
    server.cluster.config["role"] = "operate"
    page.open(f"jobs/{JOB}")
    assert page.button("Cancel").is_displayed()
    assert "Submit" not in page.text("nav.nav")
    server.cluster.config["role"] = "submit"
    page.open("submit")
    page.wait_for("No program was uploaded yet")
    assert "Submit" in page.text("nav.nav")


def test_a_server_that_goes_away_and_comes_back(page: Page, server: DashboardServer) -> None:
    page.open(f"jobs/{JOB}")
    page.wait_for("What limits this job")
    server.stop()
    page.wait_for("does not answer", "what was known last", within="#notices")
    assert "What limits this job" in page.text(), "what was known stays"
    server.start()
    page.click("Try now")
    page.wait(lambda: page.text("#notices") == "")


def test_a_page_that_is_opened_too_early_waits(page: Page, server: DashboardServer) -> None:
    page.open()
    page.wait_for("orders: enrich")
    server.cluster.refuse["GET /config"] = Refused(503, "no leader yet")
    page.browser.refresh()
    page.wait_for("orders: enrich")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_system_decides_the_theme_until_the_user_does(page: Page, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page.open()
    page.wait_for("orders: enrich")
    page.run("localStorage.clear()")
    page.browser.refresh()
    page.wait_for("orders: enrich")

    def brightness() -> int:
        color = str(page.run("return getComputedStyle(document.documentElement).backgroundColor"))
        return sum(int(part) for part in color.removeprefix("rgb(").rstrip(")").split(",")) // 3

    assert (brightness() > 128) == (scheme == "light")
    page.find("#theme").click()
    assert (brightness() > 128) == (scheme == "dark")
    page.browser.refresh()
    page.wait_for("orders: enrich")
    assert (brightness() > 128) == (scheme == "dark"), "the choice lasts"
    page.run("localStorage.clear()")
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_text_can_be_read_in_both_themes(page: Page) -> None:
    """Contrast of 4.5 to 1 for all words, as WCAG asks for (AA)."""
    faint = (Path(__file__).parent / "faint_texts.js").read_text()
    for theme in ("light", "dark"):
        page.open()
        page.run("localStorage.setItem('headrace.theme', arguments[0])", theme)
        for place in ("", f"jobs/{JOB}", "jobs/" + "3" * 32 + "/exceptions"):
            page.open(place)
            page.wait(lambda: page.all("section.panel"))
            assert page.run(faint) == [], f"{theme}: {place or 'overview'}"
    page.run("localStorage.clear()")
