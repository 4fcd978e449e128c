"""The chooser chooses the captions of dropped photos, as of files against a folder."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tellapart.cli.index import IndexOptions, index
from tellapart.images.verified_file import VerifiedFile
from tellapart.inference import captioning, matching
from tellapart.inference.caption import Caption as Expected
from tellapart.inference.light.exported_run import is_exported
from tellapart.search.photo_index import PhotoIndex, open_index
from tellapart.serve.describe import Caption, Describer
from tellapart.serve.library import PhotoLibrary

SIMILAR = 4
OpenDescriber = Callable[[Path], Describer]


@pytest.fixture
def photos(served_world: Path, tmp_path: Path) -> list[Path]:
    """The photos of an album that tests may change."""
    if not is_exported("bundled", "captioner"):
        pytest.skip("no runs come with this installation")
    shutil.copytree(served_world / "photos", tmp_path / "album")
    return sorted(path for path in (tmp_path / "album").rglob("*") if path.suffix in (".png", ".jpg"))


@pytest.fixture
def where(photos: list[Path], tmp_path: Path) -> Path:
    """An index of them."""
    make = IndexOptions((str(photos[0].parent),), str(tmp_path / "photos.index"), precision="float32", progress=False)
    index(make)
    return tmp_path / "photos.index"


@pytest.fixture(scope="module")
def by_torch() -> OpenDescriber:
    matcher = matching.load_matcher("bundled", "cpu", 1, "float32")
    captioner = captioning.load_captioner("bundled", "cpu", 1, "float32")
    return lambda where: Describer(PhotoLibrary(open_index(where, matcher, captioner)), SIMILAR)


@pytest.fixture(params=["light", "torch"])
def describer(request: pytest.FixtureRequest, where: Path, by_torch: OpenDescriber) -> Describer:
    """Describes by the bundled models, without torch and with it."""
    if request.param == "torch":
        found = by_torch(where)
        found.embedder.captioner.__dict__.pop("chooser_vectors", None)  # forgets photos of other tests
        return found
    return Describer(PhotoLibrary(PhotoIndex(str(where), device="cpu", precision="float32")), SIMILAR)


def expected(describer: Describer, photo: Path, against: list[Path], matcher: str | None = None) -> Expected:
    """What the captioner says of a photo against others."""
    captioner: captioning.PhotoCaptioner = describer.embedder.captioner
    return captioner.caption(photo, against=against, neighbours=SIMILAR, matcher=matcher)


def check_equal(found: Caption | None, wanted: Expected) -> None:
    assert found is not None and found.text == wanted.text and found.distinct == wanted.distinct
    assert found.posterior == pytest.approx(wanted.posterior, abs=1e-3)
    assert [Path(one.path).name for one in found.confused_with] == [Path(str(one)).name for one in wanted.confused_with]


def test_the_chooser_compares_a_dropped_photo_with_its_neighbours(describer: Describer, photos: list[Path]) -> None:
    for photo, found in zip(photos[:3], describer.describe_all(photos[:3], [3, 3, 3])):
        assert not isinstance(found, Exception)
        check_equal(found.distinctive_caption, expected(describer, photo, photos))
        assert len(found.similar) == 3
    by_matcher = expected(describer, photos[0], photos, "bundled:matcher")
    assert by_matcher.posterior != pytest.approx(expected(describer, photos[0], photos).posterior, abs=1e-3)


def test_neighbours_are_read_for_the_first_photo_only(
    describer: Describer, photos: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, counted = VerifiedFile.read, list[str]()
    monkeypatch.setattr(VerifiedFile, "read", lambda self: counted.append(self.content) or read(self))
    first = describer.describe(photos[0], 3)
    assert len(counted) == len(set(counted)) == len(photos) - 1  # copies of the dropped photo are not compared
    again = describer.describe(photos[0], 3)
    assert len(counted) == len(photos) - 1
    assert first.distinctive_caption is not None and again.distinctive_caption is not None
    assert again.distinctive_caption.text == first.distinctive_caption.text


def test_photos_that_are_gone_are_not_compared(describer: Describer, photos: list[Path]) -> None:
    for photo in photos[1:5]:
        photo.unlink()
    found = describer.describe(photos[0], 3)
    check_equal(found.distinctive_caption, expected(describer, photos[0], photos[5:]))


def test_the_matcher_of_the_index_chooses_if_all_photos_are_gone(
    describer: Describer, photos: list[Path], tmp_path: Path
) -> None:
    kept = Path(shutil.copytree(photos[0].parent, tmp_path / "kept"))
    wanted = expected(describer, photos[0], [kept / photo.name for photo in photos[1:]], "bundled:matcher")
    for photo in photos[1:]:
        photo.unlink()
    check_equal(describer.describe(photos[0], 3).distinctive_caption, wanted)
