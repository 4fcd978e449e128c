"""Alternative texts: which images get a caption, an empty text or none, and how files are written."""

import csv
import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from metadata_photos import xmp_packet
from tellapart.alt_text import document
from tellapart.alt_text.captioning import PageCaptioner
from tellapart.alt_text.changes import diff, write
from tellapart.alt_text.decorative import why_decorative
from tellapart.alt_text.image_facts import ImageFacts, image_facts
from tellapart.alt_text.page_image import PageImage
from tellapart.alt_text.pages import find_pages, read_page
from tellapart.alt_text.proposal import Proposal
from tellapart.alt_text.propose import Proposer, Replaced
from tellapart.alt_text.wording import alternative_text
from tellapart.cli import alt_text as verb
from tellapart.cli.main import main
from tellapart.core.errors import InputError
from tellapart.images.opening import UnreadableImage
from tellapart.inference import loading
from tellapart.inference.caption import Caption
from tellapart.inference.caption_settings import CaptionSettings


def photo(path: Path, seed: int = 0, size: tuple[int, int] = (96, 80), **more: object) -> Path:
    """Noise: no two pixels are alike, as in photos."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    Image.fromarray(pixels).save(path, **more)
    return path


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    for seed, name in enumerate(("dog.png", "cat.png", "unsure.png", "apart.jpg")):
        photo(folder / "img" / name, seed)
    photo(folder / "img" / "icon.png", size=(16, 16))
    Image.new("RGB", (200, 100), "white").save(folder / "img" / "white.png")
    drawing = Image.new("RGB", (200, 100), "white")
    drawing.paste("black", (50, 20, 100, 80))
    drawing.save(folder / "img" / "drawing.png")
    (folder / "img" / "vector.svg").write_text("<svg/>")
    (folder / "img" / "broken.png").write_bytes(b"no image")
    photo(folder / "img" / "own.jpg", 9, xmp=xmp_packet("Whiskers, our grumpy calico"))
    return folder


def captions(files: Sequence[Path], others: Sequence[Path]) -> list[Caption | Exception]:
    """A captioner that reads the names of files."""
    assert set(files) <= set(others)
    return [
        Caption(f"a {file.stem}", -1.0, distinct=file.stem != "apart", sure=file.stem != "unsure") for file in files
    ]


def proposals(page: Path, text: str, *replaced: Replaced, unsure: bool = False) -> list[Proposal]:
    page.write_text(text)
    found = find_pages([page.parent])
    return Proposer(captions, replaced, unsure).propose(read_page(*found[0]))


def one(site: Path, tag: str, *replaced: Replaced, unsure: bool = False) -> tuple[str, str | None, str]:
    (found,) = proposals(site / "index.html", f"<img src=img/cat.png alt=Cat>{tag}", *replaced, unsure=unsure)
    return found.status, found.alt, found.note


def test_each_kind_of_image(site: Path) -> None:
    assert one(site, "<img src=img/dog.png>") == ("caption", "A dog", "")
    assert one(site, "<img src=img/apart.jpg>")[2] == "nothing sets it apart from the others of its page"
    assert one(site, "<img src=img/own.jpg>") == ("own", "Whiskers, our grumpy calico", "from its metadata")
    assert one(site, "<img src=img/dog.png title='Rex'>") == ("own", "Rex", "from its title")
    assert one(site, "<img src=img/icon.png>")[:2] == ("decorative", "")
    assert one(site, "<img src=img/white.png>") == ("decorative", "", "it is all of one colour")
    assert one(site, "<a href=x><img src=img/dog.png> Rex</a>")[:2] == ("decorative", "")
    assert one(site, "<img role=none src=https://example.org/a.png>")[:2] == ("decorative", "")
    assert one(site, "<img src=img/vector.svg>")[:2] == ("skipped", None)
    assert one(site, "<img src=img/none.png>") == ("skipped", None, "its file does not exist")
    assert one(site, "<img src=img/broken.png>")[0] == "skipped"
    assert "fetched" in one(site, "<img src=https://example.org/a.png>")[2]


def test_what_is_not_sure_is_for_review_and_not_written(site: Path) -> None:
    for tag, note in (
        ("<img src=img/unsure.png>", "not sure"),
        ("<img src=img/drawing.png>", "screenshot"),
        ("<a href=x.html><img src=img/dog.png></a>", "link"),
    ):
        (found,) = proposals(site / "index.html", tag)
        assert found.status == "review" and found.edit is None and note in found.note
        (taken,) = proposals(site / "index.html", tag, unsure=True)
        assert taken.status == "caption" and taken.edit is not None and note in taken.note
    photo(site / "img" / "small.png", size=(40, 64))
    assert "small" in one(site, "<img src=img/small.png>")[2]
    assert one(site, "<a href=big.jpg><img src=img/dog.png></a>")[0] == "caption"


def test_the_least_confidence_of_a_caption(site: Path) -> None:
    (site / "index.html").write_text("<img src=img/dog.png>")
    page = read_page(*find_pages([site])[0])

    def status(confidence: float, least: float = 0.7) -> str:
        answer = [Caption("a dog", -1.0, confidence=confidence, sure=True)]
        return Proposer(lambda files, others: answer, confidence=least).propose(page)[0].status

    assert (status(0.69), status(0.7), status(0.6, least=0.5)) == ("review", "caption", "caption")
    with pytest.raises(InputError, match="from 0 to 1, not 70"):
        status(0.7, least=70)


def test_given_texts_stay_unless_they_are_to_be_replaced(site: Path) -> None:
    page = site / "index.html"
    text = "<img src=img/dog.png alt=''><img src=img/cat.png alt=cat.png><img src=img/dog.png alt=dog>"
    assert proposals(page, text) == []
    assert [found.alt for found in proposals(page, text, "empty")] == ["A dog"]
    assert [found.alt for found in proposals(page, text, "file-names")] == ["A cat"]
    assert proposals(page, "<img src=img/dog.png aria-label=Rex>", "empty", "file-names") == []


def test_images_with_the_same_text_are_noted(site: Path) -> None:
    photo(site / "more" / "dog.png", 5)
    found = proposals(site / "index.html", "<img src=img/dog.png><img src=more/dog.png>")
    assert [one.note for one in found] == ["the same text as more/dog.png", "the same text as img/dog.png"]


@pytest.mark.parametrize(
    ("image", "facts", "name", "uses", "expected"),
    [
        ({}, (100, 100), "a.png", 1, False),
        ({}, (100, 3), "a.png", 1, True),
        ({}, (24, 24), "a.png", 1, True),
        ({}, (25, 24), "a.png", 1, False),
        ({"width": 16, "height": 16}, (100, 100), "a.png", 1, True),
        ({"link": "x.html"}, (24, 24), "a.png", 1, False),
        ({}, (480, 24), "a.png", 1, True),
        ({}, (479, 24), "a.png", 1, False),
        ({}, (64, 200), "blue-divider2.png", 1, True),
        ({}, (65, 200), "blue-divider2.png", 1, False),
        ({}, (64, 64), "bullet-train.png", 1, False),
        ({}, (64, 64), "a.png", 3, True),
        ({}, (64, 64), "a.png", 2, False),
        ({}, (65, 64), "a.png", 3, False),
        ({"hidden": True}, (100, 100), "a.png", 1, True),
        ({"link": "x", "link_text": "Home"}, (100, 100), "a.png", 1, True),
    ],
)
def test_rules_of_decorative_images(
    image: dict[str, object], facts: tuple[int, int], name: str, uses: int, expected: bool
) -> None:
    page_image = PageImage((), None, 0, lambda text: document.Edit(0, 0, text), **image)  # type: ignore[arg-type]
    assert bool(why_decorative(page_image, ImageFacts(*facts), name, uses)) == expected


def test_facts_of_files(site: Path, tmp_path: Path) -> None:
    assert image_facts(site / "img" / "dog.png").flat < 0.01 and image_facts(site / "img" / "drawing.png").drawn
    assert image_facts(site / "img" / "broken.png").fault and image_facts(tmp_path / "no.png").fault
    clear = tmp_path / "clear.png"
    Image.fromarray(np.dstack([np.asarray(Image.open(site / "img" / "dog.png")), np.zeros((80, 96), np.uint8)])).save(
        clear
    )
    assert image_facts(clear).one_colour
    Image.new("RGB", (1, 1)).save(clear)
    assert image_facts(clear).width == 1


def test_texts_are_never_longer_than_125_characters() -> None:
    for text in ("word " * 60, "w" * 300, "a " * 200, "A dog, " * 30):
        assert 0 < len(alternative_text(text)) <= 125
    assert alternative_text("x" * 125) == "X" + "x" * 124 and alternative_text(" \n") == ""
    long = (
        "a brown dog that runs along a wide sandy beach with a red ball in its mouth while two children watch it from "
    )
    assert alternative_text(f"{long}the water of the sea and laugh").endswith("from the water…")


def test_markdown_keeps_decorative_images_as_they_are(site: Path) -> None:
    page = site / "index.md"
    found = proposals(page, "![](img/dog.png)\n![](img/icon.png)\n")
    assert [(one.status, one.line) for one in found] == [("caption", 1), ("decorative", 2)] and found[1].edit is None
    assert (
        write(document.read_document(page), found) and page.read_text() == "![A dog](img/dog.png)\n![](img/icon.png)\n"
    )


def test_a_diff_is_what_patch_applies(site: Path) -> None:
    page = site / "index.html"
    text = "<p>One\r\n<img src=img/dog.png>\r\n" + "<p>\n" * 9 + "<img src=img/cat.png>\u2028<p>no newline at the end"
    page.write_bytes(text.encode())
    read = read_page(*find_pages([page])[0])
    shown = diff(read.document, Proposer(captions).propose(read))
    write(read.document, Proposer(captions).propose(read))
    written = page.read_bytes()
    assert written == text.replace("<img src=img/dog", '<img alt="A dog" src=img/dog').replace(
        "<img src=img/cat", '<img alt="A cat" src=img/cat').encode()  # fmt: skip
    page.write_bytes(text.encode())
    subprocess.run(["patch", "--binary", "-s", str(page)], input=shown.encode(), check=True)
    assert page.read_bytes() == written
    assert diff(read_page(*find_pages([page])[0]).document, []) == ""


def test_writing_is_atomic_and_keeps_rights_and_links(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, link = site / "index.html", site / "link.html"
    found = proposals(page, "<img src=img/dog.png>")
    page.chmod(0o640)
    link.symlink_to(page)
    opened = document.read_document(link)
    assert write(opened, found) and link.is_symlink() and stat.S_IMODE(page.stat().st_mode) == 0o640
    assert page.read_text() == '<img alt="A dog" src=img/dog.png>'
    with pytest.raises(InputError, match="changed meanwhile"):
        document.write_document(opened, b"x")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError):
        document.write_document(document.read_document(page), b"x")
    assert page.read_text() == '<img alt="A dog" src=img/dog.png>' and not list(site.glob(".*"))


class Counted:
    """A captioner that counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], list[str]]] = []

    def stream(self, images: list[Path], settings: CaptionSettings) -> list[Caption | UnreadableImage]:
        others = [] if settings.against is None else [path.name for path in settings.against]  # type: ignore[union-attr]
        self.asked.append(([path.name for path in images], others))
        return [Caption(f"a {path.stem}", -1.0, sure=path.stem != "unsure") for path in images]


