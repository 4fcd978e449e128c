"""Finding the file of an image that a data set names: by path, by file name, or by file name without suffix."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tellapart.images.folders import images_in
from tellapart.images.formats import image_stem, name_fault


@dataclass
class ImageFileIndex:
    """Every image file under a folder, found by path, by name, or by name without its suffix."""

    folder: Path
    files: list[str] = field(default_factory=list)
    """Paths relative to `folder`, sorted."""
    misnamed: list[str] = field(default_factory=list)
    """Paths that are not UTF-8, which no pack can hold, with those bytes escaped."""

    def __post_init__(self) -> None:
        for path in images_in(self.folder):
            file = path.relative_to(self.folder).as_posix()
            self.misnamed.append(ascii(file)) if name_fault(file) else self.files.append(file)
        self.files.sort()
        self._paths = set(self.files)
        self._names: dict[str, list[str]] = {}
        self._stems: dict[str, list[str]] = {}
        for file in self.files:
            self._names.setdefault(file.rsplit("/", 1)[-1], []).append(file)
            self._stems.setdefault(image_stem(file), []).append(file)

    def find(self, name: str) -> list[str]:
        """The files that a name may mean: none, one, or several if the name is ambiguous."""
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
    """A folder whose images are named by path: nothing is searched for, and other files in it are ignored."""

    folder: Path
    files: tuple[str, ...] = ()
    """Always empty: files that are not named do not count."""

    def find(self, name: str) -> list[str]:
        """The file at this path, or none."""
        return [name] if (self.folder / name).is_file() else []
