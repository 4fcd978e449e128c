"""An index as a source of captions: only what people wrote, and each image once."""

import json
from pathlib import Path

import pytest

from embeds_colours import Colours, fill, paint
from tellapart.cli.prepare import PrepareOptions, prepare
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.search.captioned_photos import recognise
from tellapart.search.store import Store

TINTS = {"a/red": (200, 0, 0), "a/green": (0, 200, 0), "b/blue": (0, 0, 200), "b/dark": (40, 0, 0)}


@pytest.fixture
def index(tmp_path: Path) -> Store:
    """Four photos in two folders, and a copy of the first."""
    for name, tint in TINTS.items():
        paint(tmp_path / f"{name}.png", tint)
    (tmp_path / "b" / "copy.png").write_bytes((tmp_path / "a" / "red.png").read_bytes())
    (tmp_path / "a" / "stranger.jpg").write_bytes(b"no image")
    return fill(tmp_path / "index", Colours(), tmp_path / "a", tmp_path / "b")[0]


def packed(folder: Path, **changes: object) -> tuple[Pack, dict]:
    options = {"min_count": 1, "split": "1", "nouns": False, **changes}
    pack = prepare(PrepareOptions(str(folder / "index"), folder / "pack", **options))  # type: ignore[arg-type]
    return pack, json.loads((folder / "pack" / "report.json").read_text())


def test_what_people_wrote(index: Store, tmp_path: Path) -> None:
    """Both copies of the red photo were edited, one of them differently: one image with two captions."""
    for name, words in (("a/red", "My red door."), ("b/copy", "A door."), ("b/blue", "The sea")):
        index.edit(str(tmp_path / f"{name}.png"), words)
    assert recognise(tmp_path / "index")
    pack, report = packed(tmp_path)
    assert [pack.image_path(row) for row in range(2)] == [tmp_path / "a" / "red.png", tmp_path / "b" / "blue.png"]
    assert [(c.image, c.text) for c in pack.captions] == [(0, "My red door."), (0, "A door."), (1, "The sea")]
    assert {len(image.id) for image in pack.images} == {32} and pack.images[0].width == 40
    left = report["skipped"]["items"]
    assert [(one["kind"], one["item"]) for one in left] == [("image without caption", "2 photos")]
    assert report["format"] == "index"


def test_a_photo_that_is_gone_is_named(index: Store, tmp_path: Path) -> None:
    for name in ("a/red", "b/copy", "b/blue", "b/dark"):
        index.edit(str(tmp_path / f"{name}.png"), f"words of {name}")
    (tmp_path / "a" / "red.png").unlink()  # its copy stands in for it
    (tmp_path / "b" / "blue.png").unlink()
    (tmp_path / "elsewhere.png").write_bytes((tmp_path / "b" / "dark.png").read_bytes())
    (tmp_path / "b" / "dark.png").unlink()
    (tmp_path / "b" / "dark.png").symlink_to(tmp_path / "elsewhere.png")
    pack, report = packed(tmp_path)
    assert [image.file for image in pack.images] == ["b/copy.png"] and len(pack.captions) == 2
    missing = [one["item"] for one in report["skipped"]["items"] if one["kind"] == "missing image"]
    assert missing == [str(tmp_path / "b" / "blue.png"), str(tmp_path / "b" / "dark.png")]


def test_uncaptioned_photos_can_be_kept(index: Store, tmp_path: Path) -> None:
    index.edit(str(tmp_path / "b" / "blue.png"), "the sea")
    pack, _ = packed(tmp_path, keep_uncaptioned=True)
    assert len(pack.images) == 4 and len(pack.captions) == 1


def test_no_caption_edited_yet(index: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Nobody has written a caption"):
        packed(tmp_path)
    index.edit(str(tmp_path / "b" / "blue.png"), "the sea")
    index.edit(str(tmp_path / "b" / "blue.png"), None)
    with pytest.raises(InputError, match="Nobody has written"):
        packed(tmp_path)
