"""Finding image files by name and checking that each really is a whole image."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

EXTENSIONS = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".avif", ".jp2"}

Check = Literal["header", "full"]
BROKEN = (
    OSError, SyntaxError, ValueError, TypeError, EOFError, LookupError, ArithmeticError, AttributeError, struct.error,
)  # fmt: skip
"""What Pillow's decoders stumble over in a broken file."""


def image_stem(name: str) -> str:
    """The file name without folders and without an image's extension.

    >>> image_stem("val2014/COCO_0001.jpg"), image_stem("12_a.b")
    ('COCO_0001', '12_a.b')
    """
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    stem, dot, extension = base.rpartition(".")
    return stem if dot and f".{extension.lower()}" in EXTENSIONS else base


def unwritable_name(path: str) -> str:
    """What is wrong with a name that no text, table or JSON can hold; empty for a good one."""
    if path.isprintable() or path.encode("utf-8", "replace").decode() == path:
        return ""
    return f"{path!a} is not named in UTF-8; rename it"


@dataclass
class ImageFileIndex:
    """Every image file under a folder, found again by path, by name, or by name without its extension."""

    folder: Path
    files: list[str] = field(default_factory=list)
    """Paths relative to `folder`, sorted."""
    misnamed: list[str] = field(default_factory=list)
    """Names that are not UTF-8, which no pack can hold, with what they lack written out."""

    def __post_init__(self) -> None:
        for here, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            inside = PurePosixPath(os.path.relpath(here, self.folder).replace(os.sep, "/"))
            for name in names:
                if os.path.splitext(name)[1].lower() in EXTENSIONS and not name.startswith("."):
                    file = str(inside / name)
                    self.misnamed.append(ascii(file)) if unwritable_name(file) else self.files.append(file)
        self.files.sort()
        self._paths = set(self.files)
        self._names: dict[str, list[str]] = {}
        self._stems: dict[str, list[str]] = {}
        for file in self.files:
            self._names.setdefault(file.rsplit("/", 1)[-1], []).append(file)
            self._stems.setdefault(image_stem(file), []).append(file)

    def find(self, name: str) -> list[str]:
        """The files a name may mean: none, one, or several that cannot be told apart."""
        path = str(PurePosixPath(name.replace("\\", "/")))
        if path in self._paths:
            return [path]
        base = path.rsplit("/", 1)[-1]
        found = self._names.get(base) or self._stems.get(image_stem(name), [])
        if len(found) > 1:  # train2014/1.jpg and val2014/1.jpg: the folders in the name decide
            stem = path[: len(path) - len(base)] + image_stem(name)
            closer = [file for file in found if f"/{file}".rsplit(".", 1)[0].endswith(f"/{stem}")]
            found = closer or found
        if not found and os.path.isabs(name) and os.path.isfile(name):
            found = [name]
        return found


@dataclass(frozen=True)
class NamedFiles:
    """A folder whose images are named by path: nothing is searched for, and no other file of it is spoken of."""

    folder: Path
    files: tuple[str, ...] = ()
    """None: what is not named does not count."""

    def find(self, name: str) -> list[str]:
        return [name] if (self.folder / name).is_file() else []


@dataclass(frozen=True)
class Checked:
    """What a look at an image file found. `fault` is empty for a good image."""

    width: int = 0
    height: int = 0
    kind: str = ""
    fault: str = ""


def check_image(path: Path, check: Check = "header") -> Checked:
    """The size a viewer would show, or what is wrong.

    `header` reads the header and the file's end, and decodes only where the end looks cut; `full` decodes all.
    """
    from PIL import Image, UnidentifiedImageError

    from tellapart.images.orientation import upright_size

    try:
        size = path.stat().st_size
        if size == 0:
            return Checked(kind="not an image", fault="the file is empty")
        with Image.open(path) as image:
            width, height = upright_size(image)
            if check == "full" or not _ends_well(path, image.format or "", size):
                image.load()
    except FileNotFoundError:
        return Checked(kind="missing image", fault="there is no such file")
    except UnidentifiedImageError:
        return Checked(kind="not an image", fault="no image format is recognised in it")
    except Image.DecompressionBombError:
        return Checked(kind="not an image", fault="it is too large to be opened safely")
    except BROKEN as error:
        return Checked(kind="truncated image", fault=f"it cannot be decoded ({error})")
    return Checked(width, height)


def _ends_well(path: Path, kind: str, size: int) -> bool:
    """Whether the last bytes are those of a whole file; False asks for a full decode to decide."""
    with path.open("rb") as file:
        if kind == "WEBP":
            header = file.read(12)
            return size >= int.from_bytes(header[4:8], "little") + 8
        file.seek(max(0, size - 512))
        tail = file.read()
    if kind in ("JPEG", "MPO"):
        return b"\xff\xd9" in tail
    if kind == "PNG":
        return b"IEND" in tail
    if kind == "GIF":
        return tail.rstrip(b"\0").endswith(b";")
    return False


def check_images(paths: Sequence[Path], check: Check, tick: Callable[[], None] = lambda: None) -> list[Checked]:
    """`check_image` of many files at once, in order; `tick` is called after each."""
    from tellapart.images.folders import photo_suffixes

    photo_suffixes()  # registers plugins: an index may hold HEIC

    def look(path: Path) -> Checked:
        found = check_image(path, check)
        tick()
        return found

    with ThreadPoolExecutor(max_workers=min(8, 2 * (os.cpu_count() or 1))) as pool:
        return list(pool.map(look, paths))
