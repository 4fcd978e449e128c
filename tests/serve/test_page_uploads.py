"""Photos dropped on the page: captions, attention as a heat map, several at once, and problems that name the file."""

import base64
from pathlib import Path

import pytest
from PIL import Image

from page_in_browser import Page, drawn
from tellapart.serve.server import Server


def test_a_dropped_photo(page: Page, page_server: Server, served_world: Path) -> None:
    page.open(page_server)
    page.drop(served_world / "photos" / "green-left.png")
    page.until("#plain .noun")
    page.until_text("#status", "Described green-left.png.")
    assert page.text("#description h2") == "Your photo: green-left.png"
    # One caption if both agree, or if nothing sets the photo apart; two otherwise.
    shown = [part for part in ("agree-hint", "alike-hint", "distinctive-part") if page.one(f"#{part}").is_displayed()]
    assert len(shown) == 1
    if shown == ["alike-hint"]:
        assert page.text("#alike-hint").startswith("Nothing sets it apart from ")
    assert page.text("#similar-part h3") == "Similar photos" and len(page.all_of("#similar li")) == 12
    page.until("#similar img", drawn)
    assert page.one("#preview").get_attribute("alt") == page.text("#plain")
    page.one("#close-description").click()
    assert not page.one("#description").is_displayed()


def test_captions_that_agree_and_photos_that_nothing_sets_apart(page: Page, page_server: Server) -> None:
    """The parts of a description by what the captions say, without a model."""
    page.open(page_server)
    show = """
    const done = arguments[arguments.length - 1], [plain, apart] = arguments;
    const words = (text) => text.split(" ").map((word) => ({text: word, noun: false, box: null, attention: null}));
    const caption = (text, more) => text && {text, words: words(text), differences: [], confused_with: [], ...more};
    const description = {preview: "data:,", similar: [], caption: caption(plain, {sure: false}),
                         distinctive_caption: apart && caption(apart.text, apart)};
    import("/description.js").then(({showDescription}) => { showDescription(description, "a.jpg"); done(); });
    """
    visible = "return [...document.querySelectorAll('#description dl > div, #description dd')]"
    visible += ".filter((one) => one.id && one.offsetParent).map((one) => one.id)"

    def parts(plain: str | None, apart: dict[str, object] | None) -> set[str]:
        page.browser.execute_async_script(show, plain, apart)
        return set(page.run(visible)) - {"plain", "plain-part", "unsure-hint", "distinctive"}

    assert parts("a cat", {"text": "a cat", "distinct": True}) == {"agree-hint"}
    assert parts("a cat", {"text": "a red cat", "distinct": True}) == {"distinctive-part"}
    others = [{"name": name} for name in ("b.jpg", "<i>.jpg", "d.jpg", "e.jpg")]
    assert parts("a cat", {"text": "a cat", "distinct": False, "confused_with": others}) == {"alike-hint"}
    assert page.text("#alike-hint") == "Nothing sets it apart from b.jpg, <i>.jpg and 2 others."
    parts("a cat", {"text": "a cat", "distinct": False, "confused_with": others[:2]})
    assert page.text("#alike-hint") == "Nothing sets it apart from b.jpg and <i>.jpg."
    assert parts("a cat", None) == set() and page.one("#unsure-hint").is_displayed()
    assert not page.one("#similar-part").is_displayed()
    differences = [{"word": "red", "photos": []}, {"word": "sofa", "photos": []}]
    assert parts("a cat", {"text": "a cat", "distinct": True, "differences": differences}) == {
        "agree-hint", "apart-hint"
    }  # fmt: skip
    assert page.text("#apart-hint") == "Set apart by: red, sofa."


def test_attention_is_a_heat_map_with_its_region(page: Page, page_server: Server, served_world: Path) -> None:
    from selenium.webdriver import ActionChains

    page.open(page_server)
    page.drop(served_world / "photos" / "green-left.png")
    noun = page.until("#plain .noun")
    page.run("scrollTo(0, 0)")
    ActionChains(page.browser).move_to_element(noun).perform()
    page.until("#attention .active canvas", lambda canvas: canvas.size["width"] > 100)
    assert "active" in noun.get_attribute("class") and not page.all_of("#attention i")
    assert page.one("#attention .active path").get_attribute("d").startswith("M")
    assert noun.get_attribute("aria-description").startswith("attention at the ")
    ActionChains(page.browser).move_to_element(page.one("h1")).perform()
    page.wait(lambda: not page.all_of("#attention .active"))
    page.run("arguments[0].focus()", noun)
    page.until("#attention .active")


