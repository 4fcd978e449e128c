"""An embedder without a network: a photo's vector is its mean colour, and colour words have vectors too."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tellapart.images.opening import UnreadableImage
from tellapart.images.verified_file import VerifiedFile
from tellapart.search.changes import Changes
from tellapart.search.embedded import Embedded
from tellapart.search.local_engine import local_engine
from tellapart.search.protocol import Store
from tellapart.search.store import open_or_make
from tellapart.search.table import About
from tellapart.search.update import update_index

COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}


class Colours:
    """`looked` counts every photo that was encoded; `log` keeps their names across processes."""

    width = 3

    def __init__(self, log: Path | None = None, fingerprint: str = "colours", slow: float = 0.0) -> None:
        self.fingerprint, self.log, self.slow = fingerprint, log, slow
        self.looked: list[str] = []

    def embed_photos(self, photos: Iterable[VerifiedFile]) -> Iterator[Embedded]:
        for place, photo in enumerate(photos):
            path = photo.path
            self.looked.append(path.name)
            time.sleep(self.slow)
            if self.log is not None:
                with self.log.open("a") as file:
                    file.write(f"{path.name}\n")
            try:
                with Image.open(photo.read()) as opened:
                    colour = np.asarray(opened.convert("RGB"), np.float32).mean((0, 1))
            except (OSError, UnreadableImage) as error:
                yield Embedded([], np.zeros((0, 3), np.float32), None, {place: f"{path} cannot be used: {error}"})
                continue
            vector = (colour / np.linalg.norm(colour))[None]
            yield Embedded([place], vector, [list(COLOURS)[int(colour.argmax())]], {})

    def embed_texts(self, sentences: Sequence[str]) -> np.ndarray:
        return np.asarray([COLOURS[sentence] for sentence in sentences], np.float32)


def paint(path: Path, colour: tuple[int, int, int], taken: str = "", orientation: int = 1) -> Path:
    """A small photo of one colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    exif[0x0112] = orientation
    if taken:
        exif.get_ifd(0x8769)[0x9003] = taken
    Image.new("RGB", (40, 24), colour).save(path, exif=exif)
    return path


def fill(where: Path, colours: Colours, *folders: Path, chunk: int = 4, forget: bool = False) -> tuple[Store, Changes]:
    """An index of some folders, brought up to date; one that LanceDB keeps stays there."""
    store = open_or_make(str(where), About(colours.fingerprint, "colours", "", 3))
    changes = update_index(store, folders, lambda contents: local_engine(colours, contents), chunk, forget)
    return store, changes
