"""Writing files so that no reader ever sees half of one: write beside, flush to disk, rename."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.touch()
        rights = partial.stat().st_mode
        partial.unlink()  # whoever forgets to write it is told
        yield partial
        partial.chmod(rights)  # safetensors puts a file there that its owner alone may read
        flush(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes `path` when the block ends without an error; an older `path` is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    rights = partial.stat().st_mode & 0o666  # of a new file, as those of a new folder are
    try:
        yield partial
        for file in partial.rglob("*"):
            if file.is_file():
                # The rights of a file that also lies elsewhere are not ours.
                if not file.is_symlink() and file.stat().st_nlink == 1:
                    file.chmod(rights)
                flush(file)
        replaced = path.with_name(f".{path.name}.{os.getpid()}.replaced")
        if path.exists():
            os.replace(path, replaced)
        os.replace(partial, path)
        shutil.rmtree(replaced, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def flush(path: Path) -> None:
    """Push a file's bytes to the disk, so that a rename after it never outruns them."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_text(path: Path, text: str) -> None:
    with atomic_path(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file, or an InputError that names the file and the line."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: broken JSON ({error.msg}); mend or remove it.") from error


def write_lines(path: Path, rows: list[Any]) -> None:
    """One JSON value a line."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def save_array(path: Path, array: np.ndarray) -> None:
    with atomic_path(path) as partial, partial.open("wb") as file:
        np.save(file, array, allow_pickle=False)