def test_images_are_captioned_among_those_of_their_page_and_once(site: Path) -> None:
    captioner = Counted()
    page = PageCaptioner(lambda: captioner)  # type: ignore[arg-type,return-value]
    dog, cat, copy = site / "img" / "dog.png", site / "img" / "cat.png", site / "copy.png"
    copy.write_bytes(dog.read_bytes())
    assert [str(one) for one in page([dog], [dog, cat])] == ["a dog"]
    page([dog], [dog, cat])
    page([dog, copy], [dog, copy])  # a copy is not another image
    page([cat], [cat])
    assert captioner.asked == [(["dog.png"], ["dog.png", "cat.png"]), (["copy.png"], []), (["cat.png"], [])]


def test_images_that_are_copies_of_each_other_get_plain_captions(site: Path) -> None:
    """The same photo in two formats: no image is left to tell it apart from."""

    class OnlyCopies(Counted):
        def stream(self, images: list[Path], settings: CaptionSettings) -> list[Caption | UnreadableImage]:
            if settings.against is not None:
                raise InputError("A distinctive caption needs at least one other image to compare with.")
            return super().stream(images, settings)

    dog, copy = site / "img" / "dog.png", site / "img" / "dog.bmp"
    Image.open(dog).save(copy)
    page = PageCaptioner(OnlyCopies)  # type: ignore[arg-type]
    assert [str(one) for one in page([dog, copy], [dog, copy])] == ["a dog", "a dog"]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    captioner = Counted()
    monkeypatch.setattr(loading, "load_captioner", lambda *_, **__: captioner)
    return captioner


