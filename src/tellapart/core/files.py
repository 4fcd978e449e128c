"""Writing files atomically: write a temporary file, flush it to disk, rename it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.disk_errors import disk_errors
from tellapart.core.errors import InputError
from tellapart.core.explained import explained
from tellapart.core.json_text import BrokenJson, parse_json
from tellapart.core.leftovers import recover, remove_leftovers


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path that replaces `path` when the block ends without an error."""
    make_folder(path.parent)
    remove_leftovers(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.touch()
        rights = partial.stat().st_mode
        partial.unlink()  # so that a block that writes nothing raises an error
        with disk_errors(path):
            yield partial
            partial.chmod(rights)  # safetensors makes files that only their owner can read
            flush(partial)
            os.replace(partial, path)
            flush_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that replaces `path` when the block ends without an error."""
    make_folder(path.parent)
    recover(path)
    remove_leftovers(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    rights = partial.stat().st_mode & 0o666  # those of a new file
    try:
        with disk_errors(path):
            yield partial
            for file in partial.rglob("*"):
                if file.is_file():
                    # Leave the rights of a file that is linked elsewhere.
                    if not file.is_symlink() and file.stat().st_nlink == 1:
                        file.chmod(rights)
                    flush(file)
                elif file.is_dir():
                    flush_folder(file)
            flush_folder(partial)
        replaced = path.with_name(f".{path.name}.{os.getpid()}.replaced")
        if path.exists():
            os.replace(path, replaced)
        os.replace(partial, path)
        flush_folder(path.parent)
        shutil.rmtree(replaced, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def make_folder(path: Path) -> None:
    """Make a folder and those around it where they do not exist, so that they outlive a power failure."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        flush_folder(folder.parent)


def link_or_copy(source: Path | str, target: Path | str) -> None:
    """A hard link to a file that never changes, or a copy of it where the disk allows none."""
    try:
        os.link(source, target)
    except OSError:  # another disk, or one without hard links
        shutil.copyfile(source, target)


def flush(path: Path) -> None:
    """Write a file's bytes to the disk, so that a later rename never precedes them."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def flush_folder(path: Path) -> None:
    """Write the names in a folder to the disk, so that a rename outlives a power failure."""
    with contextlib.suppress(OSError):  # some network file systems cannot
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with atomic_path(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, atomically."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file, or an InputError that names the file and the line."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
    except BrokenJson as error:
        raise InputError(f"{path}, line {error.line}: broken JSON ({error}); fix or remove it.") from error


def write_lines(path: Path, rows: list[Any]) -> None:
    """Write one JSON value per line."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def read_lines(path: Path) -> list[Any]:
    """The values of a file with one JSON value per line, or an InputError that names the file."""
    with explained(path, "make it again"):
        return [parse_json(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def load_array(path: Path, *, mapped: bool = False) -> np.ndarray:
    """The array of an .npy file, read whole or memory-mapped, or an InputError that names a damaged file."""
    with explained(path, "make it again"):
        array: np.ndarray = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise InputError(f"{path} holds several arrays, not one; make it again.")
    return array


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an .npy file atomically."""
    with atomic_path(path) as partial, partial.open("wb") as file:
        np.save(file, array, allow_pickle=False)
