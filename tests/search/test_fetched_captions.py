"""An index of others, whose rows may hold anything, does not choose which files of this machine go into a pack."""

from __future__ import annotations

from pathlib import Path

import pytest

from tellapart.core.errors import InputError
from tellapart.images.remote import RemoteFile
from tellapart.images.verified_file import hash_of
from tellapart.search.captioned_photos import _fetch

fsspec = pytest.importorskip("fsspec")


def test_only_bytes_of_the_address_are_fetched(tmp_path: Path) -> None:
    own = tmp_path / "own.png"
    own.write_bytes(b"of this machine")
    fetched = tmp_path / "pack-images"
    fetched.mkdir()
    there = RemoteFile(f"memory:///{tmp_path.name}/photo.png")
    system = fsspec.filesystem("memory")
    system.pipe(there.address, b"of the address")
    for content in ("../own", str(own.with_suffix("")), "own", "", hash_of(b"other"), hash_of(b"x").upper()):
        assert _fetch(there, content, fetched) is None
    file = _fetch(there, hash_of(b"of the address"), fetched)
    assert file is not None and file.parent == fetched and file.read_bytes() == b"of the address"
    system.rm(f"/{tmp_path.name}", recursive=True)
    assert _fetch(there, hash_of(b"of the address"), fetched) == file, "it is fetched once"


def test_storage_that_does_not_answer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pack would lack its photos, and the report would say that they are gone."""

    def fail(file: RemoteFile) -> bytes:
        raise OSError("Could not connect to the endpoint")

    monkeypatch.setattr(RemoteFile, "read_bytes", fail)
    with pytest.raises(InputError, match="cannot be read: Could not connect to the endpoint; try again"):
        _fetch(RemoteFile("s3://bucket/a.png"), hash_of(b"a"), tmp_path)
