"""Which matcher chooses among captions against other images, what it reads, and who must agree with it."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tellapart as ta
from tellapart.inference import captioning
from tellapart.inference.judge import open_judge
from tellapart.inference.judging import second_of
from tellapart.inference.known_images import KnownImages
from tellapart.inference.light.captioning import LightCaptioner
from tellapart.inference.word_evidence import evidence_of
from tellapart.runs.bundled import MODELS


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, random = tmp_path_factory.mktemp("album"), np.random.default_rng(3)
    for number in range(3):
        coarse = random.integers(0, 255, (6, 6, 3), np.uint8)
        Image.fromarray(coarse).resize((200, 160), Image.Resampling.BICUBIC).save(folder / f"{number}.png")
    return folder


def test_the_bundled_chooser_chooses_and_the_matcher_agrees(
    light: LightCaptioner, by_torch: captioning.PhotoCaptioner
) -> None:
    for captioner in (light, by_torch):
        assert captioner.chooser is not None and captioner.chooser.run.folder == MODELS / "chooser"
        assert captioner.judge is not None and captioner.judge.run.folder == MODELS / "matcher"
        assert second_of(captioner.chooser, captioner.judge) is captioner.judge
        assert second_of(captioner.judge, captioner.judge) is None
    chosen = captioning.readers_of(by_torch, by_torch.chooser)
    assert chosen.second is by_torch.judge and chosen.own is not None
    assert captioning.readers_of(by_torch, by_torch.chooser).own is chosen.own  # its backbone is loaded once
    alone = captioning.readers_of(by_torch, open_judge("bundled:matcher"))
    assert alone.second is None and alone.own is None


def test_images_of_an_index_are_compared_by_its_own_vectors(
    light: LightCaptioner, by_torch: captioning.PhotoCaptioner, album: Path
) -> None:
    photos = sorted(album.iterdir())
    matcher = ta.load_matcher(device="cpu", precision="float32")
    known = KnownImages([str(photo) for photo in photos], matcher.encode_images(photos), matcher.fingerprint)
    for captioner in (light, by_torch):
        found = captioner.caption(photos[0], against=known)
        assert found.text and len(found.neighbours) == 2


@pytest.mark.parametrize("kind", ["file", "bytes"])
def test_an_open_file_is_read_by_both_backbones(
    light: LightCaptioner, by_torch: captioning.PhotoCaptioner, album: Path, kind: str
) -> None:
    photo = album / "0.png"
    for captioner in (light, by_torch):
        expected = captioner.caption(photo, against=album / "1.png")
        with photo.open("rb") as file:
            given = file if kind == "file" else io.BytesIO(file.read())
            assert captioner.caption(given, against=album / "1.png").text == expected.text


def test_unreadable_images_are_faults_of_both_readings(light: LightCaptioner, album: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")
    settings = captioning.CaptionSettings(against=[album / "1.png", broken])
    good, bad = light.stream([album / "0.png", broken], settings)
    assert isinstance(good, ta.Caption) and isinstance(bad, Exception)


def test_evidence_in_the_folder_of_a_run_comes_first(tmp_path: Path) -> None:
    chooser, matcher = evidence_of(MODELS / "chooser"), evidence_of(MODELS / "matcher")
    assert chooser is not None and matcher is not None and chooser.matcher != matcher.matcher
    assert evidence_of(tmp_path) is None


def test_a_matcher_that_reads_other_cells_than_the_captioner_fills_an_index(album: Path, tmp_path: Path) -> None:
    index = ta.open_index(tmp_path / "photos.index", "bundled:chooser", device="cpu")
    changes = index.update(album)
    assert changes.added == 3 and not changes.faults
    assert all(one.caption for one in index.search(like=album / "0.png", count=3))
