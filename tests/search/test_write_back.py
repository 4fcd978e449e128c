"""Captions that leave an index: into sidecars, into photos, and what an update makes of them afterwards."""

import os
from pathlib import Path

import pytest
from PIL import Image

from embeds_colours import Colours, fill, paint
from metadata_photos import exiftool
from tellapart.cli.main import main
from tellapart.images.folders import find_photos
from tellapart.images.metadata.photo_metadata import read_metadata
from tellapart.images.metadata.writing import write_description
from tellapart.search.store import Store, open_store
from tellapart.search.write_back import WriteBack, write_back


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for name, colour in (("red", (200, 0, 0)), ("green", (0, 200, 0)), ("blue", (0, 0, 200))):
        paint(tmp_path / "photos" / f"{name}.jpg", colour)
    return tmp_path / "photos"


@pytest.fixture
def store(photos: Path, tmp_path: Path) -> Store:
    store = fill(tmp_path / "index", Colours(), photos)[0]
    store.edit(str(photos / "red.jpg"), "Whiskers, our grumpy calico")
    return store


def described(photo: Path) -> str | None:
    with Image.open(photo) as opened:
        return read_metadata(opened, photo).description


@pytest.mark.parametrize("where", ["sidecar", "embedded"])
def test_peoples_captions_are_written_and_nothing_is_encoded_again(
    where: str, photos: Path, store: Store, tmp_path: Path
) -> None:
    others = (photos / "green.jpg").read_bytes()
    result = write_back(store, WriteBack(where))  # type: ignore[arg-type]
    changed = photos / ("red.jpg.xmp" if where == "sidecar" else "red.jpg")
    assert result.files == [str(changed)] and described(photos / "red.jpg") == "Whiskers, our grumpy calico"
    assert exiftool("-s3", "-XMP-dc:Description", str(changed)).strip() == "Whiskers, our grumpy calico"
    assert (photos / "green.jpg").read_bytes() == others and not (photos / "green.jpg.xmp").exists()
    colours = Colours()
    again, changes = fill(tmp_path / "index", colours, photos)
    assert colours.looked == [] and changes.unchanged == 3
    row = again.row(str(photos / "red.jpg"))
    assert row and row["described"] == row["edited"] == "Whiskers, our grumpy calico"
    assert write_back(again, WriteBack(where)).unchanged == 1  # type: ignore[arg-type]


def test_generated_captions_are_written_on_request_and_stay_generated(
    photos: Path, store: Store, tmp_path: Path
) -> None:
    paint(photos / "own.jpg", (0, 190, 0))
    write_description(photos / "own.jpg", "The garden", "embedded")
    store = fill(tmp_path / "index", Colours(), photos)[0]
    result = write_back(store, WriteBack("embedded", generated=True))
    assert sorted(Path(file).name for file in result.files) == ["blue.jpg", "green.jpg", "red.jpg"]
    assert exiftool("-s3", "-ImageDescription", str(photos / "green.jpg")).strip() == "green"
    assert described(photos / "green.jpg") is None and described(photos / "own.jpg") == "The garden"
    again = fill(tmp_path / "index", Colours(), photos)[0].row(str(photos / "green.jpg"))
    assert again and again["described"] is None and again["caption"] == "green"


def test_only_missing_keeps_other_descriptions(photos: Path, store: Store) -> None:
    write_description(photos / "red.jpg", "The garden", "embedded")
    result = write_back(store, WriteBack("embedded", only_missing=True))
    assert result.files == [] and result.kept == 1 and described(photos / "red.jpg") == "The garden"
    assert (
        write_back(store, WriteBack("embedded")).files
        and described(photos / "red.jpg") == "Whiskers, our grumpy calico"
    )


def test_a_dry_run_writes_nothing(photos: Path, store: Store) -> None:
    before = {path: path.read_bytes() for path in photos.iterdir()}
    assert write_back(store, WriteBack(dry_run=True)).files == [str(photos / "red.jpg")]
    assert {path: path.read_bytes() for path in photos.iterdir()} == before


def test_photos_that_cannot_be_written_are_listed(photos: Path, store: Store) -> None:
    (photos / "red.jpg").write_bytes(b"no image")
    (photos / "green.jpg").unlink()
    store.edit(str(photos / "green.jpg"), "gone")
    faults = write_back(store, WriteBack()).faults
    assert len(faults) == 2 and "green.jpg does not exist" in faults[0] and "red.jpg cannot be opened" in faults[1]


def test_a_sidecar_that_changes_is_read_again(photos: Path, store: Store, tmp_path: Path) -> None:
    photo, sidecar = photos / "blue.jpg", photos / "blue.xmp"
    write_description(photo, "The sea", "sidecar")
    os.rename(photos / "blue.jpg.xmp", sidecar)

    def updated() -> str | None:
        colours = Colours()
        row = fill(tmp_path / "index", colours, photos)[0].row(str(photo))
        assert row is not None and colours.looked == []
        return row["described"]

    assert updated() == "The sea"
    write_description(photo, "The ocean", "sidecar")
    os.utime(sidecar, ns=(0, photo.stat().st_mtime_ns + 5_000_000_000))
    assert updated() == "The ocean"
    sidecar.unlink()
    assert updated() is None


def test_a_link_to_nothing_is_listed_as_caption_lists_it(photos: Path, store: Store, tmp_path: Path) -> None:
    (photos / "dangling.jpg").symlink_to(tmp_path / "nowhere.jpg")
    changes = fill(tmp_path / "index", Colours(), photos)[1]
    assert changes.faults == find_photos(photos).faults == [f"{photos / 'dangling.jpg'} is not a file or a link to one"]


def test_the_verb(photos: Path, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["write-captions", store.where, "--quiet", "--dry-run"]) == 0
    assert capsys.readouterr().out == f"{photos / 'red.jpg'}\n"
    assert main(["write-captions", store.where, "--quiet", "--to", "embedded"]) == 0
    assert capsys.readouterr().out.startswith("Wrote 1 captions; 0 photos had theirs already, 0 keep another")
    assert (photos / "red.jpg_original").is_file() and described(photos / "red.jpg") == "Whiskers, our grumpy calico"
    assert main(["write-captions", store.where, "--quiet", "--folder", str(photos / "no"), "--json"]) == 0
    assert main(["write-captions", str(photos / "no"), "--quiet"]) == 1
    assert open_store(store.where).row(str(photos / "red.jpg"))["described"] == "Whiskers, our grumpy calico"  # type: ignore[index]
