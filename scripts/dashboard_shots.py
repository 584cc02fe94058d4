"""Takes the pictures of docs/dashboard.md: the dashboard in Chromium, on the cluster of its tests.

Usage: PYTHONPATH=src:tests python scripts/dashboard_shots.py [FOLDER]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from browser import Page, end_chromium, start_chromium
from dashboard_jobs import ORDERS
from dashboard_server import DashboardServer

JOB = "1" * 32
# name: place, theme, height
SHOTS = {
    "dashboard-overview": ("", "light", 780),
    "dashboard-graph": (f"jobs/{JOB}/graph/{ORDERS[3].id}", "light", 1130),
    "dashboard-metrics": (f"jobs/{JOB}/metrics", "dark", 900),
    "dashboard-exceptions": ("jobs/" + "8" * 32 + "/exceptions", "light", 640),
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    server = DashboardServer()
    server.start()
    browser = start_chromium()
    page = Page(browser, server.url)
    try:
        for name, (place, theme, height) in SHOTS.items():
            # headless Chromium's window has a frame that is not part of the picture
            browser.set_window_size(1280, height + 143)
            page.open()
            page.run("localStorage.setItem('headrace.theme', arguments[0])", theme)
            page.open(place)
            page.find("section.panel, .tiles")
            time.sleep(6 if "graph" in name else 1.5)  # lines in the cards need some answers
            page.screenshot(str(folder / f"{name}.png"))
            print(name, (folder / f"{name}.png").stat().st_size)
    finally:
        end_chromium(browser)
        server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
