"""With which photos of an index images are compared, and by whose vectors."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.core.progress import Progress
from tellapart.images import remote
from tellapart.images.verified_file import VerifiedFile
from tellapart.inference.among_index import Compared, compared_by_chooser, compared_by_index, nearest_in_index
from tellapart.inference.caption_settings import CaptionSettings
from tellapart.inference.index_batches import OwnImages, index_batches
from tellapart.inference.judging import COMPARED
from tellapart.inference.known_images import KnownImages
from tellapart.inference.remembered_vectors import RememberedVectors

PHOTOS = 6


def directions(*degrees: float) -> np.ndarray:
    """Vectors of length one at these angles [N, 2]."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)


BY_INDEX = directions(10, 20, 30, 40, 50, 60)
BY_CHOOSER = directions(-60, -50, -40, -30, -20, -10)
"""Of the same photos: the chooser finds those most similar that the index finds least similar."""


class Chooser(RememberedVectors):
    """Has vectors of the photos whose contents it is given, and says what it was asked for."""

    def __init__(self, readable: str) -> None:
        super().__init__(lambda images: iter(()))
        self.readable, self.asked = readable, list[str]()

    def of(
        self, files: Mapping[str, Callable[[], VerifiedFile | None]], progress: Progress | None = None
    ) -> dict[str, np.ndarray]:
        self.asked += files
        return {content: BY_CHOOSER["abcdef".index(content)] for content in files if content in self.readable}


def known(contents: str = "abcdef") -> KnownImages:
    names = [f"/photos/{content}.jpg" for content in contents]
    return KnownImages(names, BY_INDEX[: len(names)], "matcher", ["/photos"] * len(names), list(contents))


def compare(
    candidates: list[list[int]], readable: str = "abcdef", count: int = 3, at_once: int = 8, **given: Progress
) -> tuple[list[Compared], Chooser]:
    images = len(candidates)
    own = directions(*[0.0] * images), dict(enumerate(directions(*[0.0] * images)))
    chooser = Chooser(readable)
    return compared_by_chooser(own, known(), candidates, count, chooser, at_once=at_once, **given), chooser


def check_vectors(one: Compared, vectors: np.ndarray) -> None:
    """The compared vectors are those of the found photos, by this matcher."""
    assert np.array_equal(one.among[one.nearest], vectors[one.found])


def test_the_chooser_orders_the_photos_that_the_index_finds() -> None:
    (one,), chooser = compare([[0, 1, 2, 3, 4, 5]])
    assert one.by_chooser and one.found.tolist() == [[2, 1, 0]]  # nearest of all by the chooser are 5, 4, 3
    assert chooser.asked == list("abc")
    check_vectors(one, BY_CHOOSER)


def test_each_image_is_compared_with_its_own_candidates() -> None:
    (one,), _ = compare([[0, 1], [4, 3]])
    assert one.rows == [0, 1] and one.found.tolist() == [[1, 0], [4, 3]]
    check_vectors(one, BY_CHOOSER)


def test_a_photo_that_cannot_be_read_is_left_out() -> None:
    found, _ = compare([[0, 1, 2], [3, 4, 5], [0, 1, 2]], readable="acdef")
    assert [(one.rows, one.found.tolist()) for one in found] == [([0], [[2, 0]]), ([1], [[5, 4, 3]]), ([2], [[2, 0]])]
    for one in found:
        assert one.by_chooser
        check_vectors(one, BY_CHOOSER)


