"""`tellapart write-captions INDEX`: captions of an index into the metadata of the photos, or into sidecars."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import Annotated

import tyro

from tellapart.cli.errors import command
from tellapart.core.errors import InputError, Step
from tellapart.core.progress import progress_bar
from tellapart.images.metadata.writing import Where
from tellapart.images.remote import full_folder
from tellapart.search.store import open_store
from tellapart.search.write_back import WriteBack, WrittenBack, write_back

SHOWN = 10


@dataclass(frozen=True)
class WriteCaptionsOptions:
    """Write the captions that people wrote into XMP sidecars, or into the photos themselves (XMP, IPTC, EXIF)."""

    index: Annotated[str, tyro.conf.Positional]
    """An index that `tellapart index` made."""
    to: Where = "sidecar"
    """sidecar: dog.jpg.xmp next to dog.jpg, the photo stays as it is. embedded: into the photo."""
    only_missing: bool = False
    """Leave photos alone that have a description."""
    generated: bool = False
    """Write generated captions, too, where nobody wrote one and the captioner is sure; they are marked as generated."""
    folder: str = ""
    """Only photos in this folder, or at this address."""
    backup: bool = True
    """Keep each original as dog.jpg_original."""
    dry_run: bool = False
    """Write nothing, only list what would be written."""
    json: bool = False
    """Print JSON instead of lines."""
    quiet: bool = False
    """No progress bar."""


def write_captions(options: WriteCaptionsOptions) -> WrittenBack:
    """Write captions and print the files that changed."""
    store = open_store(options.index)
    folder = full_folder(options.folder) if options.folder else ""
    settings = WriteBack(options.to, options.only_missing, options.generated, options.backup, options.dry_run, folder)
    with progress_bar(len(store), "writing", enabled=not options.quiet, unit="photos") as advance:
        result = write_back(store, settings, advance)
    if options.json:
        print(json.dumps(asdict(result), ensure_ascii=False, indent=2))
        _check(result, options)
        return result
    for file in result.files if options.dry_run else ():
        print(file)
    verb = "Would write" if options.dry_run else "Wrote"
    print(
        f"{verb} {len(result.files)} captions; {result.unchanged} photos had theirs already, {result.kept} keep "
        f"another description, {len(result.faults)} could not be written.",
        file=sys.stderr if options.dry_run else sys.stdout,
    )
    for fault in result.faults[:SHOWN]:
        print(f"  skipped: {fault}", file=sys.stderr)
    if len(result.faults) > SHOWN:
        print(f"  skipped: {len(result.faults) - SHOWN} more", file=sys.stderr)
    _check(result, options)
    return result


def _check(result: WrittenBack, options: WriteCaptionsOptions) -> None:
    """Say what to do with photos at addresses; raise an InputError if there were captions and none could be written."""
    hint = ""
    if result.at_addresses:
        step = Step("export-edits", options.index, "edits.csv")
        hint = f"Photos at addresses cannot be written; `{command(step)}` writes their captions into a file."
    if result.faults and not (result.files or result.unchanged or result.kept):
        raise InputError(f"No caption could be written. {hint}".strip())
    if hint:
        print(hint, file=sys.stderr)
