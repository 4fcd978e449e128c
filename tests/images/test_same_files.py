"""prepare, index and caption see the same image files in a folder."""

from pathlib import Path

import pytest
from PIL import Image

from tellapart.data.readers import folder as folder_reader
from tellapart.data.readers.source import ReaderOptions
from tellapart.images.folders import find_photos
from tellapart.images.formats import SUFFIXES, image_stem, image_suffixes


@pytest.fixture()
def every_format(tmp_path: Path) -> Path:
    """One file per suffix that can be opened here, with a caption each, a hidden one, and a file that is no image."""
    for number, suffix in enumerate(sorted(image_suffixes())):
        (tmp_path / f"{number}{suffix}").touch()
        (tmp_path / f"{number}.txt").write_text("a caption")
    (tmp_path / ".hidden.jpg").touch()
    (tmp_path / "notes.md").touch()
    return tmp_path


def test_prepare_index_and_caption_see_the_same_files(every_format: Path) -> None:
    expected = {f"{number}{suffix}" for number, suffix in enumerate(sorted(image_suffixes()))}
    assert {".jfif", ".jpe", ".jpg", ".png"} <= image_suffixes()
    source = folder_reader.read(every_format, ReaderOptions())
    assert {image.name for image in source.images} == expected and not source.skipped
    assert {path.name for path in find_photos(every_format).photos} == expected
    index = pytest.importorskip("tellapart.search.walk", reason="an index needs LanceDB")
    assert {path.name for path in index.images_in(every_format)} == expected


def test_every_suffix_is_cut_from_a_name() -> None:
    assert {image_stem(f"folder/a{suffix.upper()}") for suffix in SUFFIXES} == {"a"}


def test_a_string_is_one_path(tmp_path: Path) -> None:
    """Not its letters, of which the first, "/", would be the whole disk."""
    path = tmp_path / "a.png"
    Image.new("RGB", (4, 6)).save(path)
    assert find_photos(str(path)).photos == find_photos(path).photos == find_photos([path]).photos == [path]
