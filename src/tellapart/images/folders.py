"""Photos on disk: found by name, folder, pattern or list, and opened upright; a file that is none gets a sentence."""

from __future__ import annotations

import contextlib
import functools
import glob
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tellapart.core.errors import InputError
from tellapart.images.finding import unwritable_name
from tellapart.images.orientation import upright
from tellapart.images.squares import UnreadableImage

if TYPE_CHECKING:
    from PIL import Image

# fmt: off
USUAL = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".webp", ".gif", ".bmp", ".dib", ".tif", ".tiff", ".ppm",
    ".pgm", ".pbm", ".pnm", ".tga", ".jp2", ".j2k", ".jpx", ".qoi", ".avif", ".avifs", ".heic", ".heif", ".hif",
)
# fmt: on
"""Suffixes of photos. Pillow also opens icons, fonts and scientific grids, which a folder is not searched for."""
NEEDS_PLUGIN = {".heic": "pillow-heif", ".heif": "pillow-heif", ".hif": "pillow-heif"}
LIST = "-"


@dataclass
class FoundPhotos:
    """Photos in the order they were asked for, each once, and what could not be found."""

    photos: list[Path] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@functools.cache
def photo_suffixes() -> frozenset[str]:
    """The suffixes of photos that Pillow can open here, pillow-heif's among them where that is installed."""
    from PIL import Image, features

    with contextlib.suppress(ImportError):
        importlib.import_module("pillow_heif").register_heif_opener()
    Image.init()
    known = {suffix for suffix, kind in Image.registered_extensions().items() if kind in Image.OPEN}
    # Pillow knows these names even where it was built without the library behind them.
    absent = {
        suffix
        for library, suffixes in (("webp", (".webp",)), ("avif", (".avif", ".avifs")), ("jpg_2000", (".jp2", ".j2k")))
        if not features.check(library)
        for suffix in suffixes
    }
    return frozenset(USUAL) & known - absent


def find_photos(given: Sequence[str | Path], lines: TextIO | None = None) -> FoundPhotos:
    """Files, folders (with all inside), patterns such as `trip/*.jpg`, and `-` for a list on standard input.

    lines: read in standard input's stead. One name a line, or names with NUL between them as `find -print0` writes.
    A file named outright is taken whatever its suffix. A folder gives its photos, hidden ones left out.
    """
    found, seen = FoundPhotos(), set()
    for name in _names(given, lines):
        photos, faults = _expand(name)
        found.faults += faults
        for photo in photos:
            identity = os.path.realpath(photo)  # unlike Path.resolve it does not stumble over links that go in a circle
            if identity in seen:
                continue
            seen.add(identity)
            if not os.path.isfile(identity):  # a pipe, which would be waited for without end, or a link to nothing
                found.faults.append(f"{photo} is no file, nor a link to one")
            elif fault := unwritable_name(str(photo)):
                found.faults.append(fault)
            else:
                found.photos.append(photo)
    return found


def find_some_photos(given: Sequence[str | Path], lines: TextIO | None = None) -> FoundPhotos:
    """`find_photos`, or an InputError where there is not one."""
    found = find_photos(given, lines)
    if not found.photos:
        raise InputError(
            "; ".join(found.faults) + "." if found.faults else "No photo was named; give files or folders."
        )
    return found


def photos_in(folder: Path, unread: Callable[[OSError], None] | None = None) -> Iterator[Path]:
    """All photos under a folder by suffix, sorted, hidden files and folders left out.

    unread: told of each folder that cannot be read, and that is then passed over.
    """
    suffixes = photo_suffixes()
    for here, folders, names in os.walk(folder, onerror=unread):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and os.path.splitext(name)[1].lower() in suffixes:
                yield Path(here) / name


def open_photo(path: Path) -> Image.Image:
    """The whole photo in RGB, turned upright as its EXIF orientation says."""
    from PIL import Image

    photo_suffixes()  # registers plugins
    try:
        with Image.open(path) as opened:
            return upright(opened).copy()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UnreadableImage(why_unreadable(path, str(error))) from error


def why_unreadable(path: Path, otherwise: str) -> str:
    """A sentence for a file that could not be opened as an image; `otherwise` where a second look finds no reason."""
    from tellapart.images.finding import check_image

    fault = check_image(path, "full").fault or otherwise
    plugin = NEEDS_PLUGIN.get(path.suffix.lower())
    if plugin and path.suffix.lower() not in photo_suffixes():
        fault = f"this kind of image needs a plugin: `pip install {plugin}`"
    return f"{path} cannot be used: {fault}"


def _names(given: Iterable[str | Path], lines: TextIO | None) -> Iterator[str]:
    for name in given:
        if str(name) != LIST:
            yield str(name)
            continue
        text = (lines or sys.stdin).read()
        yield from (line for line in (text.split("\0") if "\0" in text else text.splitlines()) if line.strip())


def _expand(name: str) -> tuple[list[Path], list[str]]:
    """What a name stands for, and what is wrong with it. A file wins over a pattern."""
    path, faults = Path(name).expanduser(), []

    def unread(error: OSError) -> None:
        faults.append(f"{error.filename} cannot be read ({error.strerror})")

    if path.is_dir():
        photos = list(photos_in(path, unread))
        return photos, faults if photos or faults else [f"{path} holds no photos of a kind that can be opened here"]
    if path.exists():
        return [path], []
    if not glob.has_magic(name):
        return [], [f"{path} does not exist"]
    matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]
    photos = [photo for match in matches for photo in (photos_in(match, unread) if match.is_dir() else (match,))]
    kept = [photo for photo in photos if photo.suffix.lower() in photo_suffixes()]
    return kept, faults if kept or faults else [f"no photo matches {name}"]
