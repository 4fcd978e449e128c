"""Packs are read once per process."""

from pathlib import Path

from tellapart.data.open_packs import KEPT, open_pack
from tiny_pack import make_tiny_pack


def test_a_pack_is_read_once(tmp_path: Path) -> None:
    folder = make_tiny_pack(tmp_path / "pack").folder
    first = open_pack(folder)
    assert open_pack(str(folder)) is first and open_pack(folder).captions is first.captions


def test_a_pack_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    folder = make_tiny_pack(tmp_path / "pack").folder
    first = open_pack(folder)
    (folder / "pack.json").write_text((folder / "pack.json").read_text() + "\n")
    assert open_pack(folder) is not first


def test_few_packs_are_kept(tmp_path: Path) -> None:
    folders = [make_tiny_pack(tmp_path / str(number)).folder for number in range(KEPT + 1)]
    first = open_pack(folders[0])
    for folder in folders[1:]:
        open_pack(folder)
    assert open_pack(folders[0]) is not first