def test_the_verb(site: Path, tmp_path: Path, counted: Counted, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "index.html").write_text("<img src=/img/dog.png><img src=img/unsure.png><img src=img/icon.png>")
    before = (site / "index.html").read_bytes()
    assert main(["alt-text", str(site), "--quiet"]) == 0
    shown = capsys.readouterr()
    assert '+<img alt="A dog" src=/img/dog.png><img src=img/unsure.png><img alt="" src=img/icon.png>' in shown.out
    assert "Pages: 1, to change: 1. Images without text: 1 captioned, 0 described by people, 1 dec" in shown.err
    assert main(["alt-text", str(site), "--json", "--quiet"]) == 0
    images = json.loads(capsys.readouterr().out)["images"]
    assert [one["status"] for one in images] == ["caption", "review", "decorative"] and images[1]["note"] == "not sure"
    assert main(["alt-text", str(site), "--csv", str(tmp_path / "alt.csv"), "--quiet"]) == 0
    assert (site / "index.html").read_bytes() == before and capsys.readouterr().out == ""
    rows = list(csv.DictReader((tmp_path / "alt.csv").open()))
    assert (rows[1]["alt"], rows[1]["suggestion"], rows[1]["status"]) == ("", "A unsure", "review")
    assert main(["alt-text", str(site), "--reviewed", str(tmp_path / "alt.csv"), "--quiet"]) == 0
    assert "A unsure" not in capsys.readouterr().out  # a suggestion that nobody took is not written
    text = (tmp_path / "alt.csv").read_text().replace("review,,A unsure", "review,Rex asleep,A unsure")
    (tmp_path / "alt.csv").write_text(text)
    assert main(["alt-text", str(site), "--reviewed", str(tmp_path / "alt.csv"), "--write", "--quiet"]) == 0
    assert (site / "index.html").read_text() == (
        '<img alt="A dog" src=/img/dog.png><img alt="Rex asleep" src=img/unsure.png><img alt="" src=img/icon.png>'
    )
    assert main(["alt-text", str(site), "--write", "--quiet"]) == 0 and "changed: 0" in capsys.readouterr().err


