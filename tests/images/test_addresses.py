"""Addresses of photos: what is no single address is an error with a reason, and links stay inside."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from embeds_colours import paint
from tellapart.core.errors import InputError
from tellapart.images import remote
from tellapart.images.indexed_file import indexed_file
from tellapart.images.remote import RemoteFile, file_system, leads_out, open_remote
from tellapart.search.examined import Photo, examine_files

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a photo, a link to it, and a link to a photo outside."""
    paint(tmp_path / "outside.png", (0, 0, 200))
    paint(tmp_path / "photos" / "own.png", (200, 0, 0))
    (tmp_path / "photos" / "inside.png").symlink_to(tmp_path / "photos" / "own.png")
    (tmp_path / "photos" / "leads.png").symlink_to(tmp_path / "outside.png")
    return tmp_path / "photos"


def test_a_link_at_a_file_address_that_leads_out_is_not_read(folder: Path) -> None:
    address = folder.as_uri()
    found = examine_files([Photo(f"{address}/{name}.png", address) for name in ("own", "inside", "leads")])
    assert [one.fault.removeprefix(address) for one in found] == ["", "", f"/leads.png links out of {address}"]
    assert indexed_file(f"{address}/own.png", address) == RemoteFile(f"{address}/own.png")
    assert indexed_file(f"{address}/leads.png", address) is None
    assert leads_out(f"{address}/../outside.png", address) and leads_out(f"local://{folder}/leads.png", address)
    assert not leads_out("memory:///elsewhere/own.png", "memory:///photos")


@pytest.mark.parametrize(
    "address",
    [
        "simplecache::file:///photos",
        "zip://a.png::file:///photos.zip",
        "reference://x",
        "github://x",
        "zip://x",
        "://x",
    ],
)
def test_what_is_no_single_address(address: str) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        file_system(address)
    with pytest.raises(InputError, match="cannot be opened"):
        RemoteFile(address).read_bytes()


def test_the_name_of_a_file_is_no_second_address(tmp_path: Path) -> None:
    """A listing of strangers' storage may hold any name."""
    (tmp_path / "own.png").write_bytes(b"of this machine")
    name = f"memory://{tmp_path.name}/a.png::{(tmp_path / 'own.png').as_uri()}"
    system = fsspec.filesystem("memory")
    system.pipe(name, b"of strangers")
    assert RemoteFile(name).read_bytes() == b"of strangers"
    system.store.pop(system._strip_protocol(name))


class Client(io.BytesIO):
    """A file whose server is gone after four bytes."""

    def read(self, count: int | None = -1) -> bytes:
        if self.tell() >= 4:
            raise LookupError("the server is gone")
        return super().read(4)


def test_errors_of_clients_are_os_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    class Storage:
        def open(self, address: str, mode: str) -> Client:
            if address.endswith("none.tar"):
                raise LookupError("no credentials")
            return Client(b"12345678")

    monkeypatch.setattr(remote, "file_system", lambda address: Storage())
    with pytest.raises(OSError, match="no credentials"):
        open_remote("s3://bucket/none.tar")
    with open_remote("s3://bucket/some.tar") as file:
        assert file.read(4) == b"1234"
        with pytest.raises(OSError, match="the server is gone"):
            file.read(4)
        assert file.seek(2, os.SEEK_SET) == 2 and file.seekable()
        assert file.read(2) == b"34"
    assert file.closed
