"""The page in a real browser: search, drop a photo, point at a noun, edit a caption, reload.

`TELLAPART_SCREENSHOT=docs/serve.png pytest tests/serve/test_page.py` saves a screenshot with real photos.
"""

import contextlib
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tellapart.cli.index import IndexOptions, index
from tellapart.cli.samples import EVERYDAY, sample_photos
from tellapart.runs.bundled import OPTIONS, is_bundled
from tellapart.serve import timeouts
from tellapart.serve.server import Server, ServerSettings, open_server

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--window-size=1100,1000",
)  # fmt: skip
DROP = """
const [name, text] = arguments, bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const transfer = new DataTransfer();
transfer.items.add(new File([bytes], name, {type: "image/png"}));
document.getElementById("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
"""


@contextlib.contextmanager
def served(index: Path) -> Iterator[Server]:
    """A server on a free port, with a token, as if it were exposed."""
    server = open_server(str(index), ServerSettings(port=0, token="letmeinplease", neighbours=5))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.uvicorn.started:
        time.sleep(0.01)
    yield server
    server.uvicorn.should_exit = True
    thread.join(10)


@pytest.fixture
def server(own_index: Path) -> Iterator[Server]:
    with served(own_index) as running:
        yield running


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    if not CHROMIUM or not DRIVER:
        pytest.skip("needs chromium and chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


class Page:
    """Finds and waits for elements of the page."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def all_of(self, selector: str) -> list[Any]:
        return self.browser.find_elements("css selector", selector)

    def until(self, selector: str, test: Any = lambda element: True) -> Any:
        from selenium.webdriver.support.wait import WebDriverWait

        found = WebDriverWait(self.browser, 20).until(lambda _: [one for one in self.all_of(selector) if test(one)])
        return found[0]

    def drop(self, photo: Path) -> Any:
        """Drop a photo; returns the first noun of its caption."""
        import base64

        self.browser.execute_script(DROP, photo.name, base64.b64encode(photo.read_bytes()).decode())
        return self.until("#plain .noun")


def drawn(image: Any) -> bool:
    return int(image.get_property("naturalWidth")) > 0


def test_the_page(browser: Any, server: Server, served_world: Path) -> None:
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.support.wait import WebDriverWait

    page = Page(browser)
    all_of, until = page.all_of, page.until
    browser.get(server.address)
    assert "token" not in browser.current_url

    # Search as you type; no Enter. The focus is in the field from the start.
    browser.switch_to.active_element.send_keys("a red ball")
    until("#results img", drawn)
    assert len(all_of("#results li")) == 12 and "12 photos" in until("#status").text

    # Drop a photo: both captions, a box per noun, similar photos.
    noun = page.drop(served_world / "photos" / "green-left.png")
    agree = "sets" in until("#plain-label").text
    assert agree != until("#distinctive-part").is_displayed() and len(all_of("#similar li")) == 12
    assert until("#preview").get_attribute("alt") == until("#plain").text
    browser.execute_script("scrollTo(0, 0)")
    ActionChains(browser).move_to_element(noun).perform()
    box = until("#boxes i.active")
    assert "active" in noun.get_attribute("class") and box.size["width"] > 5
    assert noun.get_attribute("aria-description").startswith("attention at the ")
    ActionChains(browser).move_to_element(until("h1")).perform()
    WebDriverWait(browser, 20).until(lambda _: not all_of("#boxes i.active"))
    browser.execute_script("arguments[0].focus()", noun)
    until("#boxes i.active")

    # Edit a caption by keyboard alone, and find it after a reload.
    first = all_of("#results button")[0]
    identity = first.get_attribute("data-id")
    first.send_keys(Keys.ENTER)
    field = until("#caption", lambda element: element.is_displayed())
    WebDriverWait(browser, 20).until(lambda _: browser.switch_to.active_element == field)
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("the ball of <b>my</b> childhood")
    field.send_keys(Keys.TAB, Keys.ENTER)
    until("#saved", lambda element: element.text == "Saved.")
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    browser.refresh()
    shown = until(f'#results [data-id="{identity}"] span')
    assert shown.text == "the ball of <b>my</b> childhood"
    assert until("#query").get_property("value") == "a red ball"

    # A phone: nothing is wider than the screen.
    browser.set_window_size(500, 800)
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []


@pytest.fixture(scope="module")
def photos_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real photos, captioned and indexed by the bundled models."""
    pytest.importorskip("skimage", reason="needs scikit-image's sample photos")
    if not all(is_bundled(name) for name in OPTIONS):
        pytest.skip("no runs come with this installation")
    folder = tmp_path_factory.mktemp("real")
    (folder / "photos").mkdir()
    for photo in sample_photos(list(EVERYDAY)):
        shutil.copy(photo, folder / "photos")
    index(IndexOptions((folder / "photos",), str(folder / "index"), progress=False))
    return folder


def test_real_photos_with_the_bundled_models(browser: Any, photos_index: Path) -> None:
    from selenium.webdriver import ActionChains

    page = Page(browser)
    with served(photos_index / "index") as server:
        browser.get(server.address)
        browser.switch_to.active_element.send_keys("a cup of coffee on a table")
        page.until("#results img", drawn)
        assert "cup" in page.until("#results li span").text  # the best comes first
        noun = page.drop(next((photos_index / "photos").glob("chelsea*")))
        assert "cat" in page.until("#plain").text
        browser.execute_script("scrollTo(0, 0)")
        ActionChains(browser).move_to_element(noun).perform()
        page.until("#boxes i.active")
        if screenshot := os.environ.get("TELLAPART_SCREENSHOT"):
            page.until("#similar img", drawn)
            time.sleep(1)
            browser.save_screenshot(screenshot)


def test_slow_clients_are_disconnected(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that send half a header are disconnected, while others get a response."""
    import httpx

    monkeypatch.setattr(timeouts, "HEADER_SECONDS", 0.3)
    place = server.socket.getsockname()
    slow = [socket.create_connection(place) for _ in range(60)]
    for one in slow:
        one.sendall(b"GET / HTTP/1.1\r\nHost: ")
    headers = {"authorization": "Bearer letmeinplease"}
    assert httpx.get(f"http://127.0.0.1:{place[1]}/api/index", headers=headers).json()["photos"] == 12
    for one in slow:
        one.settimeout(10)
        with contextlib.suppress(ConnectionResetError):
            assert one.recv(10) == b""
        one.close()
