"""Checking any folder that tellapart writes, by what it holds."""

from __future__ import annotations

from pathlib import Path

from tellapart.core.errors import InputError
from tellapart.core.findings import Findings
from tellapart.core.leftovers import recover
from tellapart.search.location import is_index


def check_path(path: str, repair: bool = False) -> Findings:
    """Check a pack, features, a run or an index; an InputError if the path is none of these.

    repair: restore what can be restored from other files, and write checksums where there are none.
    """
    folder = Path(path)
    if is_index(path):
        from tellapart.search.check_index import check_index

        return check_index(path, repair)
    if path.startswith("bundled:") or (folder / "recipe.json").is_file():
        from tellapart.runs.bundled import run_folder
        from tellapart.runs.check_run import check_run

        return check_run(run_folder(path), repair)
    from tellapart.data.check_pack import check_features, check_pack

    recover(folder)
    if (folder / "pack.json").is_file():
        return check_pack(folder, repair)
    if (folder / "features.json").is_file():
        return check_features(folder, repair)
    raise InputError(f"{path} is not a pack, not features, not a run and not an index; give one of these folders.")
