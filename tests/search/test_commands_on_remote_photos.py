"""Every command that takes an index treats photos at addresses as those of a folder, or says what it cannot do."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

import tellapart as ta
from embeds_colours import paint
from tellapart.cli.main import main
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.search.photo_index import PhotoIndex
from tellapart.search.store import open_store

fsspec = pytest.importorskip("fsspec")
TINTS = {"trip/red.jpg": (200, 0, 0), "trip/green.jpg": (0, 200, 0), "blue.jpg": (0, 0, 200)}


@pytest.fixture(scope="module")
def matcher() -> object:
    return ta.load_matcher()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Three photos, two of them in a folder trip."""
    address = f"memory://{tmp_path.name}/photos"
    for name, tint in TINTS.items():
        with fsspec.open(f"{address}/{name}", "wb") as file:
            file.write(paint(tmp_path / "here" / name, tint).read_bytes())
    yield address
    fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


@pytest.fixture
def index(address: str, tmp_path: Path, matcher: object) -> PhotoIndex:
    index = ta.open_index(tmp_path / "index", matcher, captioner=None, device="cpu")
    index.update(address)
    return index


def full(address: str, name: str) -> str:
    return f"{address.replace('memory://', 'memory:///')}/{name}"


def test_a_folder_at_an_address_filters(index: PhotoIndex, address: str) -> None:
    for folder in (f"{address}/trip", f"{address}/trip/"):
        found = index.search("a photo", folder=folder, everything=True)
        assert sorted(one.path for one in found) == [full(address, f"trip/{name}.jpg") for name in ("green", "red")]


def test_a_photo_at_an_address_is_an_example(
    index: PhotoIndex, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    red = full(address, "trip/red.jpg")
    where = str(tmp_path / "index")
    assert main(["search", where, "--like", red, "--count", "1", "--paths"]) == 0
    assert capsys.readouterr().out.strip() == red
    assert main(["search", where, "--like", red, "--folder", f"{address}/trip", "--everything", "--paths"]) == 0
    assert len(capsys.readouterr().out.split()) == 2
    assert main(["search", where, "--like", f"{address}/none.jpg"]) == 1
    assert "none.jpg does not exist" in capsys.readouterr().err
    assert red not in [one.path for one in index.similar(red, 3)]


@pytest.mark.parametrize("suffix", ["png", "html"])
def test_a_sheet_shows_them(index: PhotoIndex, tmp_path: Path, suffix: str) -> None:
    from tellapart.report.sheet import write_sheet

    sheet = tmp_path / f"sheet.{suffix}"
    write_sheet(index.search("a photo", everything=True).photos, "a photo", sheet)
    if suffix == "html":
        assert "3 photos" in sheet.read_text() and sheet.read_text().count("<figure") == 3
    else:
        with Image.open(sheet) as opened:
            assert {(200, 0, 0), (0, 200, 0), (0, 0, 200)} <= {
                tuple(round(value / 20) * 20 for value in colour)
                for _, colour in opened.getcolors(opened.width * opened.height)
            }


def test_captions_are_not_written_and_the_command_says_so(
    index: PhotoIndex, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = str(tmp_path / "index")
    assert main(["write-captions", where, "--quiet"]) == 0, "there is no caption to write"
    open_store(where).edit(full(address, "trip/red.jpg"), "My red door")
    capsys.readouterr()
    assert main(["write-captions", where, "--quiet"]) == 1
    said = capsys.readouterr()
    assert "trip/red.jpg is at an address, where captions cannot be written" in said.err
    assert f"`tellapart export-edits {where} edits.csv` writes their captions into a file" in said.err
    assert main(["write-captions", where, "--quiet", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["at_addresses"] == 1
    assert main(["write-captions", where, "--quiet", "--folder", f"{address}/none"]) == 0


def test_the_captions_of_photos_on_disk_are_written_all_the_same(
    index: PhotoIndex, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index.update([address, tmp_path / "here"])
    for path in (full(address, "blue.jpg"), str(tmp_path / "here" / "blue.jpg")):
        index.store.edit(path, "The sea")
    assert main(["write-captions", str(tmp_path / "index"), "--quiet"]) == 0
    assert (tmp_path / "here" / "blue.jpg.xmp").is_file()
    assert "Photos at addresses cannot be written" in capsys.readouterr().err


def test_edits_find_them_by_path(index: PhotoIndex, address: str, tmp_path: Path) -> None:
    blue = full(address, "blue.jpg")
    table = io.StringIO()
    csv.writer(table).writerows([["image", "caption"], [blue, "The sea"]])
    (tmp_path / "edits.csv").write_text(table.getvalue())
    assert main(["import-edits", str(tmp_path / "index"), str(tmp_path / "edits.csv")]) == 0
    row = open_store(str(tmp_path / "index")).row(blue)
    assert row is not None and row["edited"] == "The sea"


def test_a_pack_is_prepared_from_them(index: PhotoIndex, address: str, tmp_path: Path) -> None:
    index.update([address, tmp_path / "here"])
    (tmp_path / "here" / "blue.jpg").unlink()
    for name, words in (("blue.jpg", "The sea"), ("trip/red.jpg", "My red door")):
        index.store.edit(full(address, name), words)
    options = PrepareOptions(str(tmp_path / "index"), tmp_path / "pack", min_count=1, split="1", nouns=False)
    pack = prepare(options)
    assert [caption.text for caption in pack.captions] == ["The sea", "My red door"]
    files = [pack.image_path(row) for row in range(2)]
    assert files[0].read_bytes() != files[1].read_bytes()
    assert {file.parent for file in files} == {tmp_path / "pack-images"}
    with Image.open(files[0]) as opened:
        assert opened.size == (40, 24)


def test_captioning_an_address_says_what_to_do(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["caption", f"{address}/trip", "--quiet"]) == 1
    said = capsys.readouterr().err
    assert f"{address}/trip is an address" in said and "`tellapart index ADDRESS --out INDEX`" in said


def test_the_page_filters_by_their_folder_and_names_originals(index: PhotoIndex, address: str) -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from tellapart.serve.access import AccessRules
    from tellapart.serve.app import create_app

    client = TestClient(create_app(index, AccessRules(originals=True)), "http://127.0.0.1")
    folders = client.get("/api/filters").json()["folders"]
    assert folders == ["photos", "photos/trip"]
    found = client.get("/api/photos", params={"folder": folders[1]}).json()["photos"]
    assert sorted(photo["name"] for photo in found) == ["green.jpg", "red.jpg"]
    sent = client.get(f"/api/photos/{found[0]['id']}/original")
    assert f'filename="{found[0]["name"]}"' in sent.headers["content-disposition"]
