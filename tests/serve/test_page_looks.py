"""What the page looks like to everyone: aligned cards, contrast, keyboard, reduced motion, and no other server."""

import json
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from page_in_browser import Page, drawn
from tellapart.serve.server import Server

COLOURS = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const rgb = (colour) => {
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const seen = (element, name) => rgb(getComputedStyle(element)[name]);
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if (!colour.endsWith(", 0)") && colour !== "transparent") return rgb(colour);
  }
  return rgb("white");
};
return [...document.querySelectorAll("body *")]
  .filter((one) => one.checkVisibility() && !one.matches(".hidden, .skip, button:disabled"))
  .filter((one) => [...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
  .map((one) => [one.tagName + "#" + one.id + " " + one.textContent.slice(0, 30), seen(one, "color"), behind(one)]);
"""


def contrast(one: list[int], other: list[int]) -> float:
    """The contrast ratio of two colours as WCAG 2 defines it."""

    def luminance(colour: list[int]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_and_white() -> None:
    assert contrast([0, 0, 0], [255, 255, 255]) == pytest.approx(21)


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_has_enough_contrast(page: Page, page_server: Server, dark: bool) -> None:
    page.show_as(1100, 900, dark)
    page.open(page_server)
    page.until("#about", lambda element: element.text)
    page.run("document.getElementById('problems').append(document.createElement('li'))")
    page.run("document.querySelector('#problems li').textContent = 'a.txt: not an image'")
    texts = page.run(COLOURS)
    page.one("#results button").click()
    page.until("#photo", lambda element: element.is_displayed())
    texts += page.run(COLOURS)
    assert len(texts) > 40
    weak = {name: round(contrast(text, ground), 2) for name, text, ground in texts if contrast(text, ground) < 4.5}
    assert weak == {}
    background = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(22, 24, 26)") == dark


@pytest.mark.parametrize("width", [360, 1280])
def test_cards_are_aligned_and_nothing_is_cut_off(page: Page, page_server: Server, width: int) -> None:
    page.show_as(width, 844)
    page.open(page_server, "query=a+red+ball")
    offsets = page.run(
        "return [...document.querySelectorAll('.photos button')]"
        ".map((button) => button.firstChild.getBoundingClientRect().top - button.getBoundingClientRect().top)"
    )
    assert set(offsets) == {1}  # the border
    page.one("#results button").click()
    page.until("#large", drawn)
    for place in ("document.documentElement", "document.getElementById('photo')"):
        assert page.run(f"return {place}.scrollWidth <= {place}.clientWidth")


def test_everything_has_a_name_and_a_place_in_the_order(page: Page, page_server: Server) -> None:
    """Tab moves through the page from top to bottom, every stop is visible, and headings do not skip a level."""
    from selenium.webdriver import Keys

    page.open(page_server)
    nameless = """return [...document.querySelectorAll('button, a, input, textarea, progress, section, dialog')]
      .filter((one) => !one.textContent.trim() && !one.ariaLabel && !one.labels?.length
                       && !document.getElementById(one.getAttribute('aria-labelledby')))
      .map((one) => one.outerHTML)"""
    assert page.run(nameless) == []
    identities = page.run("return [...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(set(identities)) == len(identities)
    levels = page.run("return [...document.querySelectorAll('h1, h2, h3')].map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1 and all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert page.browser.switch_to.active_element == page.one("#query")
    stops = []
    for _ in range(4):
        element = page.tab()
        stops.append(element.get_attribute("id") or element.tag_name)
        outline = page.run(
            "const stop = document.activeElement, around = stop.closest('#drop label') || stop;"
            "return [getComputedStyle(around).outlineStyle, around.getBoundingClientRect().width > 20]"
        )
        assert outline == ["solid", True]
    assert stops == ["summary", "file", "button", "button"]
    page.press(Keys.ENTER)
    page.until("#photo", lambda element: element.is_displayed())
    assert page.browser.switch_to.active_element.get_attribute("id") == "photo-name"
    # The way to the photos for those who use the keyboard alone.
    page.open(page_server)
    page.run("document.getElementById('skip').focus()")
    page.press(Keys.ENTER)
    assert page.browser.switch_to.active_element.get_attribute("id") == "results"


def test_nothing_moves_for_those_who_ask_for_that(page: Page, page_server: Server) -> None:
    durations = []
    for still in (False, True):
        page.show_as(1100, 900, still=still)
        page.open(page_server)
        page.run("document.getElementById('attention').append(document.createElement('div'))")
        durations.append(
            page.run("return getComputedStyle(document.querySelector('#attention div')).transitionDuration")
        )
    assert durations == ["0.15s", "0s"]


def test_nothing_is_loaded_from_elsewhere_and_names_are_text(page: Page, page_server: Server) -> None:
    page.browser.get_log("performance")
    page.open(page_server)
    page.run("scrollTo(0, 9999)")
    page.until("#results li:nth-child(48)")
    page.run("location.hash = 'orientation=portrait'")
    page.wait(lambda: len(page.all_of("#results li")) == 1)
    page.one("#results button").click()
    page.until_text("#photo-name", "<img src=x onerror=alert(1)>.png")
    page.one("#find-similar").click()
    page.until_text("#results-title", "Photos similar to <img src=x onerror=alert(1)>.png")
    sent = [json.loads(line["message"])["message"] for line in page.browser.get_log("performance")]
    urls = [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]
    host = urlsplit(page_server.address).netloc
    assert len(urls) > 10 and {urlsplit(url).netloc for url in urls} <= {host, ""}
    assert not page.all_of("#results button img:not([src^='/api/photos/'])") and not page.all_of("h2 img")
