"""An index after a power failure: back to the last version that was saved, if newer ones are damaged.

Versions newer than `saved.json` says were never reported as saved. They are whole after a kill, and while another
process is writing. After a power failure their files may be missing, empty or full of zeros: then the manifests that
name them are moved to the folder `damaged`, and LanceDB opens the version before.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from tellapart.core.checksums import Sum
from tellapart.core.errors import InputError
from tellapart.core.files import flush_folder, make_folder
from tellapart.search.lance.saved import SAVED, Saved, manifests, needed, table_files, table_names
from tellapart.search.table_errors import is_panic

BLOCK = 4096
"""Bytes that a file system writes together; a block of zeros was never written."""
SET_ASIDE = "damaged"


def recover_index(where: str) -> None:
    """Make the newest whole version of each table the newest one. Does nothing where the newest version was saved."""
    saved = Saved(where)
    record = saved.read()
    if record is None or saved.folder is None:
        return
    for table in table_names(saved.folder):
        last = record.versions.get(table, 0)
        for version, manifest in manifests(saved.folder, table).items():
            if version <= last or _whole(saved.folder, table, version, set(record.files)):
                break
            _set_aside(saved.folder, manifest)
    for table, last in record.versions.items():
        if last and max(manifests(saved.folder, table), default=0) < last:
            raise InputError(
                f"The index {where} is damaged: what was saved last is missing in {table}.lance. Copy it again from "
                f"where it is whole, or remove {saved.folder / SAVED} to use what is left."
            )
    _check_sizes(saved.folder, record.files)


def _check_sizes(folder: Path, files: dict[str, Sum]) -> None:
    """Raise an InputError if a file that is needed has another size than when it was saved."""
    for name, (size, _) in files.items():
        try:
            found = (folder / name).stat().st_size
        except OSError:  # another process has removed an old version
            continue
        if found != size and needed(folder, folder / name):
            raise InputError(
                f"The index {folder} is damaged: {name} has {found:,} bytes, not {size:,}. Copy it again from where it "
                "is whole, or make it again."
            )


def _set_aside(folder: Path, manifest: Path) -> None:
    try:
        make_folder(folder / SET_ASIDE)
        os.replace(manifest, folder / SET_ASIDE / f"{manifest.parents[1].stem}-{manifest.name}")
    except FileNotFoundError:  # another process was faster
        return
    except OSError as error:
        raise InputError(
            f"The last change of the index {folder} was not saved before the power failed, and it cannot be undone "
            f"here ({error.strerror}); open the index once where it can be written."
        ) from error
    flush_folder(manifest.parent)


def _whole(folder: Path, table: str, version: int, saved: set[str]) -> bool:
    """Whether a version can be read with all its rows, and no file that was not saved has an empty block."""
    own = folder / f"{table}.lance"
    files = (path for path in table_files(folder) if own in path.parents)
    if any(_has_gap(path) for path in files if path.relative_to(folder).as_posix() not in saved):
        return False
    try:
        opened = importlib.import_module("lancedb").connect(str(folder)).open_table(table)
        opened.checkout(version)
        read_all(opened)
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        return False
    return True


def read_all(table: Any) -> int:
    """Read every column of every row, and open every index; the number of rows. Raises what LanceDB raises."""
    rows: int = sum(batch.num_rows for batch in table.search().to_batches(8192))
    for index in table.list_indices():
        table.index_stats(index.name)
    return rows


def _has_gap(path: Path) -> bool:
    """Whether a file is empty or has a block of zeros: bytes that never reached the disk."""
    try:
        with path.open("rb") as file:
            some = False
            while block := file.read(BLOCK):
                some = True
                if not any(block):
                    return True
    except FileNotFoundError:  # removed by another process
        return False
    return not some
