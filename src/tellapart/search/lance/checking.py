"""Checking the files of an index in LanceDB by their checksums, and reading every table."""

from __future__ import annotations

from pathlib import Path

from tellapart.core.checksums import checksum
from tellapart.core.errors import Error
from tellapart.core.findings import Findings
from tellapart.search.lance.opening import open_table
from tellapart.search.lance.recovery import read_all
from tellapart.search.lance.saved import Saved, needed, table_files, table_names
from tellapart.search.location import is_address
from tellapart.search.table_errors import table_errors

ADVICE = (
    "copy the index again from where it is whole, or update it with `verify=True`, which encodes every photo again and "
    "keeps edited captions"
)


def check_files(where: str, found: Findings, repair: bool) -> None:
    """Compare files with their checksums. repair: write checksums where there are none."""
    _compare(where, found)
    store = open_table(where)
    with table_errors(where):
        for name in table_names(Path(where)) if not is_address(where) else ():
            read_all(store.edits.database.open_table(name))
    if repair and not found.damaged:
        store.sync()


def _compare(where: str, found: Findings) -> None:
    saved = Saved(where)
    try:
        record = saved.read()
    except Error as error:
        found.problem(str(error))
        return
    if saved.folder is None or record is None:
        found.notes.append(f"{where} has no checksums: an earlier version wrote it, or it is on object storage.")
        return
    for path in table_files(saved.folder):
        name = path.relative_to(saved.folder).as_posix()
        if name not in record.files:
            found.notes.append(f"{path} has no checksum: it was not reported as saved.")
        elif checksum(path) == record.files[name]:
            found.files += 1
        elif needed(saved.folder, path):
            found.problem(f"{path} is damaged: its bytes are not those that were saved; {ADVICE}.")
        else:
            found.notes.append(f"{path} is damaged, but only a former version of the index needs it.")
