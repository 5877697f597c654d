"""A headless Chromium to look at pages with; the tests that need it are skipped where it, or its driver, is missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from mlxdecoder.html import AttentionView

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# Without a window, without root's sandbox, and without anything that a browser of its own accord asks of a network.
FLAGS = (
    "headless=new no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
    "disable-component-update disable-sync disable-dev-shm-usage window-size=1200,1000 force-device-scale-factor=1"
).split()


def start(profile: Path) -> Iterator[webdriver.Chrome]:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        missing = "Chromium or Chrome" if browser is None else "chromedriver"
        pytest.skip(f"{missing} was not found; on Debian: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(executable_path=driver))
    yield chrome
    chrome.quit()


class Page:
    """A view in the browser, as a user has it: what can be seen, pointed at and typed."""

    def __init__(self, chrome: webdriver.Chrome, folder: Path) -> None:
        self.chrome, self.folder = chrome, folder

    def open(self, view: AttentionView) -> Page:
        view.save(self.folder / "view.html")
        return self.visit(self.folder / "view.html")

    def visit(self, path: Path) -> Page:
        for log in ("browser", "performance"):
            self.chrome.get_log(log)
        self.chrome.get(path.as_uri())
        return self

    def find(self, selector: str) -> WebElement:
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.chrome.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return self.find(selector).text

    @property
    def readout(self) -> str:
        return self.text("#readout")

    def run(self, script: str, *arguments: Any) -> Any:
        return self.chrome.execute_script(script, *arguments)

    def choose(self, kind: int | None = None, **numbers: int) -> None:
        if kind is not None:
            self.all("#kinds label")[kind].click()
        for name, number in numbers.items():
            self.find(f"#{name} option:nth-child({number + 1})").click()

    def pixels(self, panel: int = 0) -> np.ndarray:
        """What is painted in a panel, one pixel a cell: [T, S, 4]."""
        script = """const c = document.querySelectorAll(".plot canvas")[arguments[0]];
            return [c.height, c.width, [...c.getContext("2d").getImageData(0, 0, c.width, c.height).data]];"""
        rows, columns, data = self.run(script, panel)
        return np.array(data).reshape(rows, columns, 4)

    def keys(self, *keys: str) -> None:
        """Press keys together."""
        *held, last = keys
        actions = ActionChains(self.chrome)
        for key in held:
            actions.key_down(key)
        actions.send_keys(last)
        for key in held:
            actions.key_up(key)
        actions.perform()

    def hover(self, t: int, s: int, panel: int = 0) -> None:
        """Move the pointer to the middle of a cell."""
        canvas = self.all(".plot canvas")[panel]
        self.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
        rows, columns = self.pixels(panel).shape[:2]
        width, height = canvas.size["width"], canvas.size["height"]
        right, down = (s + 0.5) / columns * width - width / 2, (t + 0.5) / rows * height - height / 2
        ActionChains(self.chrome, duration=0).move_to_element_with_offset(canvas, round(right), round(down)).perform()

    def pointed(self) -> list[tuple[int, int]]:
        """The cell with the ring around it, in each panel, measured on the screen."""
        script = """return [...document.querySelectorAll(".plot")].map((plot) => {
            const c = plot.querySelector("canvas"), box = c.getBoundingClientRect();
            const ring = plot.querySelector(".ring:not(.halo)").getBoundingClientRect();
            const share = (from, size, ringFrom, ringSize) => (ringFrom + ringSize / 2 - from) / size;
            return [Math.floor(share(box.top, box.height, ring.top, ring.height) * c.height),
                    Math.floor(share(box.left, box.width, ring.left, ring.width) * c.width)];
        });"""
        return [(t, s) for t, s in self.run(script)]

    def complaints(self) -> list[str]:
        """What the console says, but for advice on reading pixels, which only tests do."""
        return [entry["message"] for entry in self.chrome.get_log("browser") if entry["source"] != "rendering"]

    def requests(self) -> list[str]:
        messages = [json.loads(entry["message"])["message"] for entry in self.chrome.get_log("performance")]
        sent = [each for each in messages if each["method"] == "Network.requestWillBeSent"]
        return [each["params"]["request"]["url"] for each in sent]

    def emulate(self, **features: str) -> None:
        chosen = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": chosen})
