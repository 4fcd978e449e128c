"""The page in a browser: the newest photos, search while typing, more photos while scrolling, and Back."""

import re

from page_in_browser import Page, drawn
from tellapart.serve.server import Server


def shows(page: Page, title: str, query: str) -> None:
    page.until_text("#results-title", title)
    assert page.one("#query").get_property("value") == query
    page.until("#results img", drawn)


def test_the_page_starts_with_the_newest_photos(page: Page, page_server: Server) -> None:
    page.open(page_server)
    assert "token" not in page.browser.current_url
    assert page.text("#results-title") == "Newest photos" and page.browser.title == "Tellapart"
    about = page.until("#about", lambda element: element.text).text
    assert re.fullmatch(r"73 photos, indexed today at \d\d:\d\d\.", about)
    newest = page.one("#results button").get_attribute("data-id")
    page.one("#results button").click()
    page.until_text("#photo-name", "59.png")  # taken last
    assert newest in page.browser.current_url


def test_more_photos_load_while_scrolling(page: Page, page_server: Server) -> None:
    page.open(page_server)
    assert len(page.all_of("#results li")) < 73
    for count in (48, 72, 73):
        page.run("scrollTo(0, document.body.scrollHeight)")
        page.until(f"#results li:nth-child({count})")
    page.until_text("#end", "No more photos.")
    identities = [button.get_attribute("data-id") for button in page.all_of("#results button")]
    assert len(set(identities)) == len(identities) == 73
    # A list by similarity loads more, too, without repeating a photo.
    page.open(page_server, f"similar={identities[0]}")
    page.run("scrollTo(0, document.body.scrollHeight)")
    page.until("#results li:nth-child(30)")
    identities = [button.get_attribute("data-id") for button in page.all_of("#results button")]
    assert len(set(identities)) == len(identities)


def test_search_while_typing(page: Page, page_server: Server) -> None:
    """No Enter; the focus is in the field from the start."""
    page.open(page_server)
    page.press("a red ball")
    shows(page, "Results for “a red ball”", "a red ball")
    assert page.text("#results-hint") == "Best matches first." and not page.one("#about").is_displayed()
    assert page.browser.title == "Results for “a red ball” - Tellapart"
    page.browser.refresh()  # the address can be kept
    shows(page, "Results for “a red ball”", "a red ball")
    # A filter for which there is no photo.
    page.one("#filters summary").click()
    page.run("arguments[0].value = '2030-01-01'", page.one("#after"))
    page.run("arguments[0].dispatchEvent(new Event('input'))", page.one("#after"))
    page.until_text("#results-hint", "No photo matches “a red ball”.")
    assert page.all_of("#results li") == []


def test_a_search_that_cannot_be_answered_says_why(page: Page, page_server: Server) -> None:
    page.open(page_server)
    page.press("xyzzy")
    hint = page.until("#results-hint", lambda element: element.text)
    assert "xyzzy" in hint.text and page.text("#results-title") == "Results for “xyzzy”"
    assert page.all_of("#results li") == []


def test_back_steps_through_searches(page: Page, page_server: Server) -> None:
    from selenium.webdriver import Keys

    page.open(page_server)
    shows(page, "Newest photos", "")
    page.press("a red ball", Keys.ENTER)
    shows(page, "Results for “a red ball”", "a red ball")
    page.press(Keys.CONTROL, "a")
    page.press("a blue ball", Keys.ENTER)
    shows(page, "Results for “a blue ball”", "a blue ball")
    page.until("#results button").click()
    page.until("#find-similar", lambda element: element.is_displayed())
    name = page.text("#photo-name")
    page.one("#find-similar").click()
    shows(page, f"Photos similar to {name}", "")
    assert not page.one("#photo").is_displayed()
    page.browser.back()  # the photo whose similar photos were shown, over the search
    shows(page, "Results for “a blue ball”", "a blue ball")
    page.until("#photo", lambda element: element.is_displayed())
    page.browser.back()
    page.until("#photo", lambda element: not element.is_displayed())
    shows(page, "Results for “a blue ball”", "a blue ball")
    page.browser.back()
    shows(page, "Results for “a red ball”", "a red ball")
    page.browser.back()
    shows(page, "Newest photos", "")
    page.browser.forward()
    shows(page, "Results for “a red ball”", "a red ball")
