"""Finding images on disk by file, folder, pattern or list."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tellapart.core.errors import InputError
from tellapart.core.paths import OnePath, Paths, one_or_many
from tellapart.images.formats import NEEDS, how_to_open, name_fault, photo_suffixes
from tellapart.images.remote import is_address

STANDARD_INPUT = "-"


@dataclass
class FoundPhotos:
    """Photos in the given order, each once, and why others were not found."""

    photos: list[Path] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def images_in(
    folder: Path,
    on_error: Callable[[OSError], None] | None = None,
    on_missing: Callable[[Path], None] = lambda path: None,
) -> Iterator[Path]:
    """All photos under a folder by suffix, sorted, without hidden files and folders.

    on_error: called for each folder that cannot be read; the walk continues without it.
    on_missing: called for each file that an extra which is not installed would open.
    """
    suffixes = photo_suffixes()
    for here, folders, names in os.walk(folder, onerror=on_error):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            suffix = os.path.splitext(name)[1].lower()
            if not name.startswith(".") and suffix in suffixes:
                yield Path(here) / name
            elif not name.startswith(".") and suffix in NEEDS:
                on_missing(Path(here) / name)


def file_inside(path: str, folder: str) -> Path | None:
    """The file that a path links to; None if it is not a file or not inside the folder."""
    # Called for every photo of an index, so with strings: pathlib takes twice as long.
    file, root = os.path.realpath(path), os.path.realpath(folder)
    return Path(file) if file.startswith(os.path.join(root, "")) and os.path.isfile(file) else None


def find_photos(paths: Paths, standard_input: TextIO | None = None) -> FoundPhotos:
    """Images of files, folders (searched recursively) and patterns such as `trip/*.jpg`.

    A file given by name is returned whatever its suffix. A link to a file is another photo, as in an index. A link
    inside a folder that leads out of it is not followed, as in an index: whoever can write into a folder must not
    choose what else is read. If `standard_input` is given, the path `-` stands for the names read from it: one per
    line, or separated by NUL as `find -print0` writes them.
    """
    found, seen = FoundPhotos(), set()
    for name in _names(one_or_many(paths), standard_input):
        images, faults = _expand(name)
        found.faults += faults
        for image in images:
            identity = os.path.join(os.path.realpath(image.parent), image.name)  # realpath accepts circular links
            if identity in seen:
                continue
            seen.add(identity)
            if not os.path.isfile(image):  # a pipe, whose reading would never end, or a dangling link
                found.faults.append(f"{image} is not a file or a link to one")
            elif fault := name_fault(str(image)):
                found.faults.append(fault)
            else:
                found.photos.append(image)
    return found


def find_some_photos(paths: Paths, standard_input: TextIO | None = None) -> FoundPhotos:
    """`find_photos`, or an InputError if there are none."""
    found = find_photos(paths, standard_input)
    if not found.photos:
        raise InputError("; ".join(found.faults) + "." if found.faults else "No photos given; give files or folders.")
    return found


def _names(paths: Iterable[OnePath], standard_input: TextIO | None) -> Iterator[str]:
    for path in paths:
        if standard_input is None or str(path) != STANDARD_INPUT:
            yield str(path)
            continue
        text = standard_input.read()
        yield from (line for line in (text.split("\0") if "\0" in text else text.splitlines()) if line.strip())


def _expand(name: str) -> tuple[list[Path], list[str]]:
    """The images that a name stands for, and its faults. An existing file wins over a pattern."""
    if is_address(name):
        return [], [f"{name} is an address; index what is there with captions: `tellapart index ADDRESS --out INDEX`"]
    path, faults = Path(name).expanduser(), []

    def unreadable(error: OSError) -> None:
        faults.append(f"{error.filename} cannot be read ({error.strerror})")

    def lacks_extra(missing: Path) -> None:
        faults.append(f"{missing} needs an extra: `{how_to_open(missing.suffix.lower())}`")

    if path.is_dir():
        images = []
        for image in images_in(path, unreadable, lacks_extra):
            if os.path.islink(image) and os.path.isfile(image) and file_inside(str(image), str(path)) is None:
                faults.append(f"{image} links out of {path}; give it by name")
            else:
                images.append(image)
        return images, faults if images or faults else [f"{path} holds no images of a format that can be opened here"]
    if path.exists():
        return [path], []
    if not glob.has_magic(name):
        return [], [f"{path} does not exist"]
    matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
    images = [
        image
        for match in matches
        for image in (images_in(match, unreadable, lacks_extra) if match.is_dir() else (match,))
    ]
    kept = [image for image in images if image.suffix.lower() in photo_suffixes()]
    return kept, faults if kept or faults else [f"no image matches {name}"]
