"""Photos at addresses: the index is the one of the same photos in a folder, and each is fetched once."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from embeds_colours import Colours, fill, paint
from index_rows import by_name
from local_s3 import local_s3
from tellapart.core.errors import InputError
from tellapart.core.findings import Findings
from tellapart.images import remote
from tellapart.search import examined
from tellapart.search.changes import Changes
from tellapart.search.check_index import check_rows
from tellapart.search.local_engine import local_engine
from tellapart.search.store import open_or_make
from tellapart.search.table import About
from tellapart.search.update import checked_roots, update_index

fsspec = pytest.importorskip("fsspec")
PLACE = ("path", "folder", "modified")


@pytest.fixture(params=["memory", "file", "s3"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty folder on each kind of storage."""
    if request.param == "s3":
        with local_s3() as bucket:
            yield f"{bucket}/some/photos"
    elif request.param == "file":
        yield (tmp_path / "remote").as_uri()
    else:
        yield f"memory://{tmp_path.name}/photos"
        fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


def put(address: str, name: str, data: bytes) -> None:
    with fsspec.open(f"{address}/{name}", "wb", auto_mkdir=True) as file:
        file.write(data)


def index(where: Path, colours: Colours, address: str) -> tuple[Any, Changes]:
    store = open_or_make(str(where), About("colours", "colours", "", 3))
    return store, update_index(store, [address], lambda contents: local_engine(colours, contents), 4)


def test_photos_at_an_address_are_indexed_as_those_of_a_folder(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "photos"
    for step in range(6):
        name = f"trip/{step}.jpg" if step % 2 else f"{step}.png"
        taken = "2019:07:21 18:04:33" if step % 2 else ""
        put(
            address,
            name,
            paint(folder / name, (40 * step, 250 - 40 * step, 3), taken, 6 if step == 1 else 1).read_bytes(),
        )
    for name, data in {"broken.jpg": b"no image", ".hidden.jpg": b"x", "notes.txt": b"x"}.items():
        (folder / name).write_bytes(data)
        put(address, name, data)
    fetched: list[str] = []
    read = remote.RemoteFile.read_bytes
    monkeypatch.setattr(remote.RemoteFile, "read_bytes", lambda file: fetched.append(file.name) or read(file))

    expected, _ = fill(tmp_path / "expected", Colours(), folder)
    colours = Colours()
    store, changes = index(tmp_path / "index", colours, address)
    assert (changes.added, len(changes.faults)) == (6, 1) and "broken.jpg" in changes.faults[0]
    assert sorted(fetched) == sorted([*by_name(store), "broken.jpg"]), "each once"

    def facts(rows: dict[str, Any]) -> dict[str, Any]:
        return {name: {key: value for key, value in row.items() if key not in PLACE} for name, row in rows.items()}

    assert facts(by_name(store)) == facts(by_name(expected))
    path = by_name(store)["1.jpg"]["path"]
    assert path.endswith("/photos/trip/1.jpg" if "remote" not in path else "/remote/trip/1.jpg") and "://" in path


def test_the_second_update_fetches_what_has_changed(tmp_path: Path, address: str) -> None:
    def photo(colour: tuple[int, int, int], size: int) -> bytes:
        file = io.BytesIO()
        Image.new("RGB", (size, 8), colour).save(file, "PNG")
        return file.getvalue()

    for name, colour in (("a.png", (200, 0, 0)), ("b.png", (0, 200, 0)), ("c.png", (0, 0, 200))):
        put(address, name, photo(colour, 8))
    index(tmp_path / "index", Colours(), address)
    put(address, "b.png", photo((200, 0, 0), 16))  # another size: times of storage may be of a second
    put(address, "moved.png", photo((0, 0, 200), 8))
    system, _ = fsspec.core.url_to_fs(address)
    system.rm(f"{address}/c.png")
    colours = Colours()
    store, changes = index(tmp_path / "index", colours, address)
    assert colours.looked == ["b.png"]
    assert (changes.unchanged, changes.changed, changes.carried, changes.deleted) == (1, 1, 1, 1)
    assert np.argmax(by_name(store)["b.png"]["vector"]) == 0
    for name in ("a.png", "b.png", "moved.png"):
        system.rm(f"{address}/{name}")
    put(address, "notes.txt", b"x")
    with pytest.raises(InputError, match="holds no photos now"):
        index(tmp_path / "index", colours, address)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://nowhere/at/all", "memory:///nowhere/at/all is not a folder; give a folder of photos."),
        ("strange://bucket/photos", "strange://bucket/photos cannot be opened: Protocol not known: strange."),
        ("abfs://photos", "abfs://photos needs another package"),
    ],
)
def test_a_wrong_address(address: str, message: str) -> None:
    if address.startswith("abfs"):
        _skip_if_installed("adlfs")
    with pytest.raises(InputError) as raised:
        checked_roots([address])
    assert message in str(raised.value)


def test_photos_at_an_address_are_not_reported_as_gone(tmp_path: Path, address: str) -> None:
    put(address, "a.png", paint(tmp_path / "a.png", (200, 0, 0)).read_bytes())
    store, _ = index(tmp_path / "index", Colours(), address)
    check_rows(store, found := Findings("index", "index"))
    assert found.rows == 1 and not found.notes


def test_lists_of_folders_are_not_kept(address: str) -> None:
    for name in ("one/a.png", "one/two/b.png", "three/c.png"):
        put(address, name, b"x")
    listed = [file.address.rpartition("/")[2] for file in remote.photos_at(remote.full_address(address))]
    assert sorted(listed) == ["a.png", "b.png", "c.png"]
    cache = getattr(remote.file_system(address), "dircache", {})
    assert len(cache) == 0


def test_storage_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it lists: its client has other errors than OSErrors."""

    class Storage:
        def invalidate_cache(self) -> None: ...

        def walk(self, address: str, **options: Any) -> Iterator[Any]:
            yield address, {}, {"a.png": {"name": "bucket/a.png", "size": 1}}
            raise LookupError("could not connect")

        def unstrip_protocol(self, name: str) -> str:
            return f"s3://{name}"

    monkeypatch.setattr(remote, "file_system", lambda address: Storage())
    with pytest.raises(InputError, match="s3://bucket cannot be listed: could not connect"):
        list(remote.photos_at("s3://bucket"))


@pytest.mark.parametrize(("name", "advice"), [("b.mp4", "cut it"), ("b.JPG", "make it smaller")])
def test_a_large_file_is_not_fetched(monkeypatch: pytest.MonkeyPatch, name: str, advice: str) -> None:
    monkeypatch.setattr(remote.RemoteFile, "read_bytes", lambda file: pytest.fail(f"{file} was fetched"))
    monkeypatch.setattr(examined, "name_fault", lambda path: "")  # as if the package for videos were there
    photo = examined.Photo(f"memory://a/{name}", "memory://a", 1, examined.LARGEST_VIDEO + 1)
    (found,) = examined.examine_files([photo])
    assert found.fault == f"memory://a/{name} is larger than 512 MB; {advice}" and found.facts is None


def _skip_if_installed(package: str) -> None:
    if importlib.util.find_spec(package) is not None:
        pytest.skip(f"{package} is installed")


def test_few_bytes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "KEPT_BYTES", 10)
    kept = remote._Kept()
    for name in "abc":
        kept.put(name, name.encode() * 4)
    kept.put("c", b"cc")
    assert (kept.take("a"), kept.take("b"), kept.take("c"), kept.take("c")) == (None, b"bbbb", b"cc", None)
    assert kept._size == 0