def test_nothing_is_loaded_where_nothing_lacks_a_text(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "load_captioner", lambda *_, **__: pytest.fail("loaded"))
    (site / "index.html").write_text("<img src=/img/dog.png alt=Rex>")
    assert verb.alt_text(verb.AltTextOptions((site,), quiet=True)).proposals == []


def test_models_are_imported_when_the_first_caption_is_needed() -> None:
    """Reviewed texts are applied, and edits exported, in a second; torch alone takes several."""
    verbs = "alt_text, backup, export_edits, import_edits, restore, write_captions"
    code = f"import sys; from tellapart.cli import {verbs}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "none does not exist; give a folder, or HTML or Markdown files."),
        (["img/dog.png"], "is not HTML or Markdown"),
        (["img"], "no HTML or Markdown files"),
        ([".", "--write", "--json"], "give --write, or one of --json and --csv."),
        (["index.html", "--root", "none"], "--root must be a folder, and none is none."),
        ([".", "--reviewed", "bad.csv"], "does not have the columns page, image, alt"),
        ([".", "--reviewed", "bad.json"], "broken JSON"),
        ([".", "--reviewed", "none.csv"], "none.csv does not exist"),
    ],
)
def test_errors_are_one_sentence(
    site: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(site)
    (site / "index.html").write_text("")
    (site / "bad.csv").write_text("a,b\n1,2\n")
    (site / "bad.json").write_text("{")
    assert main(["alt-text", *arguments, "--quiet"]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and "Traceback" not in error


def test_a_reviewed_text_that_is_too_long_is_reported(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "index.html").write_text("<img src=img/dog.png>")
    rows = [{"page": str(site / "index.html"), "image": "img/dog.png", "alt": "x" * 126}]
    (site / "long.json").write_text(json.dumps(rows))
    assert main(["alt-text", str(site), "--reviewed", str(site / "long.json"), "--write", "--quiet"]) == 0
    assert "126 characters" in capsys.readouterr().err and "alt" not in (site / "index.html").read_text()


def test_the_verb_names_its_option_for_images_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Image.new("RGB", (80, 80)).save(tmp_path / "outside.png")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a.html").write_text('<img src="../outside.png">')
    verb.alt_text(verb.AltTextOptions((tmp_path / "site",)))
    assert "give a folder around both as --root" in capsys.readouterr().err