def test_heat_and_region_lie_where_the_attention_is(page: Page, page_server: Server) -> None:
    """Attention in the upper right quarter: warm and inside the line there, dark and outside of it elsewhere."""
    page.open(page_server)
    measure = """
    const done = arguments[arguments.length - 1];
    import("/heat.js").then(({attentionOverlay, placeInWords}) => {
      const rows = Array.from({length: 14}, (_, y) => Array.from({length: 14}, (_, x) => (x > 8 && y < 5 ? 1 : 0)));
      const overlay = attentionOverlay(rows), pixels = overlay.querySelector("canvas").getContext("2d");
      const at = (x, y) => [...pixels.getImageData(x, y, 1, 1).data];
      const points = overlay.querySelector("path").getAttribute("d").match(/[\\d.]+ [\\d.]+/g);
      done({hot: at(80, 14), cold: at(10, 90), words: placeInWords(rows),
            points: points.map((point) => point.split(" ").map(Number)),
            even: placeInWords(rows.map((row) => row.map(() => 1))),
            low: placeInWords(rows.slice().reverse())});
    });
    """
    found = page.browser.execute_async_script(measure)
    assert found["hot"][0] > 200 and found["hot"][3] > 100 and max(found["cold"][:3]) < 40 < found["cold"][3]
    # Columns 9 to 13 of 14 and rows 0 to 4, in 96 cells: from 61.7 to the right, and down to 34.3. A square with half
    # of it is 34.3 / sqrt(2) = 24.2 cells wide, in the corner, where the smoothed attention is highest.
    across, down = zip(*found["points"])
    assert min(across) == pytest.approx(96 - 24.2, abs=2) and max(down) == pytest.approx(24.2, abs=2)
    assert (found["words"], found["even"], found["low"]) == ("top right", "middle", "bottom right")


def test_several_photos_and_their_problems(page: Page, page_server: Server, served_world: Path, tmp_path: Path) -> None:
    note = tmp_path / "<b>note.txt"
    note.write_text("hello")
    (tmp_path / "empty.jpg").touch()
    Image.new("RGB", (600, 6), "red").save(tmp_path / "narrow.png")
    photos = [served_world / "photos" / f"{colour}-left.png" for colour in ("green", "blue")]
    page.open(page_server)
    page.drop(photos[0], note, tmp_path / "empty.jpg", tmp_path / "narrow.png", photos[1])
    page.until_text("#status", "Described 2 photos.")
    problems = {item.text.split(": ", 1)[0]: item.text.split(": ", 1)[1] for item in page.all_of("#problems li")}
    assert set(problems) == {note.name, "empty.jpg", "narrow.png"}
    assert problems[note.name].startswith("The file is not an image in a format that this server opens; send a")
    assert problems["empty.jpg"] == "The file is empty." and "too narrow (600 x 6)" in problems["narrow.png"]
    assert page.text("#description-title") == "green-left.png" and page.text("#described-place") == "1 of 2"
    page.one("#next-described").click()
    page.until_text("#description-title", "blue-left.png")
    assert page.text("#described-place") == "2 of 2" and not page.one("#next-described").is_enabled()
    # The next drop replaces them.
    page.drop(photos[0])
    page.until_text("#status", "Described green-left.png.")
    assert page.all_of("#problems li") == [] and not page.one("#described-steps").is_displayed()


def test_a_file_that_is_too_large_is_not_sent(page: Page, page_server: Server) -> None:
    """The server would close the connection, and the browser would not show why."""
    page.open(page_server)
    page.until("#about", lambda element: element.text)
    page.run("""
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(21e6)], "big.jpg"));
    document.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer}));
    """)
    page.until_text("#problems li", "big.jpg: The file has 21.0 MB; the limit is 20.0 MB. Choose a smaller one.")
    assert not page.one("#description").is_displayed()


def test_a_chosen_file(page: Page, page_server: Server, served_world: Path) -> None:
    page.open(page_server)
    page.one("#file").send_keys(str(served_world / "photos" / "red-left.png"))
    page.until_text("#status", "Described red-left.png.")
    assert page.one("#description").is_displayed() and page.one("#plain").text


def test_a_pasted_photo_and_a_dropped_text(page: Page, page_server: Server, served_world: Path) -> None:
    page.open(page_server)
    page.run("document.dispatchEvent(new DragEvent('drop', {dataTransfer: new DataTransfer()}))")
    page.until("#status.problem", lambda element: element.text.startswith("There is no file in what you dropped."))
    photo = base64.b64encode((served_world / "photos" / "red-left.png").read_bytes()).decode()
    paste = """
    const bytes = Uint8Array.from(atob(arguments[0]), (letter) => letter.charCodeAt(0)), transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "pasted.png", {type: "image/png"}));
    document.dispatchEvent(new ClipboardEvent("paste", {clipboardData: transfer}));
    """
    page.run(paste, photo)
    page.until_text("#status", "Described pasted.png.")
    assert "problem" not in page.one("#status").get_attribute("class")


def test_a_phone_takes_photos(page: Page, page_server: Server, served_world: Path) -> None:
    page.show_as(390, 844)
    page.open(page_server)
    camera = page.one("#take-photo")
    assert camera.get_attribute("capture") == "environment" and camera.get_attribute("accept") == "image/*"
    labels = [label.text for label in page.all_of("#drop label") if label.is_displayed()]
    assert labels == ["Take a photo", "Choose photos"]
    camera.send_keys(str(served_world / "photos" / "red-left.png"))
    page.until_text("#status", "Described red-left.png.")
    page.show_as(1100, 900)
    labels = [label.text for label in page.all_of("#drop label") if label.is_displayed()]
    assert labels == ["Drop photos here or choose them"]
