"""A real Chromium for tests: nothing is fetched from outside, and every word of its log counts."""

import base64
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from tests.server.running import PASSWORD

WAIT = 20
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--no-first-run",
)  # fmt: skip


def _program(*names):
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        words = f"{names[0]} is not installed; Debian's packages are chromium and chromium-driver"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    return found


@contextmanager
def chromium():
    """A browser without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = _program("chromium", "chromium-browser", "google-chrome")
    for one in _OPTIONS:
        options.add_argument(one)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(_program("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


class Browser:
    """What a person does with a page."""

    def __init__(self, driver, server):
        self.driver, self.server = driver, server
        self.shape()

    def forget(self):
        """Leave the page, whose server may be gone; sign out everywhere, drop all complaints."""
        self.driver.get("about:blank")
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.driver.get_log("browser")

    def shape(self, width=1280, height=1000, *, dark=False):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def go(self, path):
        self.driver.get(self.server.address + path)

    @property
    def path(self):
        return self.driver.current_url.removeprefix(self.server.address)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.one(selector).text

    def press(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.one(selector).click()

    def type(self, selector, *keys):
        self.one(selector).send_keys(*keys)

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def until(self, what, words=""):
        """Wait for something to become true; what it gave."""
        return WebDriverWait(self.driver, WAIT, poll_frequency=0.05).until(
            lambda _: _quietly(what), words
        )

    def until_there(self, selector):
        return self.until(lambda: self.one(selector).is_displayed(), selector)

    def login(self, name="alice"):
        self.go("/login")
        self.type("#name", name)
        self.type("#password", PASSWORD)
        self.press("#sign-in")
        self.until(lambda: not self.path.startswith("/login"))

    @contextmanager
    def without_charts(self):
        """The chart library cannot be had; nothing else is missing from the browser's log."""
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*vega.js*"]})
        self.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        try:
            yield
            entries = self.driver.get_log("browser")
            assert [one for one in entries if "vega.js" not in one["message"]] == []
        finally:
            self.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})

    def complaints(self):
        """The browser's log, without requests whose refusal a page tells in words."""
        entries = self.driver.get_log("browser")
        told = ("status of 402", "status of 422")
        return [one for one in entries if not any(word in one["message"] for word in told)]

    def nameless(self):
        """What a screen reader would have no name for: text inside names links and buttons only."""
        return self.run(
            "return [...document.querySelectorAll('input:not([type=hidden]), select, textarea,"
            " button, a, summary, meter, [role=img], [role=group], [role=listbox]')]"
            ".filter((e) => !(e.getAttribute('aria-label') || (e.labels ?? []).length ||"
            " (e.matches('button, a, summary') && e.textContent.trim()))).map((e) => e.outerHTML)"
        )

    def tabbed(self, last, most=120):
        """What is reached by the keyboard alone, from the top of a page up to something."""
        self.run("document.body.tabIndex = -1; document.body.focus(); window.scrollTo(0, 0)")
        seen = []
        for _ in range(most):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            seen.append(self.run(
                "const e = document.activeElement;"
                "return e.id || e.name || e.dataset.act || e.textContent.trim().slice(0, 40)"
            ))  # fmt: skip
            if seen[-1] == last:
                break
        return seen

    def keep(self, name):
        """A picture of the whole page, if somebody wants to look at it."""
        folder = os.environ.get("SCREENSHOTS")
        if not folder:
            return
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        time.sleep(0.2)
        taken = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))


def _quietly(what):
    from selenium.common.exceptions import (
        NoSuchElementException,
        StaleElementReferenceException,
        WebDriverException,
    )

    try:
        return what()
    except (NoSuchElementException, StaleElementReferenceException):
        return False
    except WebDriverException as error:
        if "does not belong to the document" in str(error):  # stale, while a page is exchanged
            return False
        raise
