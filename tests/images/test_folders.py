"""Photos found by every way of naming them, opened upright, and a sentence for what is no photo."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from forbidden import forbid
from tellapart.core.errors import InputError
from tellapart.images.folders import find_photos, find_some_photos
from tellapart.images.formats import image_suffixes
from tellapart.images.opening import UnreadableImage, open_image, why_unreadable


@pytest.fixture()
def album(tmp_path: Path) -> Path:
    """b.jpg, a.PNG, notes.txt, deep/c.gif, .hidden/d.jpg and a file whose name looks like a pattern."""
    for name in ("b.jpg", "a.PNG", "deep/c.gif", ".hidden/d.jpg", "e[1].jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 6), "red").save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


def names(found: list[Path], folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in found]


def test_folders_files_and_patterns(album: Path) -> None:
    everything = ["a.PNG", "b.jpg", "e[1].jpg", "deep/c.gif"]
    assert names(find_photos([album]).photos, album) == everything
    assert names(find_photos([album / "b.jpg", album]).photos, album) == ["b.jpg", "a.PNG", "e[1].jpg", "deep/c.gif"]
    assert names(find_photos([f"{album}/*.jpg"]).photos, album) == ["b.jpg", "e[1].jpg"]
    assert names(find_photos([f"{album}/**/*"]).photos, album) == ["a.PNG", "b.jpg", "deep/c.gif", "e[1].jpg"]
    assert names(find_photos([str(album / "e[1].jpg")]).photos, album) == ["e[1].jpg"]
    assert names(find_photos([album / "notes.txt"]).photos, album) == ["notes.txt"]  # named outright: tried


@pytest.mark.parametrize("between", ["\n", "\r\n", "\0"])
def test_a_list_on_standard_input(album: Path, between: str) -> None:
    text = between.join([str(album / "b.jpg"), str(album / "deep"), ""])
    assert names(find_photos(["-"], io.StringIO(text)).photos, album) == ["b.jpg", "deep/c.gif"]


def test_what_is_not_there_is_said(album: Path) -> None:
    (album / "empty").mkdir()
    found = find_photos([album / "lost.jpg", album / "empty", f"{album}/*.webp", album / "b.jpg"])
    assert len(found.photos) == 1
    said = ("does not exist", "holds no images", "no image matches")
    assert all(words in fault for words, fault in zip(said, found.faults, strict=True))
    with pytest.raises(InputError, match=r"lost\.jpg does not exist"):
        find_some_photos([album / "lost.jpg"])
    with pytest.raises(InputError, match="No photos given"):
        find_some_photos(["-"], io.StringIO("\n"))


def test_a_link_is_another_photo_and_a_path_counts_once(album: Path) -> None:
    """As in an index: tests/search/test_index.py, test_a_link_inside_a_folder_is_a_row."""
    os.symlink(album / "b.jpg", album / "again.jpg")
    os.symlink(album / "deep", album / "way")
    assert names(find_photos(album).photos, album) == ["a.PNG", "again.jpg", "b.jpg", "e[1].jpg", "deep/c.gif"]
    assert len(find_photos([album / "b.jpg", album / "again.jpg", album / "deep" / ".." / "b.jpg"]).photos) == 2
    assert len(find_photos([album / "deep" / "c.gif", album / "way" / "c.gif"]).photos) == 1


def test_a_link_out_of_a_folder_is_not_followed_unless_given_by_name(
    album: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As in an index: tests/search/test_index.py, test_broken_files_are_named_and_links_out_are_not_followed."""
    outside = tmp_path_factory.mktemp("outside")
    (album / "b.jpg").rename(outside / "secret.jpg")
    link = album / "link.jpg"
    link.symlink_to(outside / "secret.jpg")
    found = find_photos(album)
    assert link not in found.photos and found.faults == [f"{link} links out of {album}; give it by name"]
    assert find_photos(link).photos == [link]


def test_links_in_a_circle_and_pipes_are_named_and_passed_over(album: Path) -> None:
    os.symlink("second.jpg", album / "first.jpg")
    os.symlink("first.jpg", album / "second.jpg")
    os.mkfifo(album / "pipe.jpg")
    found = find_photos([album])
    assert names(found.photos, album) == ["a.PNG", "b.jpg", "e[1].jpg", "deep/c.gif"]
    assert [fault.split("/")[-1] for fault in found.faults] == [
        f"{name} is not a file or a link to one" for name in ("first.jpg", "pipe.jpg", "second.jpg")
    ]


def test_a_name_that_is_no_text_is_named_and_passed_over(album: Path) -> None:
    """Neither a CSV nor JSON could hold it."""
    Image.new("RGB", (4, 6)).save(os.fsdecode(os.fsencode(album) + b"/caf\xe9.jpg"), "JPEG")
    found = find_photos([album])
    assert len(found.photos) == 4 and len(found.faults) == 1
    assert r"caf\udce9.jpg' is not named in UTF-8" in found.faults[0]


def test_a_folder_that_cannot_be_read_is_named(album: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(album / "deep", monkeypatch)
    found = find_photos([album])
    assert names(found.photos, album) == ["a.PNG", "b.jpg", "e[1].jpg"]
    assert found.faults == [f"{album / 'deep'} cannot be read (Permission denied)"]


def test_suffixes_are_those_pillow_opens() -> None:
    assert {".jpg", ".png", ".gif", ".tif", ".webp"} <= image_suffixes()
    assert not image_suffixes() & {".pdf", ".txt", ".h5", ".mpeg"}


def test_upright(tmp_path: Path) -> None:
    """Orientation 6: the camera was turned, so the stored left edge is the top. Wide becomes tall."""
    stored = np.zeros((2, 4, 3), np.uint8)
    stored[:, 0] = 255
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(stored).save(tmp_path / "turned.png", exif=exif)
    upright = np.asarray(open_image(tmp_path / "turned.png"))
    assert upright.shape == (4, 2, 3)
    assert upright[0].min() == 255 and upright[1:].max() == 0


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("notes.txt", b"no image", "its format is not recognised"),
        ("empty.jpg", b"", "the file is empty"),
        ("phone.heic", b"\0\0\0 ftypheic", "pip install 'tellapart\\[heic\\]'"),
    ],
)
def test_no_image_gets_a_clear_error(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    if name.endswith(".heic") and ".heic" in image_suffixes():
        pytest.skip("pillow-heif is installed here")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableImage, match=words):
        open_image(tmp_path / name)
    assert name in why_unreadable(tmp_path / name, "")
