"""HEIC, raw photos, videos and TIFF files of several pages, each opened as one image; extras that are missing."""

import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embeds_colours import Colours, fill, paint
from raw_photos import dng
from tellapart.images import folders, formats
from tellapart.images.folders import find_photos
from tellapart.images.formats import EXTRAS, image_suffixes, photo_suffixes
from tellapart.images.opening import UnreadableImage, open_image
from tellapart.images.previews import detail
from tellapart.images.sources import opened
from tellapart.search.file_facts import file_facts

TINY_HEIC = Path(__file__).parent / "tiny.heic"
"""Made by `heif-enc` (libheif 1.15) of halves(64, 48)."""


def halves(width: int, height: int) -> Image.Image:
    """Red on the left, blue on the right."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, : width // 2], pixels[:, width // 2 :] = (220, 30, 30), (30, 30, 220)
    return Image.fromarray(pixels)


def shows_halves(image: Image.Image) -> bool:
    left, right = (np.asarray(image.convert("RGB"))[image.height // 2, image.width * part // 4] for part in (1, 3))
    return bool(left[0] > 150 > left[2] and right[2] > 150 > right[0])


def test_heic(tmp_path: Path) -> None:
    pytest.importorskip("pillow_heif", reason="HEIC needs pillow-heif: pip install tellapart[heic]")
    photo = Path(shutil.copy(TINY_HEIC, tmp_path / "a.heic"))
    assert ".heic" in image_suffixes()
    image = open_image(photo)
    assert image.size == (64, 48) and shows_halves(image)
    assert find_photos([tmp_path]).photos == [photo]


def test_heic_made_here(tmp_path: Path) -> None:
    pytest.importorskip("pillow_heif", reason="HEIC needs pillow-heif: pip install tellapart[heic]")
    if shutil.which("heif-enc") is None:
        pytest.skip("heif-enc is not installed (Debian: libheif-examples)")
    halves(200, 120).save(tmp_path / "a.png")
    subprocess.run(["heif-enc", "a.png", "-o", "a.heic"], cwd=tmp_path, check=True, capture_output=True)
    image = open_image(tmp_path / "a.heic")
    assert image.size == (200, 120) and shows_halves(image)


@pytest.mark.parametrize("orientation", [1, 6])
def test_a_raw_photo_is_its_preview(tmp_path: Path, orientation: int) -> None:
    pytest.importorskip("rawpy", reason="raw photos need rawpy: pip install tellapart[raw]")
    photo = tmp_path / "a.DNG"
    photo.write_bytes(dng(halves(64, 48), orientation=orientation))
    assert ".dng" in photo_suffixes() and find_photos([tmp_path]).photos == [photo]
    image = open_image(photo)
    if orientation == 1:
        assert image.size == (64, 48) and shows_halves(image)
    else:  # rotated clockwise: red is on top
        assert image.size == (48, 64) and shows_halves(image.rotate(90, expand=True))
    facts = file_facts(photo)
    assert (facts.width, facts.height) == image.size and facts.camera == "Tella Part 1"
    assert facts.taken is not None and facts.taken.year == 2019


def test_a_raw_photo_without_preview_is_named(tmp_path: Path) -> None:
    pytest.importorskip("rawpy", reason="raw photos need rawpy: pip install tellapart[raw]")
    for data in (b"", b"not a raw photo", dng(halves(64, 48))[:2000]):
        (tmp_path / "a.nef").write_bytes(data)
        with pytest.raises(UnreadableImage, match=r"a\.nef cannot be used"):
            open_image(tmp_path / "a.nef")


def film(path: Path, seconds: int = 4) -> Path:
    """A video that is black for half of its length, and then shows the halves."""
    av = pytest.importorskip("av", reason="videos need PyAV: pip install tellapart[video]")
    with av.open(str(path), "w") as container:
        container.metadata["creation_time"] = "2019-07-21T18:04:33.000000Z"
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = 64, 48, "yuv420p", 5
        for number in range(10 * seconds):
            image = Image.new("RGB", (64, 48)) if number < 5 * seconds else halves(64, 48)
            for packet in stream.encode(av.VideoFrame.from_image(image)):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path


def test_a_video_is_its_key_frame_with_the_most_detail(tmp_path: Path) -> None:
    video = film(tmp_path / "a.mp4")
    image = open_image(video)
    assert image.size == (64, 48) and shows_halves(image)
    with opened(video) as frame:
        assert shows_halves(frame) and detail(frame) > 10 > detail(Image.new("RGB", (9, 9)))
    facts = file_facts(video)
    assert (facts.width, facts.height) == (64, 48) and facts.taken is not None and facts.taken.hour == 18
    (tmp_path / "b.mp4").write_bytes(b"no video")
    with pytest.raises(UnreadableImage, match=r"b\.mp4 cannot be used"):
        open_image(tmp_path / "b.mp4")


def test_a_tiff_file_is_its_largest_page(tmp_path: Path) -> None:
    thumbnail, page, other = Image.new("RGB", (16, 12), "white"), halves(64, 48), Image.new("RGB", (64, 48), "white")
    thumbnail.save(tmp_path / "a.tif", save_all=True, append_images=[page, other])
    image = open_image(tmp_path / "a.tif")
    assert image.size == (64, 48) and shows_halves(image)
    file = io.BytesIO((tmp_path / "a.tif").read_bytes())
    with opened(file) as shown:
        assert shown.size == (64, 48)
    assert (file_facts(tmp_path / "a.tif").width, file_facts(tmp_path / "a.tif").height) == (64, 48)


def test_an_index_counts_what_an_extra_would_open_and_keeps_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paint(tmp_path / "photos" / "red.jpg", (250, 0, 0))
    shutil.copy(TINY_HEIC, tmp_path / "photos" / "a.HEIC")
    for name in ("b.heif", "c.mp4", "d.cr2", ".hidden.heic", "notes.txt"):
        (tmp_path / "photos" / name).write_bytes(b"x")
    without = frozenset(photo_suffixes()).difference(*(suffixes for suffixes, _ in EXTRAS.values()))
    monkeypatch.setattr(folders, "photo_suffixes", lambda: without)
    store, changes = fill(tmp_path / "index", Colours(), tmp_path / "photos")
    assert changes.missing_extras == {"heic": 2, "raw": 1, "video": 1} and len(store) == 1
    found = find_photos([tmp_path / "photos"])
    assert len(found.photos) == 1 and sum("tellapart[heic]" in fault for fault in found.faults) == 2

    if "pillow_heif" in __import__("sys").modules and ".heic" in image_suffixes():
        monkeypatch.setattr(folders, "photo_suffixes", lambda: without | set(formats.HEIC))
        store, changes = fill(tmp_path / "index", Colours(), tmp_path / "photos")
        assert len(store) == 2 and changes.missing_extras == {"raw": 1, "video": 1}
        store.edit(str(tmp_path / "photos" / "a.HEIC"), "mine")
        monkeypatch.setattr(folders, "photo_suffixes", lambda: without)  # the extra was removed
        store, changes = fill(tmp_path / "index", Colours(), tmp_path / "photos")
        assert changes.deleted == 0 and store.row(str(tmp_path / "photos" / "a.HEIC"))["edited"] == "mine"  # type: ignore[index]
