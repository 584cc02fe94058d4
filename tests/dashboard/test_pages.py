"""Each page shows what the answers say, and keeps up with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dashboard_jobs import ORDERS, FakeJob, failure, many_jobs
from dashboard_server import Refused

if TYPE_CHECKING:
    from browser import Page
    from dashboard_server import DashboardServer

ORDERS_JOB = "1" * 32
FRAUD_JOB = "3" * 32


def test_the_overview_shows_jobs_by_what_they_do(page: Page) -> None:
    page.open()
    shown = page.wait_for("orders: enrich", "nightly billing", "currency rates")
    running, rest = shown.split("Queue", 1)
    assert "orders: enrich, score and aggregate" in running
    assert "RESTARTING" in running
    assert rest.index("nightly billing") < rest.index("stock levels") < rest.index("Ended")
    assert "12 of 16" in shown  # slots


def test_a_new_job_appears_without_a_reload(page: Page, server: DashboardServer) -> None:
    page.open()
    page.wait_for("orders: enrich")
    page.run("window.sameDocument = true")
    server.cluster.jobs["9" * 32] = FakeJob("9" * 32, "a newcomer")
    page.wait_for("a newcomer")
    del server.cluster.jobs["9" * 32]
    page.wait(lambda: "a newcomer" not in page.text())
    assert page.run("return window.sameDocument") is True


def test_five_hundred_ended_jobs_are_found_by_name(page: Page, server: DashboardServer) -> None:
    server.cluster.jobs.update({job.id: job for job in many_jobs(500)})
    page.open()
    page.wait_for("1 to 25 of 503")
    page.click("Next")
    page.wait_for("26 to 50 of 503")
    box = page.find("input[type=search]")
    box.send_keys("backfill 49")
    page.wait_for("backfill 499", "backfill 490")
    assert "backfill 048" not in page.text()
    # the page was drawn again meanwhile, and the typing went on in the same box
    assert page.run("return document.activeElement.type") == "search"
    box.send_keys("9")
    page.wait(lambda: "backfill 490" not in page.text())


def test_an_empty_cluster_says_so(page: Page, server: DashboardServer) -> None:
    server.cluster.jobs.clear()
    page.open()
    page.wait_for("No job is running.", "No job has ended yet.")


def test_the_graph_puts_levels_from_left_to_right(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}")
    page.wait_for("What limits this job", "Level 3")
    left = {card.get_attribute("data-vertex"): card.rect["x"] for card in page.all("button.card")}
    assert len(left) == len(ORDERS)
    for vertex in ORDERS:
        assert all(left[source] < left[vertex.id] for source, _ in vertex.inputs)
    cards = page.run(
        "return [...document.querySelectorAll('button.card')]"
        ".map((card) => card.getBoundingClientRect().toJSON())"
    )
    overlaps = [
        (a, b)
        for i, a in enumerate(cards)
        for b in cards[i + 1 :]
        if abs(a["x"] - b["x"]) < a["width"] and abs(a["y"] - b["y"]) < a["height"]
    ]
    assert not overlaps
    assert [label.text for label in page.all(".edge-label")].count("hash") == 4


def test_cards_say_what_runs_where_and_how_busy_it_is(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}")
    page.find("button.card")
    by_vertex = {card.get_attribute("data-vertex"): card.text for card in page.all("button.card")}
    assert "native" in by_vertex[ORDERS[2].id]
    assert "Python" in by_vertex[ORDERS[4].id]
    assert "slowest" in by_vertex[ORDERS[4].id]
    assert "% back-pressured" in by_vertex[ORDERS[0].id]
    assert "k/s out" in by_vertex[ORDERS[0].id]
    assert "lag " in by_vertex[ORDERS[3].id]
    assert "lag " not in by_vertex[ORDERS[1].id], "it has no watermark yet"


def test_figures_move_without_a_reload(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}")
    card = page.find("button.card")
    before = page.text(".table-frame")
    page.wait(lambda: page.text(".table-frame") != before, "the table stands still")
    assert card.is_displayed(), "the card was changed in place, not replaced"


def test_rates_come_from_totals_where_metrics_are_missing(
    page: Page, server: DashboardServer
) -> None:
    job = server.cluster.jobs[ORDERS_JOB]
    job.vertex_metrics = lambda *_: []  # type: ignore[method-assign]
    page.open(f"jobs/{ORDERS_JOB}")
    page.wait(lambda: "k/s out" in page.find("button.card").text, "no rate of growing totals")


def test_answers_of_flink_alone_are_enough(page: Page, server: DashboardServer) -> None:
    """Without headrace's additions: no levels, no diagnosis, no history, no logs of drivers."""
    server.cluster.jobs[ORDERS_JOB].plain = True
    server.cluster.missing = [
        r"GET /jobs/\w+/(diagnosis|rescale|metrics/history|logs|jobmanager/config)"
    ]
    page.open(f"jobs/{ORDERS_JOB}")
    page.find("button.card")
    assert "Level" not in page.text()
    assert len({card.rect["x"] for card in page.all("button.card")}) == 5, "columns by inputs"
    for tab, text in {"metrics": "Busy", "log": "There is no log.", "pressure": "high"}.items():
        page.open(f"jobs/{ORDERS_JOB}/{tab}")
        page.wait_for(text)


