"""The page shows photos at addresses: each is fetched once, and only as long as its bytes are the indexed ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import tellapart as ta
from embeds_colours import paint
from tellapart.images.verified_file import hash_of

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("fastapi")


def test_photos_at_addresses_are_shown(tmp_path: Path) -> None:
    from tellapart.serve.library import PhotoLibrary, UnknownPhoto
    from tellapart.serve.originals import original_file
    from tellapart.serve.rendering import PhotoRenderer

    address = f"memory://{tmp_path.name}/photos"
    data = paint(tmp_path / "red.jpg", (200, 0, 0)).read_bytes()
    system = fsspec.filesystem("memory")
    with fsspec.open(f"{address}/trip/red.jpg", "wb") as file:
        file.write(data)
    index = ta.open_index(tmp_path / "index", captioner=None, device="cpu")
    index.update(address)
    library = PhotoLibrary(index)
    id_ = hash_of(data)
    assert library.photo(id_).name == "red.jpg" and library.photo(id_).folder == "photos/trip"
    file = library.file(id_)
    assert file.read_bytes() == data and PhotoRenderer().jpeg(file, "small")[:2] == b"\xff\xd8"
    assert original_file(file, "red.jpg").media_type == "image/jpeg"
    system.rm(f"/{tmp_path.name}", recursive=True)
    assert library.file(id_) == file, "it is fetched once"
    with pytest.raises(UnknownPhoto, match="no longer exists"):
        PhotoLibrary(index).file(id_)


def test_other_bytes_are_not_shown_and_old_files_go(tmp_path: Path) -> None:
    from tellapart.serve.fetched import FetchedPhotos

    for name in "abc":
        (tmp_path / f"{name}.png").write_bytes(name.encode() * 4)
    fetched = FetchedPhotos(most_bytes=10)
    first = fetched.file((tmp_path / "a.png").as_uri(), hash_of(b"aaaa"))
    assert first is not None and first.read_bytes() == b"aaaa" and first.suffix == ".png"
    assert fetched.file((tmp_path / "b.png").as_uri(), hash_of(b"other")) is None
    assert fetched.file((tmp_path / "none.png").as_uri(), hash_of(b"x")) is None
    for name in "bc":
        assert fetched.file((tmp_path / f"{name}.png").as_uri(), hash_of(name.encode() * 4)) is not None
    assert not first.exists() and fetched.size == 8


def test_a_file_that_the_machine_removed_is_fetched_again(tmp_path: Path) -> None:
    """A server runs for months, and folders of temporary files are cleared every few days."""
    import shutil

    from tellapart.serve.fetched import FetchedPhotos

    (tmp_path / "a.png").write_bytes(b"aaaa")
    fetched = FetchedPhotos()
    for remove in (Path.unlink, lambda file: shutil.rmtree(file.parent)):
        file = fetched.file((tmp_path / "a.png").as_uri(), hash_of(b"aaaa"))
        assert file is not None and file.read_bytes() == b"aaaa" and fetched.size == 4
        remove(file)
    file = fetched.file((tmp_path / "a.png").as_uri(), hash_of(b"aaaa"))
    assert file is not None and file.read_bytes() == b"aaaa"
