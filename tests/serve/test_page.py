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
from tellapart.runs.bundled import NAMES, is_bundled
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

    def resize(self, width: int, height: int, dark: bool = False) -> None:
        """Show the page as a screen of this size does; a narrow one is a phone."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": width < 500})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

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

    # The newest photos come first.
    until("#results img", drawn)
    assert until("#results-title").text == "Newest photos"
    assert len(all_of("#results li")) == 12 and until("#status").text == "12 photos in the index"

    # Search as you type; no Enter. The focus is in the field from the start.
    browser.switch_to.active_element.send_keys("a red ball")
    until("#results-title", lambda element: element.text == "Results for “a red ball”")
    until("#results img", drawn)
    assert len(all_of("#results li")) == 12 and until("#status").text == "Best matches first"

    # Drop a photo: both captions, a box per noun, similar photos.
    noun = page.drop(served_world / "photos" / "green-left.png")
    shown = [until(f"#{part}").is_displayed() for part in ("agree-hint", "alike-hint", "distinctive-part")]
    assert shown.count(True) == 1
    assert len(all_of("#similar li")) == 12
    assert until("#preview").get_attribute("alt") == until("#plain").text
    browser.execute_script("scrollTo(0, 0)")
    ActionChains(browser).move_to_element(noun).perform()
    box = until("#attention .active i")
    assert "active" in noun.get_attribute("class") and box.size["width"] > 5
    assert until("#attention .active canvas").get_property("width") == 14
    assert noun.get_attribute("aria-description").startswith("attention at the ")
    ActionChains(browser).move_to_element(until("h1")).perform()
    WebDriverWait(browser, 20).until(lambda _: not all_of("#attention .active"))
    browser.execute_script("arguments[0].focus()", noun)
    until("#attention .active")

    # Edit a caption by keyboard alone, and find it after a reload.
    first = all_of("#results button")[0]
    identity = first.get_attribute("data-id")
    first.send_keys(Keys.ENTER)
    field = until("#caption", lambda element: element.is_displayed())
    WebDriverWait(browser, 20).until(lambda _: browser.switch_to.active_element == field)
    assert until("#facts").text == "photos · 96 × 64 pixels"
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


def test_back_steps_through_searches(browser: Any, server: Server) -> None:
    from selenium.webdriver import Keys

    page = Page(browser)

    def shows(title: str, query: str) -> None:
        page.until("#results-title", lambda element: element.text == title)
        assert page.until("#query").get_property("value") == query and page.all_of("#results li")

    browser.get(server.address)
    shows("Newest photos", "")
    browser.switch_to.active_element.send_keys("a red ball", Keys.ENTER)
    shows("Results for “a red ball”", "a red ball")
    browser.switch_to.active_element.send_keys(Keys.CONTROL, "a")
    browser.switch_to.active_element.send_keys("a blue ball", Keys.ENTER)
    shows("Results for “a blue ball”", "a blue ball")
    page.until("#results button").click()
    page.until("#find-similar", lambda element: element.is_displayed())
    name = page.until("#photo-name").text
    page.until("#find-similar").click()
    shows(f"Photos similar to {name}", "")
    for title, query in (("Results for “a blue ball”", "a blue ball"), ("Results for “a red ball”", "a red ball")):
        browser.back()
        shows(title, query)
    browser.back()
    shows("Newest photos", "")
    browser.forward()
    shows("Results for “a red ball”", "a red ball")


def test_more_photos_load_while_scrolling(browser: Any, served_world: Path, tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "photos").mkdir()
    for number in range(60):
        Image.new("RGB", (40, 30), (4 * number, 90, 200 - 3 * number)).save(tmp_path / "photos" / f"{number:02}.png")
    index(
        IndexOptions(
            (tmp_path / "photos",), str(tmp_path / "index"), str(served_world / "find"), "none", progress=False
        )
    )
    page = Page(browser)
    with served(tmp_path / "index") as server:
        browser.get(server.address)
        page.until("#results img", drawn)
        first = len(page.all_of("#results li"))
        assert first < 60
        for _ in range(3):
            browser.execute_script("scrollTo(0, document.body.scrollHeight)")
            time.sleep(0.3)
        page.until("#results li:nth-child(60)")
        identities = [button.get_attribute("data-id") for button in page.all_of("#results button")]
        assert len(set(identities)) == len(identities) == 60


def test_the_dialog_steps_through_photos(browser: Any, server: Server) -> None:
    page = Page(browser)
    browser.get(server.address)
    page.until("#results img", drawn)
    page.all_of("#results button")[-2].click()
    page.until("#photo", lambda element: element.is_displayed())
    first = page.until("#photo-name").text
    page.until("#next").click()
    page.until("#photo-name", lambda element: element.text not in ("", first))
    assert not page.until("#next").is_enabled()  # the last one
    page.until("#previous").click()
    page.until("#photo-name", lambda element: element.text == first)


def test_problems_name_the_file(browser: Any, server: Server, tmp_path: Path) -> None:
    page = Page(browser)
    browser.get(server.address)
    page.until("#results img", drawn)
    note = tmp_path / "note.txt"
    note.write_text("hello")
    page.until("#file").send_keys(str(note))
    problem = page.until("#status.problem")
    assert problem.text.startswith("note.txt: The file is not a complete image; send a JPEG, PNG")


@pytest.mark.parametrize("width", [390, 1280])
def test_cards_are_aligned_and_nothing_is_cut_off(browser: Any, server: Server, width: int) -> None:
    page = Page(browser)
    page.resize(width, 844)
    browser.get(server.address)
    page.until("#results img", drawn)
    offsets = browser.execute_script(
        "return [...document.querySelectorAll('.photos button')]"
        ".map((button) => button.firstChild.getBoundingClientRect().top - button.getBoundingClientRect().top)"
    )
    assert set(offsets) == {1}  # the border
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert page.until(".touch" if width < 500 else ".mouse").is_displayed()


@pytest.fixture(scope="module")
def photos_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real photos, captioned and indexed by the bundled models."""
    pytest.importorskip("skimage", reason="needs scikit-image's sample photos")
    if not all(is_bundled(name) for name in NAMES):
        pytest.skip("no runs come with this installation")
    folder = tmp_path_factory.mktemp("real")
    (folder / "photos").mkdir()
    for photo in sample_photos(list(EVERYDAY)):
        shutil.copy(photo, folder / "photos")
    index(IndexOptions((folder / "photos",), str(folder / "index"), progress=False))
    return folder