def test_an_image_without_a_readable_neighbour_is_compared_by_the_index(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = compare([[3, 4], [0, 1]], readable="de", progress=Progress())
    assert [(one.by_chooser, one.rows, one.found.tolist()) for one in found] == [
        (True, [0], [[4, 3]]),
        (False, [1], [[0, 1]]),
    ]
    check_vectors(found[1], BY_INDEX)
    said = capsys.readouterr().err
    assert "cannot be read, so captions are not compared with them: 2." in said
    assert "without a similar photo that can be read: 1." in said


def test_nothing_is_said_when_every_photo_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    compare([[0, 1]], progress=Progress())
    assert not capsys.readouterr().err


def test_an_image_that_the_chooser_could_not_read_is_compared_by_the_index() -> None:
    own = directions(0, 0), {1: directions(0)[0]}
    found = compared_by_chooser(own, known(), [[0], [0]], 3, Chooser("abcdef"), at_once=8)
    assert [one.by_chooser for one in found] == [False, True]


def test_images_of_unknown_files_are_compared_by_the_index() -> None:
    nameless = KnownImages(["a", "b"], BY_INDEX[:2], "matcher")
    own = directions(0), {0: directions(0)[0]}
    (one,) = compared_by_chooser(own, nameless, [[1, 0]], 3, Chooser("abcdef"), at_once=8)
    assert not one.by_chooser and one.found.tolist() == [[0, 1]]
    assert nameless.file(0) is None


def test_copies_in_the_index_are_read_once() -> None:
    twice, chooser = known("abcaef"), Chooser("abcdef")
    own = directions(0), {0: directions(0)[0]}
    (one,) = compared_by_chooser(own, twice, [[0, 1, 3]], 3, chooser, at_once=8)
    assert chooser.asked == ["a", "b"] and one.found.tolist() == [[1, 0, 3]]


def test_a_copy_that_only_the_chooser_knows_as_one_is_left_out() -> None:
    """Vectors of an index that other instructions computed differ from those of the same photo now."""
    own = directions(0), {0: BY_CHOOSER[1]}
    (one,) = compared_by_chooser(own, known(), [[0, 1, 2]], 3, Chooser("abcdef"), at_once=8)
    assert sorted(one.found[0].tolist()) == [0, 2]


def test_batches_are_bounded_and_in_order() -> None:
    found, _ = compare([[0, 1]] * 5, at_once=2)
    assert [one.rows for one in found] == [[0, 1], [2, 3], [4]]


def test_the_index_compares_alone_without_a_chooser() -> None:
    (one,) = compared_by_index(directions(0, 70), known(), [[0, 1, 2], [3, 4, 5]], 2)
    assert not one.by_chooser and one.found.tolist() == [[0, 1], [5, 4]]
    check_vectors(one, BY_INDEX)


def test_the_nearest_photos_are_no_copies_of_the_image() -> None:
    assert nearest_in_index(np.concatenate([BY_INDEX[:1], directions(65)]), known(), 2, 1) == [[1, 2], [5, 4]]


@pytest.mark.parametrize(("neighbours", "compared"), [(2, COMPARED), (COMPARED + 5, COMPARED + 5)])
def test_an_image_is_compared_with_further_photos_than_its_neighbours(neighbours: int, compared: int) -> None:
    vectors = directions(*range(1, COMPARED + 10))
    names = [str(number) for number in range(len(vectors))]
    own = OwnImages(np.zeros(1, np.int64), {}, lambda rows: directions(0), lambda rows: directions(0))
    settings = CaptionSettings(neighbours=neighbours)
    images = KnownImages(names, vectors, "matcher")
    (batch,) = index_batches(own, images, Chooser(""), settings, Progress(enabled=False))
    assert batch.compared is not None and batch.compared.found.tolist() == [list(range(compared))]
    assert batch.names(images, neighbours) == [names[:neighbours]]


def test_a_photo_that_links_out_of_its_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "photos" / "b.png").write_bytes(b"photo")
    names = [str(tmp_path / "photos" / name) for name in ("a.png", "b.png", "c.png")]
    images = KnownImages(names, BY_INDEX[:3], "matcher", [str(tmp_path / "photos")] * 3, ["x"] * 3)
    assert images.file(0) is None and images.file(2) is None
    assert images.file(1) is not None


def test_a_photo_at_an_address_that_cannot_be_opened_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(address: str) -> None:
        raise InputError(f"{address} needs another package.")

    monkeypatch.setattr(remote, "file_system", fail)
    image = KnownImages(["file:///photos/a.png"], BY_INDEX[:1], "matcher", ["file:///photos"], ["x"])
    assert image.file(0) is None
