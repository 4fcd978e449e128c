"""Vectors of photos that are read once, and again only when their bytes have changed or they were forgotten."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tellapart.images.opening import UnreadableImage
from tellapart.images.verified_file import VerifiedFile, hash_of
from tellapart.inference.remembered_vectors import RememberedVectors


class Reader:
    """Reads the first letter of each file as its vector, and says what it has read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, images: Sequence[Any]) -> Iterator[tuple[list[int], np.ndarray, int]]:
        places, vectors = [], []
        for place, image in enumerate(images):
            try:
                letter = image.read().getvalue()[:1]
            except UnreadableImage:
                continue
            self.read.append(letter.decode())
            places.append(place)
            vectors.append([ord(letter), 1.0])
        yield places, np.asarray(vectors, np.float32).reshape(-1, 2), len(images) - len(places)


def files(*paths: Path) -> dict[str, Callable[[], VerifiedFile | None]]:
    """What `of` takes: files by the hash of their bytes now."""
    found = [VerifiedFile(path, hash_of(path.read_bytes())) for path in paths]
    return {one.content: lambda one=one: one for one in found}


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text(path.name)
    return paths


def test_a_photo_is_read_once(photos: list[Path]) -> None:
    reader = Reader()
    vectors = RememberedVectors(reader)
    first = vectors.of(files(*photos[:2]))
    assert [int(one[0]) for one in first.values()] == [ord("a"), ord("b")]
    again = vectors.of(files(*photos))
    assert reader.read == ["a", "b", "c"]
    assert {content: again[content].tolist() for content in first} == {key: one.tolist() for key, one in first.items()}


def test_a_changed_photo_gets_the_vector_of_its_new_bytes(photos: list[Path]) -> None:
    vectors = RememberedVectors(Reader())
    vectors.of(files(photos[0]))
    photos[0].write_text("z")
    (found,) = vectors.of(files(photos[0])).values()
    assert int(found[0]) == ord("z")


def test_a_photo_with_other_bytes_than_the_index_knows_or_without_a_file_is_left_out(photos: list[Path]) -> None:
    asked = files(*photos)
    photos[0].write_text("other bytes")
    photos[1].unlink()
    asked["gone"] = lambda: None
    (found,) = RememberedVectors(Reader()).of(asked).items()
    assert found[0] == hash_of(b"c") and int(found[1][0]) == ord("c")


def test_the_least_recently_used_vectors_are_forgotten(photos: list[Path]) -> None:
    reader = Reader()
    vectors = RememberedVectors(reader, most=2)
    for photo in (photos[0], photos[1], photos[0], photos[2], photos[0], photos[1]):
        vectors.of(files(photo))
    assert reader.read == ["a", "b", "c", "b"]


def test_a_vector_keeps_no_other_vectors_of_its_batch(photos: list[Path]) -> None:
    assert all(one.base is None for one in RememberedVectors(Reader()).of(files(*photos)).values())


def test_what_is_read_by_place_is_not_remembered(photos: list[Path]) -> None:
    reader = Reader()
    vectors = RememberedVectors(reader)
    for _ in range(2):
        found = vectors.read([VerifiedFile(photos[0], "not this hash"), *(one() for one in files(photos[1]).values())])  # type: ignore[list-item]
        assert {place: int(one[0]) for place, one in found.items()} == {1: ord("b")}
    assert reader.read == ["b", "b"]