def test_real_photos_with_the_bundled_models(browser: Any, photos_index: Path) -> None:
    page = Page(browser)
    cat = next((photos_index / "photos").glob("chelsea*"))
    with served(photos_index / "index") as server:
        browser.get(server.address)
        browser.switch_to.active_element.send_keys("a cup of coffee on a table")
        page.until("#results-title", lambda element: "coffee" in element.text)
        page.until("#results img", drawn)
        assert "cup" in page.until("#results li span").text  # the best comes first
        noun = page.drop(cat)
        assert "cat" in page.until("#plain").text
        browser.execute_script("arguments[0].focus()", noun)
        page.until("#attention .active")
        if screenshot := os.environ.get("TELLAPART_SCREENSHOT"):
            save_screenshots(page, cat, Path(screenshot))


def save_screenshots(page: Page, photo: Path, file: Path) -> None:
    """FILE at desktop width, and FILE-phone in dark mode at phone width."""
    for name, screen in ((file, (1280, 1000, False)), (file.with_stem(f"{file.stem}-phone"), (390, 844, True))):
        page.resize(*screen)
        page.browser.refresh()
        noun = page.drop(photo)
        page.until("#similar img", drawn)
        page.browser.execute_script("arguments[0].focus({preventScroll: true})", noun)
        if screen[0] < 500:
            page.browser.execute_script("document.getElementById('description').scrollIntoView()")
        else:
            page.browser.execute_script("scrollTo(0, 0)")
        time.sleep(1)
        page.browser.save_screenshot(str(name))


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
