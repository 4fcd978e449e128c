"""Captions against an index are chosen as against a folder of the same photos, with torch and without."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tellapart as ta
from tellapart.core.errors import InputError
from tellapart.images.opening import UnreadableImage
from tellapart.inference import captioning
from tellapart.inference.caption_settings import CaptionSettings
from tellapart.inference.known_images import KnownImages
from tellapart.inference.light.captioning import LightCaptioner
from tellapart.inference.remembered_vectors import RememberedVectors
from tellapart.runs.bundled import CHOOSER

Captioner = LightCaptioner | captioning.PhotoCaptioner
Update = Callable[[], KnownImages]


def draw(path: Path, seed: int) -> None:
    coarse = np.random.default_rng(seed).integers(0, 255, (6, 6, 3), np.uint8)
    Image.fromarray(coarse).resize((200, 160), Image.Resampling.BICUBIC).save(path)


@pytest.fixture(params=["light", "by_torch"])
def captioner(request: pytest.FixtureRequest) -> Captioner:
    chosen: Captioner = request.getfixturevalue(request.param)
    chosen.__dict__.pop("chooser_vectors", None)  # forgets photos of other tests
    return chosen


@pytest.fixture
def album(tmp_path: Path) -> list[Path]:
    (tmp_path / "album").mkdir()
    photos = [tmp_path / "album" / f"{number}.png" for number in range(6)]
    for number, photo in enumerate(photos):
        draw(photo, number)
    return photos


@pytest.fixture
def update(light: LightCaptioner, album: list[Path], tmp_path: Path) -> Update:
    """Brings an index of the album up to date and gives its images."""

    def updated() -> KnownImages:
        index = ta.open_index(tmp_path / "photos.index", light.judge, None, device="cpu")
        index.update(album[0].parent)
        return index.images()

    return updated


def check_equal(found: ta.Caption, expected: ta.Caption) -> None:
    assert found.text == expected.text and found.distinct == expected.distinct
    assert [Path(str(name)).name for name in found.neighbours] == [Path(str(name)).name for name in expected.neighbours]
    assert found.posterior == pytest.approx(expected.posterior, abs=1e-3)
    assert found.confidence == pytest.approx(expected.confidence, abs=1e-3)


def test_the_chooser_compares_the_photos_of_an_index(captioner: Captioner, album: list[Path], update: Update) -> None:
    known = update()
    for found, expected in zip(
        captioner.caption(album[:3], against=known), captioner.caption(album[:3], against=album[0].parent)
    ):
        check_equal(found, expected)
    by_matcher = captioner.caption(album[0], against=known, matcher="bundled:matcher")
    assert by_matcher.posterior != pytest.approx(captioner.caption(album[0], against=known).posterior, abs=1e-3)
    check_equal(captioner.caption(album[0], against=known, matcher=CHOOSER), captioner.caption(album[0], against=known))


def test_the_matcher_of_the_index_chooses_if_it_is_given(
    captioner: Captioner, album: list[Path], update: Update, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = update()
    expected = captioner.caption(album[0], against=album[0].parent, matcher="bundled:matcher")
    monkeypatch.setattr(RememberedVectors, "of", lambda *given: pytest.fail("the chooser reads no photo"))
    check_equal(captioner.caption(album[0], against=known, matcher="bundled:matcher"), expected)


def test_neighbours_are_read_once(
    captioner: Captioner, album: list[Path], update: Update, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, opened = update(), list[int]()
    give = KnownImages.file
    monkeypatch.setattr(KnownImages, "file", lambda self, row: opened.append(row) or give(self, row))
    first = captioner.caption(album[0], against=known)
    assert sorted(Path(known.names[row]).name for row in opened) == [f"{number}.png" for number in range(1, 6)]
    check_equal(captioner.caption(album[0], against=known), first)
    assert len(opened) == 5


def test_a_photo_that_is_gone_or_has_changed_is_left_out(
    captioner: Captioner, album: list[Path], update: Update
) -> None:
    known = update()
    album[1].unlink()
    draw(album[2], 99)
    album[3].write_bytes(b"no image")
    found = captioner.caption(album[0], against=known)
    check_equal(found, captioner.caption(album[0], against=album[4:]))


def test_a_changed_photo_is_compared_as_it_is_now(captioner: Captioner, album: list[Path], update: Update) -> None:
    captioner.caption(album[0], against=update())
    draw(album[2], 99)
    check_equal(captioner.caption(album[0], against=update()), captioner.caption(album[0], against=album[0].parent))


def test_the_index_compares_if_no_photo_can_be_read(
    captioner: Captioner, album: list[Path], update: Update, capsys: pytest.CaptureFixture[str]
) -> None:
    known = update()
    expected = captioner.caption(album[0], against=known, matcher="bundled:matcher")
    for photo in album[1:]:
        photo.unlink()
    capsys.readouterr()
    check_equal(captioner.caption(album[0], against=known, progress=True), expected)
    said = capsys.readouterr().err
    assert "not compared with them: 5." in said and "without a similar photo that can be read: 1." in said


def test_captions_and_faults_come_in_the_given_order(captioner: Captioner, album: list[Path], update: Update) -> None:
    known, broken = update(), album[0].parent / "broken.png"
    broken.write_bytes(b"no image")
    given: list[Any] = [broken, album[0], broken, album[1], album[0], broken]
    results = list(captioner.stream(given, CaptionSettings(against=known, batch_size=2)))
    assert [isinstance(one, UnreadableImage) for one in results] == [True, False, True, False, False, True]
    assert [one.image for one in results if isinstance(one, ta.Caption)] == [str(album[row]) for row in (0, 1, 0)]
    assert all(isinstance(one, UnreadableImage) for one in captioner.stream([broken], CaptionSettings(against=known)))


def test_an_index_of_copies_alone_has_no_neighbours(captioner: Captioner, album: list[Path], update: Update) -> None:
    for photo in album[1:]:
        photo.write_bytes(album[0].read_bytes())
    with pytest.raises(InputError, match="at least one other image"):
        captioner.caption(album[0], against=update())
