"""What the page shows of an answer: clear and less sure matches, unknown words, copies, and filters."""

import json
from typing import Any

from page_in_browser import Page
from tellapart.serve.server import Server

ANSWER = """
const real = window.fetch, answers = JSON.parse(arguments[0]);
window.asked = [];
window.fetch = (url, options) => {
  window.asked.push(String(url));
  const found = Object.entries(answers).find(([start]) => String(url).startsWith(start));
  return found ? Promise.resolve(new Response(JSON.stringify(found[1]))) : real(url, options);
};
"""


def answer(page: Page, **answers: Any) -> None:
    """Let the server answer search, filters or photos with these."""
    page.run(ANSWER, json.dumps({f"/api/{name}": value for name, value in answers.items()}))


def photos(page: Page, *changes: dict[str, object]) -> list[dict[str, object]]:
    """Photos of the index as a search finds them."""
    listed = "fetch('/api/photos?count=9').then((one) => one.json()).then((one) => done(one.photos))"
    real = page.browser.execute_async_script(f"const done = arguments[0]; {listed}")
    return [{**photo, "weak": False, "copies": 0, **change} for photo, change in zip(real, changes)]


def test_less_sure_matches_stand_under_their_own_heading(page: Page, page_server: Server) -> None:
    page.open(page_server)
    clear: list[dict[str, object]] = [{"caption": "one", "copies": 3}, {"caption": "two", "sure": False}]
    found = photos(page, *clear, {"weak": True}, {"weak": True})
    answer(page, search={"photos": found, "unknown": [], "corrected": None, "calibrated": True})
    page.press("a ball")
    page.until_text("#results-hint", "Best matches first.")
    assert [card.text for card in page.all_of("#results button")] == ["one +3 similar", "two not sure"]
    assert page.text("#less-sure-title") == "Less sure" and len(page.all_of("#less-sure li")) == 2
    # The dialog steps from one list to the other, and cards keep their notes.
    page.all_of("#results button")[1].click()
    page.until("#photo", lambda element: element.is_displayed())
    assert page.one("#next").is_enabled()
    page.one("#next").click()
    page.until_text("#photo-name", str(found[2]["name"]))
    page.one("#previous").click()
    page.until_text("#photo-name", str(found[1]["name"]))
    page.one("#previous").click()
    page.until_text("#photo-name", str(found[0]["name"]))
    assert page.one("#results button").get_property("textContent").endswith("+3 similar")


def test_no_clear_match_and_no_match(page: Page, page_server: Server) -> None:
    page.open(page_server)
    answer(page, search={"photos": photos(page, {"weak": True}), "unknown": [], "corrected": None})
    page.press("a ball")
    page.until_text("#results-hint", "No clear match.")
    assert page.all_of("#results li") == [] and len(page.all_of("#less-sure li")) == 1
    answer(page, search={"photos": [], "unknown": [], "corrected": None})
    page.press("s")
    page.until_text("#results-hint", "No photo matches “a balls”.")
    assert not page.one("#less-sure-part").is_displayed()


def test_unknown_words_are_named_with_suggestions(page: Page, page_server: Server) -> None:
    page.open(page_server)
    unknown = [{"word": "<b>cta", "suggestions": ["cat"]}]
    answer(page, search={"photos": photos(page, {}), "unknown": unknown, "corrected": "a cat"})
    page.press("a <b>cta")
    page.until_text("#unknown", "Unknown word “<b>cta”. Did you mean a cat?")
    unknown.append({"word": "dgo", "suggestions": []})
    answer(page, search={"photos": [], "unknown": unknown, "corrected": None})
    page.press(" dgo")
    page.until_text("#unknown", "Unknown words “<b>cta”, “dgo”.")
    answer(page, search={"photos": photos(page, {}), "unknown": unknown[:1], "corrected": "a cat"})
    page.press(" ")
    page.press("2")
    page.until("#unknown button").click()
    page.until_text("#results-title", "Results for “a cat”")
    assert page.one("#query").get_property("value") == "a cat" and "query=a+cat" in page.browser.current_url


def test_filters_without_a_search(page: Page, page_server: Server) -> None:
    """The newest photos that pass; the address has the filters, and Back removes them."""
    from selenium.webdriver.support.ui import Select

    page.open(page_server)
    page.one("#filters summary").click()
    page.wait(lambda: len(page.all_of("#folder option")) == 4)
    assert [option.text for option in page.all_of("#folder option")] == [
        "Any folder", "album", "album/balls", "album/colours"
    ]  # fmt: skip
    assert [option.text for option in page.all_of("#camera option")] == ["Any camera", "Leica Q2"]
    assert page.one("#place").is_displayed() and page.one("#after").get_attribute("min") == "2019-07-21"
    Select(page.one("#folder")).select_by_visible_text("album/balls")
    page.until_text("#results-title", "Newest photos with these filters")
    page.wait(lambda: len(page.all_of("#results li")) == 12)
    assert page.text("#filters summary") == "Filters (1)" and "folder=album%2Fballs" in page.browser.current_url
    Select(page.one("#orientation")).select_by_visible_text("Tall")
    page.until_text("#results-hint", "No photo matches these filters.")
    page.browser.refresh()
    page.until_text("#results-hint", "No photo matches these filters.")
    assert page.text("#filters summary") == "Filters (2)"
    page.one("#filters summary").click()
    assert page.one("#folder").get_property("value") == "album/balls"
    page.one("#clear-filters").click()
    page.until_text("#results-title", "Newest photos")
    assert page.text("#filters summary") == "Filters" and not page.one("#clear-filters").is_displayed()


def test_filters_limit_a_search(page: Page, page_server: Server) -> None:
    page.open(page_server, "query=a+red+ball&folder=album/balls&orientation=landscape")
    page.wait(lambda: len(page.all_of("#results li, #less-sure li")) > 0)
    assert len(page.all_of("#results li, #less-sure li")) <= 12
    page.open(page_server)
    page.press("a red bal")
    page.until("#unknown", lambda element: element.text.startswith("Unknown word “bal”."))


def test_photos_taken_near_one(page: Page, page_server: Server) -> None:
    page.open(page_server)
    page.one("#results button").click()
    page.until("#find-near", lambda element: element.is_displayed()).click()
    page.until_text("#results-title", "Newest photos with these filters")
    page.wait(lambda: len(page.all_of("#results li")) == 2)
    assert page.one("#place").get_property("value") == "48.2000, 16.3750, 1"
    assert not page.one("#photo").is_displayed()
