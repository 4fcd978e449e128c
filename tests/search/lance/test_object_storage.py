"""An index on object storage (a local S3 server): it follows its folder, is searched, edited and read by others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from embeds_colours import Colours, fill, paint
from index_rows import by_name
from local_s3 import local_s3
from tellapart.core.errors import InputError
from tellapart.search import query
from tellapart.search.answer import Query, answer
from tellapart.search.changes import Changes
from tellapart.search.edits import edits_of
from tellapart.search.filters import Filters
from tellapart.search.lance.lance_store import LanceStore
from tellapart.search.query import Searcher
from tellapart.search.store import open_store, store_exists
from tellapart.search.table import About

pytest.importorskip("lancedb", reason="needs LanceDB: pip install tellapart[lance]")
RED = np.asarray([1.0, 0, 0], np.float32)
READS = """
import sys
import numpy as np
from tellapart.search.query import Searcher
from tellapart.search.store import open_store
found = Searcher(open_store(sys.argv[1])).nearest(np.asarray([1.0, 0, 0], np.float32), 2)
print(*(one.path.rsplit("/", 1)[1] for one in found))
"""


@pytest.fixture
def where() -> Iterator[str]:
    """The address of an index that does not exist yet."""
    with local_s3() as bucket:
        yield f"{bucket}/photos.index"


def test_an_index_on_object_storage(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "photos"
    for step in range(4):
        paint(folder / f"{step}.png", (250 - 60 * step, step, 60 * step))
    assert not store_exists(where)
    with pytest.raises(InputError, match="No index at s3://"):
        open_store(where)
    store, changes = fill(where, Colours(), folder)  # type: ignore[arg-type]
    assert isinstance(store, LanceStore) and changes == Changes(added=4) and store_exists(where)
    assert [Path(one.path).stem for one in Searcher(store).nearest(RED, 9)] == ["0", "1", "2", "3"]
    monkeypatch.setattr(query, "IN_MEMORY", 0)
    assert len(Searcher(store).nearest(RED, 9, Filters(str(folder), orientation="landscape"))) == 4

    other = open_store(where)
    store.edit(str(folder / "1.png"), "Whiskers, our grumpy calico")
    (folder / "copy.png").write_bytes((folder / "1.png").read_bytes())
    (folder / "3.png").unlink()
    store, changes = fill(where, colours := Colours(), folder)  # type: ignore[arg-type]
    assert changes == Changes(unchanged=3, carried=1, deleted=1) and not colours.looked
    assert by_name(store)["copy.png"]["edited"] == "Whiskers, our grumpy calico"
    found = answer(Searcher(store), Query(RED, "whiskers"), 4)
    assert Path(found[0].path).stem in ("1", "copy") and found[0].by_caption
    assert {edit.caption for edit in edits_of(open_store(where))} == {"Whiskers, our grumpy calico"}
    assert len(other) in (3, 4), "a reader sees the index of now or of two seconds ago"

    read = subprocess.run([sys.executable, "-c", READS, where], capture_output=True, text=True, timeout=120)
    assert read.stdout.split() == ["0.png", "1.png"], read.stderr


def test_another_matcher_is_rejected(tmp_path: Path, where: str) -> None:
    paint(tmp_path / "photos" / "a.png", (9, 0, 0))
    fill(where, Colours(), tmp_path / "photos")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="vectors cannot be compared"):
        fill(where, Colours(fingerprint="other"), tmp_path / "photos")  # type: ignore[arg-type]
    assert open_store(where).about == About("colours", "colours", "", 3)


def test_photos_and_index_on_object_storage(tmp_path: Path, where: str) -> None:
    import fsspec

    photos = where.replace("photos.index", "photos")
    for name, colour in (("a.png", (200, 0, 0)), ("b.png", (0, 200, 0))):
        with fsspec.open(f"{photos}/{name}", "wb") as file:
            file.write(paint(tmp_path / name, colour).read_bytes())
    store, changes = fill(where, Colours(), photos)  # type: ignore[arg-type]
    assert changes.added == 2 and Searcher(store).nearest(RED, 1)[0].path == f"{photos}/a.png"


def test_storage_that_does_not_answer(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_RETRIES", "0")
    with pytest.raises(InputError, match=r"No index can be at s3://.*\(Connection \w+\)"):
        open_store(where)
