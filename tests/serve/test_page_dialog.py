"""The dialog with one photo: facts, next and previous, the original, captions and earlier captions."""

import pytest

from page_in_browser import Page, drawn
from tellapart.serve.server import Server


def open_photo(page: Page, number: int) -> str:
    """Open a photo of the list; returns its name."""
    page.all_of("#results button")[number].click()
    page.until("#photo", lambda element: element.is_displayed())
    return page.text("#photo-name")


def test_facts_and_the_original(page: Page, page_server: Server) -> None:
    page.open(page_server)
    assert open_photo(page, 0) == "59.png"
    facts = [row.text.replace("\n", " ") for row in page.all_of("#facts div")]
    assert facts == [
        "Folder album/colours", "Taken 21 July 2019", "Camera Leica Q2", "Size 40 × 30 pixels",
        "Place 48.2000, 16.3750",
    ]  # fmt: skip
    page.until("#large", drawn)
    link = page.until("#original", lambda element: element.is_displayed())
    assert link.text == "Open original" and link.get_attribute("rel") == "noopener"
    page.browser.get(link.get_attribute("href"))
    assert page.run("return [document.contentType, document.images[0].naturalWidth]") == ["image/png", 40]


def test_next_and_previous_by_button_and_key(page: Page, page_server: Server) -> None:
    from selenium.webdriver import Keys

    page.open(page_server)
    open_photo(page, 0)
    assert not page.one("#previous").is_enabled()
    for name, step in (("58.png", Keys.ARROW_RIGHT), ("57.png", Keys.ARROW_RIGHT), ("58.png", Keys.ARROW_LEFT)):
        page.press(step)
        page.until_text("#photo-name", name)
    page.one("#next").click()
    page.until_text("#photo-name", "57.png")
    # In the caption, the same keys move the cursor.
    page.one("#caption").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert page.text("#photo-name") == "57.png"
    # At the end of the list, more photos load.
    page.browser.back()  # all steps are one for Back
    page.until("#photo", lambda element: not element.is_displayed())
    assert page.browser.switch_to.active_element.get_attribute("data-id") in page.run(
        "return [...document.querySelectorAll('#results button')].slice(2, 3).map((one) => one.dataset.id)"
    )
    last = len(page.all_of("#results li"))
    open_photo(page, last - 2)
    page.press(Keys.ARROW_RIGHT)
    page.until(f"#results li:nth-child({last + 1})")
    page.until("#next", lambda element: element.is_enabled())


def test_next_and_previous_by_swipe(page: Page, page_server: Server) -> None:
    page.show_as(390, 844)
    page.open(page_server)
    open_photo(page, 0)
    swipe = """
    const image = document.getElementById("large"), [from, to] = arguments;
    const touch = (x) => [new Touch({identifier: 1, target: image, clientX: x, clientY: 100})];
    image.dispatchEvent(new TouchEvent("touchstart", {touches: touch(from), changedTouches: touch(from)}));
    image.dispatchEvent(new TouchEvent("touchend", {touches: [], changedTouches: touch(to)}));
    """
    for start, end, name in ((300, 100, "58.png"), (300, 290, "58.png"), (100, 300, "59.png")):
        page.run(swipe, start, end)
        page.until_text("#photo-name", name)
        assert page.one("dialog").is_displayed()


def test_escape_and_back_close_the_dialog(page: Page, page_server: Server) -> None:
    from selenium.webdriver import Keys

    page.open(page_server, "query=a+red+ball")
    open_photo(page, 1)
    address = page.browser.current_url
    assert "query=a+red+ball&photo=" in address
    page.press(Keys.ESCAPE)
    page.wait(lambda: "photo=" not in page.browser.current_url)
    assert not page.one("#photo").is_displayed() and "query=a+red+ball" in page.browser.current_url
    # The address of a photo opens it, and closing shows the search.
    page.browser.get("about:blank")
    page.browser.get(address)
    page.until("#photo", lambda element: element.is_displayed())
    page.until("#next", lambda element: element.is_enabled())  # as soon as the list is there
    page.one("#close").click()
    page.wait(lambda: "photo=" not in page.browser.current_url)
    assert page.text("#results-title") == "Results for “a red ball”"


def test_captions_are_edited_by_keyboard_and_remembered(page: Page, page_server: Server) -> None:
    from selenium.webdriver import Keys

    page.open(page_server, "query=a+red+ball")
    card = page.one("#results button")
    identity = card.get_attribute("data-id")
    card.send_keys(Keys.ENTER)
    page.until("#photo", lambda element: element.is_displayed())
    assert not page.one("#edits-part").is_displayed()
    generated = page.one("#caption").get_property("value")
    for caption in ("the ball of <b>my</b> childhood", "the ball of my youth"):
        field = page.one("#caption")
        while page.browser.switch_to.active_element != field:
            page.press(Keys.TAB)
        page.press(Keys.CONTROL, "a")
        page.press(caption)
        page.press(Keys.TAB, Keys.ENTER)
        page.until_text("#saved", "Saved.")
        page.until("#edits li", lambda element, caption=caption: caption in element.get_property("textContent"))
    page.one("#edits-part summary").click()
    rows = [row.text for row in page.all_of("#edits li")]
    assert len(rows) == 2 and rows[0].startswith("the ball of my youth today at")
    assert rows[1].startswith("the ball of <b>my</b> childhood")
    assert page.text("#generated") == f"Generated caption: {generated}"
    page.all_of("#edits button")[1].click()
    assert page.one("#caption").get_property("value") == "the ball of <b>my</b> childhood"
    page.one("#save").click()
    page.wait(lambda: len(page.all_of("#edits li")) == 3)
    page.press(Keys.ESCAPE)
    page.wait(lambda: "photo=" not in page.browser.current_url)
    page.browser.refresh()
    card = page.until(f'.photos [data-id="{identity}"] .text')
    assert card.text.startswith("the ball of <b>my</b> childhood")
    page.one(f'.photos [data-id="{identity}"]').click()
    page.until("#restore", lambda element: element.is_displayed()).click()
    page.until("#edits li", lambda row: "Generated caption restored" in row.get_property("textContent"))
    assert page.one("#caption").get_property("value") == generated


@pytest.mark.parametrize("agrees", [False, True])
def test_an_unsaved_caption_is_not_lost_in_silence(page: Page, page_server: Server, agrees: bool) -> None:
    page.open(page_server)
    name = open_photo(page, 3)
    page.one("#caption").send_keys(" and more")
    page.one("#next").click()
    question = page.browser.switch_to.alert
    assert question.text == "Leave this photo without saving its caption?"
    question.accept() if agrees else question.dismiss()
    page.until("#photo-name", lambda element: (element.text != name) == agrees)
    if not agrees:
        assert page.one("#caption").get_property("value").endswith(" and more")
