"""Files that change while they are indexed: a row has the vector of the bytes that it has the hash of."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embeds_colours import COLOURS, Colours, fill, paint
from index_rows import by_name
from tellapart.images.decoding import read_image
from tellapart.images.opening import UnreadableImage
from tellapart.images.verified_file import VerifiedFile
from tellapart.search.embedded import Embedded
from tellapart.search.file_facts import content_of
from tellapart.search.local_engine import local_engine
from tellapart.search.protocol import Store
from tellapart.search.store import open_or_make
from tellapart.search.table import About
from tellapart.search.update import CHANGING_ATTEMPTS, update_index

RED, BLUE = (200, 0, 0), (0, 0, 200)


class PaintsOver(Colours):
    """Writes another image over a file just before it is decoded, the first `times` times."""

    def __init__(self, file: Path, times: int) -> None:
        super().__init__()
        self.file, self.left = file, times

    def embed_photos(self, photos: Iterable[VerifiedFile]) -> Iterator[Embedded]:
        return super().embed_photos(map(self.painted_over, photos))

    def painted_over(self, photo: VerifiedFile) -> VerifiedFile:
        if photo.path == self.file and self.left:
            self.left -= 1
            paint(photo.path, (0, 0, 200 - self.left))
        return photo


def rows(store: Store) -> dict[str, dict[str, object]]:
    return by_name(store)


def test_a_file_that_changes_between_hashing_and_decoding_is_read_again(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    changing, still = paint(photos / "a.png", RED), paint(photos / "b.png", (0, 200, 0))
    copy = tmp_path / "old.png"
    copy.write_bytes(changing.read_bytes())
    store, changes = fill(tmp_path / "index", PaintsOver(changing, 1), photos)
    found = rows(store)
    assert changes.added == 2 and not changes.faults
    assert found["a.png"]["caption"] == "blue" and found["a.png"]["content"] == content_of(changing)
    assert found["b.png"]["content"] == content_of(still)
    (photos / "c.png").write_bytes(copy.read_bytes())  # the bytes that were hashed first, and never decoded
    store, changes = fill(tmp_path / "index", Colours(), photos)
    assert rows(store)["c.png"]["caption"] == "red" and changes.carried == 0


def test_a_file_that_keeps_changing_keeps_its_row_until_it_rests(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    file = paint(photos / "a.png", RED)
    store, _ = fill(tmp_path / "index", Colours(), photos)
    before = rows(store)
    paint(file, (0, 90, 0))
    store, changes = fill(tmp_path / "index", PaintsOver(file, CHANGING_ATTEMPTS + 1), photos)
    assert len(changes.faults) == 1 and "keeps changing" in changes.faults[0] and changes.deleted == 0
    assert rows(store) == before
    store, changes = fill(tmp_path / "index", Colours(), photos)
    assert changes.changed == 1 and rows(store)["a.png"]["caption"] == "blue"


def test_verify_repairs_the_rows_of_an_older_index(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    paint(photos / "a.png", RED), paint(photos / "b.png", BLUE)
    store, _ = fill(tmp_path / "index", Colours(), photos)
    store.edit(str(photos / "a.png"), "mine")
    wrong = {"path": str(photos / "a.png"), "vector": np.asarray(COLOURS["blue"]), "caption": "blue"}
    store.put_columns([wrong])
    store = open_or_make(str(tmp_path / "index"), About("colours", "colours", "", 3))
    changes = update_index(store, [photos], lambda contents: local_engine(Colours(), contents), verify=True)
    assert (changes.repaired, changes.unchanged, changes.changed) == (1, 1, 0)
    row = rows(store)["a.png"]
    assert row["caption"] == "red" and row["edited"] == "mine"
    np.testing.assert_allclose(row["vector"], COLOURS["red"])  # type: ignore[arg-type]


def test_only_the_bytes_that_were_hashed_are_decoded(tmp_path: Path) -> None:
    path = paint(tmp_path / "a.png", RED)
    file = VerifiedFile(path, content_of(path))
    np.testing.assert_array_equal(read_image(file, 8), np.asarray(Image.open(path)))
    paint(path, BLUE)
    with pytest.raises(UnreadableImage, match=r"a\.png changed while"):
        read_image(file, 8)
    assert file.changed
