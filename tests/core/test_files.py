"""Files and folders appear whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, atomic_path, read_json, write_json


def test_a_failure_leaves_the_older_file(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", [1])
    with pytest.raises(RuntimeError), atomic_path(tmp_path / "a.json") as partial:
        partial.write_text("half")
        raise RuntimeError
    assert read_json(tmp_path / "a.json") == [1] and os.listdir(tmp_path) == ["a.json"]


def test_a_failure_leaves_the_older_folder(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "a") as partial:
        (partial / "one").write_text("1")
    with pytest.raises(RuntimeError), atomic_folder(tmp_path / "a") as partial:
        (partial / "two").write_text("2")
        raise RuntimeError
    assert os.listdir(tmp_path) == ["a"] and os.listdir(tmp_path / "a") == ["one"]
    with atomic_folder(tmp_path / "a") as partial:
        (partial / "two").write_text("2")
    assert os.listdir(tmp_path) == ["a"] and os.listdir(tmp_path / "a") == ["two"]


def test_files_have_the_rights_of_new_files(tmp_path: Path) -> None:
    """safetensors makes files that their owner alone may read: a run could not be used by others."""
    before = os.umask(0o022)
    try:
        with atomic_path(tmp_path / "one") as partial:
            save_file({"a": torch.zeros(1)}, partial)
        with atomic_folder(tmp_path / "folder") as partial:
            save_file({"a": torch.zeros(1)}, partial / "two")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("one", "folder/two")] == [0o644, 0o644]


def test_a_file_that_nobody_wrote_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a"):
        pass
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_the_rights_of_linked_files_stay(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    """The same file lies in a folder that is none of our business."""
    (tmp_path / "theirs").write_text("1")
    (tmp_path / "theirs").chmod(0o600)
    with atomic_folder(tmp_path / "ours") as partial:
        link(tmp_path / "theirs", partial / "linked")
    assert (tmp_path / "theirs").stat().st_mode & 0o777 == 0o600


def test_bad_json_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1,\n"b"}')
    with pytest.raises(InputError, match=r"a.json, line 2: broken JSON"):
        read_json(tmp_path / "a.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_json(tmp_path / "b.json")
    with pytest.raises(InputError, match="does not exist"):
        read_json(tmp_path / "c.json")