def test_the_subtasks_of_a_chosen_vertex_show_skew(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}")
    page.find(f"button.card[data-vertex='{ORDERS[3].id}']").click()
    shown = page.wait_for("2.5 \N{MULTIPLICATION SIGN} mean", within="tr.after")
    assert "executor-1:42010" in shown
    bars = [float(fill.size["width"]) for fill in page.all("tr.after td:nth-child(3) .bar-fill")]
    assert len(bars) == 4
    assert max(bars) == bars[2] > 3 * bars[0]
    page.find(f"button.card[data-vertex='{ORDERS[3].id}']").click()
    page.wait(lambda: not page.all("tr.after"))


def test_back_pressure_names_the_slow_one(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}/pressure")
    shown = page.wait_for(
        "score fraud: at work 98 %", "records wait in front of", "busiest subtask"
    )
    assert "high" in shown
    assert "70 % back-pressured" in shown


def test_epochs_that_are_too_long_are_named_with_what_to_do(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}")
    page.wait_for(
        "Each of the last 5 epochs took at least 4.2 times the interval of 10 s, the newest 2 min",
        "lower source.max-records-per-batch",
    )


def test_checkpoints_have_plots_and_details(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}/checkpoints")
    page.wait_for("Duration, median", "savepoint", "15 of 60")
    lines = page.wait(lambda: page.all("hr-plot path.line"))
    assert all(len(str(line.get_attribute("d"))) > 200 for line in lines)
    label = page.find("hr-plot svg").get_attribute("aria-label")
    assert "from trigger to commit" in str(label)
    page.find("td button[aria-expanded]").click()
    page.wait_for("/data/checkpoints/orders/", within="tr.after")
    page.click("Show all")
    page.wait(lambda: len(page.all("tbody tr")) > 60)


def test_metrics_begin_before_the_page_and_go_on(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}/metrics")
    page.wait_for("Records in per second", "Watermark behind the clock")
    first = page.wait(lambda: page.find("path.line").get_attribute("d"))
    assert str(first).count("L") > 100  # history
    page.wait(lambda: page.find("path.line").get_attribute("d") != first, "the plot stands still")


def test_a_metric_can_be_added_and_removed(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}/metrics")
    box = page.find("input[name=metric]")
    page.wait(lambda: "4 to choose from" in str(box.get_attribute("placeholder")))
    box.send_keys("lastCheckpointDuration")
    page.click("Add plot")
    page.wait_for("job: lastCheckpointDuration")
    page.wait(lambda: len(page.all("hr-plot path.line")) > 20)
    page.click("Remove")
    page.wait(lambda: "job: lastCheckpointDuration" not in page.text())


def test_a_plot_shows_the_values_under_the_pointer(page: Page) -> None:
    from selenium.webdriver import ActionChains

    page.open(f"jobs/{ORDERS_JOB}/checkpoints")
    plot = page.find("hr-plot svg")
    ActionChains(page.browser).move_to_element(plot).perform()
    page.wait(lambda: page.all("line.cursor"))
    assert page.all("circle.dot")


def test_a_failure_is_shown_with_the_users_line(page: Page) -> None:
    page.open(f"jobs/{FRAUD_JOB}/exceptions")
    page.wait_for("ZeroDivisionError", "division by zero", "step", "orders.py:58 .map(score")
    # the line above the code is the code's
    assert page.text(".source").split("\n") == [
        "raised at orders.py:34 in score",
        "return order.total / order.items",
    ]
    assert "Traceback" not in page.text()
    page.find("summary").click()
    page.wait_for("Traceback (most recent call last)")
    # stays open while the page goes on
    seen = len(page.all("details[open]"))
    page.run("window.mark = performance.now()")
    page.wait(lambda: page.run("return performance.now() - window.mark > 900"))
    assert len(page.all("details[open]")) == seen == 1


