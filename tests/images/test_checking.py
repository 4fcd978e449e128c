"""Finding images by name, and telling whole images from broken ones."""

import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, features

from tellapart.images.checking import check_image
from tellapart.images.decoding import read_image
from tellapart.images.file_index import ImageFileIndex
from tellapart.images.opening import UnreadableImage, open_image
from tellapart.search.file_facts import file_facts


def save(path: Path, size: tuple[int, int] = (60, 40), **how: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.effect_noise(size, 50).convert("RGB").save(path, **how)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("kind", ["jpg", "png", "webp", "gif", "bmp", "tiff"])
def test_a_whole_image_and_a_cut_one(tmp_path: Path, kind: str) -> None:
    path = save(tmp_path / f"a.{kind}")
    whole = check_image(path)
    assert (whole.width, whole.height, whole.fault) == (60, 40, "")
    assert check_image(path, "full") == whole
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert check_image(path).kind == "truncated image"
    assert check_image(path, "full").kind == "truncated image"


def test_what_is_no_image(tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("not an image")
    (tmp_path / "empty.jpg").touch()
    assert check_image(tmp_path / "text.jpg").kind == "not an image"
    assert check_image(tmp_path / "empty.jpg").kind == "not an image"
    assert check_image(tmp_path / "none.jpg").kind == "missing image"


def test_a_camera_held_on_its_side(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[274] = 6
    found = check_image(save(tmp_path / "a.jpg", (60, 40), exif=exif))
    assert (found.width, found.height) == (40, 60)


def test_bytes_after_the_end_do_no_harm(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jpg")
    path.write_bytes(path.read_bytes() + b"\0" * 5000)
    assert not check_image(path).fault


def test_names_find_files(tmp_path: Path) -> None:
    for name in ("train/1.webp", "val/1.webp", "val/2.PNG", "3.a.jpg", ".hidden/4.jpg"):
        save(tmp_path / name)
    index = ImageFileIndex(tmp_path)
    assert index.find("val/2.PNG") == ["val/2.PNG"]
    assert index.find("2.jpg") == index.find("2") == index.find("elsewhere\\2.jpg") == ["val/2.PNG"]
    assert index.find("3.a") == ["3.a.jpg"]
    assert index.find("train/1.jpg") == ["train/1.webp"]
    assert sorted(index.find("1.jpg")) == ["train/1.webp", "val/1.webp"]
    assert index.find("4.jpg") == index.find("3") == []


def test_a_decoder_that_raises_an_unusual_error_concerns_one_image(tmp_path: Path) -> None:
    """libavif raises RuntimeError for a track of an unknown codec."""
    if not features.check("avif"):
        pytest.skip("Pillow was built without AVIF")
    path = save(tmp_path / "a.avif")
    path.write_bytes(path.read_bytes().replace(b"av01", b"avXX", 1))
    with pytest.raises(RuntimeError), Image.open(path) as opened:
        opened.load()
    assert "cannot be decoded" in check_image(path, "full").fault
    with pytest.raises(UnreadableImage, match=r"a\.avif"):
        read_image(path, 8)
    with pytest.raises(UnreadableImage, match=r"a\.avif"):
        open_image(path)
    assert file_facts(path).content


@given(st.sampled_from(["AVIF", "PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP", "JPEG2000", "PPM", "TGA"]), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_whatever_is_broken_gets_a_clear_error(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    """An image with some bytes changed and its end cut off: a size or a fault, never an error of a decoder's own."""
    written = io.BytesIO()
    Image.linear_gradient("L").resize((24, 20)).convert("RGB").save(written, kind)
    spoiled = bytearray(written.getvalue())
    for _ in range(data.draw(st.integers(1, 6))):
        spoiled[data.draw(st.integers(0, len(spoiled) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "photo").write_bytes(spoiled[: data.draw(st.integers(1, len(spoiled)))])
    found = check_image(tmp_path / "photo", "full")
    assert found.fault or found.width > 0
