"""The page of `serve` in a real browser: a running server, Chromium, and helpers to find and wait for elements."""

from __future__ import annotations

import base64
import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tellapart.serve.server import Server, ServerSettings, open_server

TOKEN = "letmeinplease"
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--lang=en",
)  # fmt: skip
DROP = """
const transfer = new DataTransfer();
for (const [name, text] of arguments[0]) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  transfer.items.add(new File([bytes], name, {type: "image/png"}));
}
document.getElementById("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
"""


@contextlib.contextmanager
def served(server: Server) -> Iterator[Server]:
    """Run a server in a thread."""
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.uvicorn.started:
        time.sleep(0.01)
    yield server
    server.uvicorn.should_exit = True
    thread.join(10)


def opened(index: Path) -> Server:
    """A server on a free port, with a token, as if it were exposed."""
    return open_server(str(index), ServerSettings(port=0, token=TOKEN, neighbours=5, originals="yes"))


def start_chromium(profile: Path) -> Any:
    """A browser without a window; it logs messages of the page and all requests."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(str(DRIVER)))


class Page:
    """Finds and waits for elements of the page."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def open(self, server: Server, address: str = "") -> None:
        """Load the page, and wait for its photos."""
        self.browser.get("about:blank")  # so that an address that differs after # is loaded, too
        self.browser.get(server.address)
        if address:
            self.browser.get(f"{self.browser.current_url}#{address}")
            self.browser.refresh()
        self.until("#results img", drawn)

    def errors(self) -> list[str]:
        """Problems that the browser has logged since the last call, such as failed scripts and blocked requests."""
        failed = [line["message"] for line in self.browser.get_log("browser") if line["level"] == "SEVERE"]
        return [line for line in failed if "the server responded with a status of 4" not in line]

    def all_of(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def one(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        return str(self.one(selector).text)

    def wait(self, test: Callable[[], Any], seconds: float = 60) -> Any:
        """Wait until a test is true; elements may be replaced meanwhile."""
        from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
        from selenium.webdriver.support.wait import WebDriverWait

        ignored = (NoSuchElementException, StaleElementReferenceException)
        return WebDriverWait(self.browser, seconds, 0.05, ignored).until(lambda _: test())

    def until(self, selector: str, test: Callable[[Any], Any] = lambda element: True) -> Any:
        """The first element of a selector that passes a test."""
        return self.wait(lambda: [one for one in self.all_of(selector) if test(one)])[0]

    def until_text(self, selector: str, text: str) -> None:
        """Wait for the text of an element."""
        self.until(selector, lambda element: element.text == text)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        """Type into the element that has the focus."""
        self.browser.switch_to.active_element.send_keys(*keys)

    def tab(self) -> Any:
        """Move to the next element by keyboard; returns it."""
        from selenium.webdriver import ActionChains, Keys

        ActionChains(self.browser).send_keys(Keys.TAB).perform()
        return self.browser.switch_to.active_element

    def show_as(self, width: int, height: int, dark: bool = False, still: bool = False) -> None:
        """Show the page as a screen of this size does; a narrow one is a phone. still: with reduced motion."""
        phone = width < 500
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": phone})
        # A window without focus, as some desktops open it, has no focus events.
        self.browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def drop(self, *photos: Path) -> None:
        """Drop files on the page."""
        self.run(DROP, [(photo.name, base64.b64encode(photo.read_bytes()).decode()) for photo in photos])


def drawn(image: Any) -> bool:
    """Whether an image has been loaded."""
    return int(image.get_property("naturalWidth")) > 0