def test_a_failure_of_flinks_own_kind_is_shown(page: Page, server: DashboardServer) -> None:
    plain = {key: failure()[key] for key in ("exceptionName", "timestamp", "stacktrace")}
    server.cluster.jobs[FRAUD_JOB].failures = [plain]
    page.open(f"jobs/{FRAUD_JOB}/exceptions")
    page.wait_for("ZeroDivisionError", "Stack trace")


def test_a_job_without_failures_says_so(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}/exceptions")
    page.wait_for("Nothing has gone wrong.")


def test_configuration_can_be_searched(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}/configuration")
    page.wait_for("execution.checkpointing.interval", "******", "exponential delay", "bad-lines")
    page.find("input[type=search]").send_keys("kafka")
    page.wait(lambda: "execution.checkpointing.interval" not in page.text())


def test_the_log_of_a_driver_can_be_filtered(page: Page) -> None:
    page.open(f"jobs/{ORDERS_JOB}/log")
    page.wait_for("driver 4711 started", "60 lines")
    assert page.all(".log-line.bad")
    page.find("input[type=search]").send_keys("restart 1")
    page.wait_for("12 of 60 lines")


def test_a_log_opens_at_its_end_and_stays_there_until_somebody_scrolls(
    page: Page, server: DashboardServer
) -> None:
    def to_end() -> float:
        log = "const log = document.querySelector('pre.log'); "
        return float(page.run(log + "return log.scrollHeight - log.clientHeight - log.scrollTop"))

    def grow(line: str) -> None:
        server.cluster.logs["dispatcher.log"] += f"{line}\n"
        page.wait_for(line)

    server.cluster.logs["dispatcher.log"] *= 5
    page.open(f"jobs/{ORDERS_JOB}/log")
    page.wait_for("300 lines")
    assert to_end() < 2
    grow("one line more")
    page.wait(lambda: to_end() < 2, "it does not follow its end")
    page.run("document.querySelector('pre.log').scrollTop = 40")
    grow("and another one")
    assert to_end() > 500
    page.click("To the end")
    page.wait(lambda: to_end() < 2)


def test_executors_show_memory_and_logs(page: Page) -> None:
    page.open("executors")
    page.wait_for("executor-1", "executor-2", "of 4.00 GiB")
    assert page.all(".bar-fill.bad"), "93 % of the memory is in use"
    page.find("td a").click()
    page.wait_for("executor-1", "Status.JVM.CPU.Load")
    page.find("nav.tabs a[href$=log]").click()
    page.wait_for("leads cluster mill")


def test_logs_that_spark_serves_are_links(page: Page, server: DashboardServer) -> None:
    server.cluster.logs.clear()
    server.cluster.links["stderr"] = url = "http://worker.example:8081/logPage/?logType=stderr"
    page.open("executors/executor-1/log")
    page.wait_for("stderr", "at Spark")
    assert page.find("nav[aria-label=Logs] a").get_attribute("href") == url
    assert not any("/logs/" in asked for asked in server.cluster.requests)


def test_the_dispatcher_shows_options_log_and_metrics(page: Page) -> None:
    page.open("dispatcher")
    page.wait_for("cluster.id", "mill", "CPython 3.11.7")
    page.find("nav.tabs a[href$=log]").click()
    page.wait_for("leads cluster mill")
    page.find("nav.tabs a[href$=metrics]").click()
    page.wait_for("Status.JVM.Memory.Heap.Used")


def test_a_job_that_waits_shows_its_place(page: Page) -> None:
    page.open(f"jobs/{'4' * 32}")
    shown = page.wait_for("nightly billing", "position 1", "The plan is not known yet")
    assert "Waiting for" in shown
    assert "Running for" not in shown
    assert page.button("Cancel").is_displayed()
    assert "Savepoint" not in page.text(".job-buttons")


def test_an_ended_job_has_no_buttons(page: Page) -> None:
    page.open(f"jobs/{'6' * 32}")
    page.wait_for("click streams to Parquet", "Ran for")
    assert not page.all(".job-buttons button")


def test_a_job_that_vanished_says_so(page: Page, server: DashboardServer) -> None:
    page.open(f"jobs/{ORDERS_JOB}")
    page.wait_for("What limits this job")
    del server.cluster.jobs[ORDERS_JOB]
    page.wait_for("Not here", "not found", "All jobs")


