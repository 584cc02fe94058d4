"""Debian's Chromium, headless, for tests of the dashboard; installed when it is missing.

Next: the fixture `chromium` at the end; tests/dashboard/conftest.py opens pages with it
"""

from __future__ import annotations

import json
import shutil
import tempfile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from patience import wait_until
from services import find_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selenium.webdriver.chrome.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

# As root there is no sandbox; and nothing in the background asks for addresses elsewhere.
_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-default-apps "
    "--disable-dev-shm-usage --hide-scrollbars --force-color-profile=srgb --lang=en-US"
)


def start_chromium(width: int = 1280, height: int = 900) -> WebDriver:
    """A browser that records what pages log and ask."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program = find_program("chromium", "chromium")
    driver = find_program("chromedriver", "chromium-driver")
    profile = tempfile.mkdtemp(prefix="headrace-chromium-")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in [*_FLAGS.split(), f"--user-data-dir={profile}", f"--window-size={width},{height}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(driver))
    made.profile = profile  # type: ignore[attr-defined]
    return made


def end_chromium(browser: WebDriver) -> None:
    browser.quit()
    shutil.rmtree(browser.profile, ignore_errors=True)  # type: ignore[attr-defined]


class Page:
    """One open page, with words for what tests do to it."""

    def __init__(self, browser: WebDriver, url: str) -> None:
        self.browser = browser
        self.url = url

    def open(self, place: str = "") -> Page:
        """Opens a place of the dashboard as if the address had been typed."""
        self.browser.get("about:blank")
        self.browser.get(f"{self.url}#/{place}")
        return self

    def find(self, selector: str) -> WebElement:
        found: WebElement = self.wait(
            lambda: next(iter(self.all(selector)), None), f"no {selector}"
        )
        return found

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements("css selector", selector)

    def button(self, text: str) -> WebElement:
        """A visible button by its words."""
        path = f"//button[normalize-space()={json.dumps(text)}]"
        look = self.browser.find_elements
        found: WebElement = self.wait(
            lambda: next((b for b in look("xpath", path) if b.is_displayed()), None),
            f"no button {text!r}",
        )
        return found

    def click(self, text: str) -> None:
        self.button(text).click()

    def text(self, selector: str = "main") -> str:
        """What people read of it."""
        script = "return document.querySelector(arguments[0])?.innerText ?? ''"
        # a space that does not break is read as any other: editors of code write all of them so
        return str(self.browser.execute_script(script, selector)).replace("\xa0", " ")

    def wait_for(self, *texts: str, within: str = "main") -> str:
        def there() -> str | None:
            shown = self.text(within)
            return shown if all(text.lower() in shown.lower() for text in texts) else None

        def instead() -> str:
            return f"{within} does not show {texts}: {self.text(within)[:1500]}"

        return str(self.wait(there, instead))

    def run(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def wait(
        self, ready: Callable[[], Any], what: str | Callable[[], object] = "still waiting"
    ) -> Any:
        from selenium.common.exceptions import StaleElementReferenceException

        def found() -> Any:
            try:
                return ready()
            except StaleElementReferenceException:
                return None

        return wait_until(found, what, every_s=0.05)

    def complaints(self, *, of_network: bool = False) -> list[str]:
        """What pages logged as errors or warnings since the last call."""
        return [
            entry["message"]
            for entry in self.logged("browser")
            if entry["level"] != "INFO" and (of_network or entry["source"] != "network")
        ]

    def logged(self, kind: str) -> list[dict[str, Any]]:
        """The entries of one of Chromium's logs since the last call."""
        entries: list[dict[str, Any]] = self.browser.get_log(kind)  # type: ignore[no-untyped-call]
        return entries

    def asked(self) -> set[str]:
        """Host and port of every request of pages since the last call."""
        hosts = set()
        for entry in self.logged("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                parts = urlsplit(message["params"]["request"]["url"])
                if parts.scheme not in ("about", "data", "chrome"):
                    hosts.add(parts.netloc)
        return hosts

    def screenshot(self, path: str) -> None:
        self.browser.save_screenshot(path)


@pytest.fixture(scope="session")
def chromium() -> Iterator[WebDriver]:
    """One browser for the whole run."""
    browser = start_chromium()
    yield browser
    end_chromium(browser)
