"""A browser, and a server whose cluster a test may change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser import Page, chromium  # noqa: F401 - a fixture
from dashboard_server import DashboardServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver.chrome.webdriver import WebDriver


@pytest.fixture
def server() -> Iterator[DashboardServer]:
    made = DashboardServer()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def page(chromium: WebDriver, server: DashboardServer) -> Iterator[Page]:  # noqa: F811
    """A page of the server; whatever a test does, it must not raise errors in the browser."""
    made = Page(chromium, server.url)
    chromium.set_window_size(1280, 900)
    made.complaints()
    made.asked()
    yield made
    complaints = made.complaints()
    chromium.get("about:blank")  # asks nothing more of a server that ends
    assert complaints == []
    assert made.asked() <= {f"127.0.0.1:{server.port}"}, "a request left the origin"