def test_a_job_that_waits_for_slots_says_so_and_since_when(
    page: Page, server: DashboardServer
) -> None:
    job = server.cluster.jobs[ORDERS_JOB]
    job.waits_for = "slots: 8 needed, 5 there"
    page.open()
    page.wait_for("waits for slots: 8 needed, 5 there, since", "1 min 35 s")
    page.open(f"jobs/{ORDERS_JOB}")
    page.wait_for("waits for slots", "slots: 8 needed, 5 there, since")
    job.waits_for = None
    page.wait(lambda: "slots: 8 needed" not in page.text())


def test_a_flame_graph_by_vertex_and_by_kind_of_thread(page: Page, server: DashboardServer) -> None:
    page.open(f"jobs/{ORDERS_JOB}/flames")
    page.wait_for("90 looks", "orders.score:58")  # of the busiest vertex
    assert page.find("select[aria-label=Vertex]").get_attribute("value") == ORDERS[4].id
    width = {
        str(bar.get_attribute("title")).split(":")[0]: bar.rect["width"]
        for bar in page.all(".flame")
    }
    assert width["root"] == width["headrace.runtime.task.Task.run"]
    assert abs(width["orders.<b>features</b>"] / width["root"] - 40 / 90) < 0.02
    assert "requests.post" not in width  # never seen in this
    page.run("document.querySelector('.flame[title^=\"socket\"]').click()")
    page.wait(lambda: "orders.score:58" not in page.text())
    wide = page.find('.flame[title^="socket"]').rect["width"]
    assert wide == width["root"]
    page.all(".flame")[0].click()
    page.wait_for("orders.score:58")
    page.find("select[aria-label='Of threads'] option[value=on_cpu]").click()
    page.wait_for("60 looks")
    page.find("select[aria-label='Of threads'] option[value=off_cpu]").click()
    page.wait_for("being looked at")
    server.cluster.flame_graphs.clear()
    page.wait_for("rest.flamegraph.enabled")
    page.open(f"jobs/{ORDERS_JOB}/flames/{ORDERS[2].id}")
    page.wait_for("Spark runs this vertex itself")


@pytest.mark.parametrize(
    "place", ["executors/executor-1/threads", f"jobs/{ORDERS_JOB}/threads", "dispatcher/threads"]
)
def test_threads_stand_still_until_they_are_looked_at_again(
    page: Page, server: DashboardServer, place: str
) -> None:
    page.open(place)
    # those that run a task are open
    page.wait_for("2 of 2 threads", "dispatcher-event-loop-0", "return model(order)")
    assert "Unsafe.park" not in page.text()
    page.find("input[type=search]").send_keys("orders.py")
    page.wait_for("1 of 2 threads")
    server.cluster.threads = {"<i>last</i>": "orders.py"}
    assert "1 of 2 threads" in page.text()
    page.click("Look again")
    page.wait_for("1 of 1 threads", "<i>last</i>")
    path = {"executors": "/taskmanagers/executor-1", "jobs": f"/jobs/{ORDERS_JOB}"}
    asked = f"GET {path.get(place.split('/')[0], '/jobmanager')}/thread-dump"
    assert server.cluster.requests.count(asked) == 2
    server.cluster.refuse[asked] = Refused(409, "its driver is dead", fix="run it again")
    page.click("Look again")
    page.wait_for("its driver is dead", "run it again")


def test_the_pages_fit_into_800_pixels(page: Page) -> None:
    page.browser.set_window_size(800, 900)
    job = f"jobs/{ORDERS_JOB}"
    places = ("", job, f"{job}/metrics", f"{job}/checkpoints", f"{job}/flames", "executors")
    for place in (*places, "executors/executor-1/threads"):
        page.open(place)
        page.wait(lambda: page.all("section.panel"))
        wide = page.run("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{place or 'the overview'} is {wide} pixels too wide"


def test_nobody_needs_a_mouse(page: Page) -> None:
    from selenium.webdriver import ActionChains, Keys

    page.open(f"jobs/{ORDERS_JOB}")
    page.find("button.card")

    def press(key: str) -> None:
        ActionChains(page.browser).send_keys(key).perform()

    for _ in range(60):
        press(Keys.TAB)
        if page.run("return document.activeElement.className.includes('card')"):
            break
    vertex = page.run("return document.activeElement.dataset.vertex")
    press(Keys.ENTER)
    page.wait(lambda: page.all("tr.after"))
    # the card was patched, so the focus is still on it
    assert page.run("return document.activeElement.dataset.vertex") == vertex
