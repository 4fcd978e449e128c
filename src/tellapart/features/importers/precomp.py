"""`*_precomp` folders: {train,dev,test}_ims.npy and _caps.txt. They include captions, so they make a pack.

Arrays hold one image per row, or, in the older ones, each image as often as it has captions; both are understood.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.features.importers.source import Imported
from tellapart.text.rules import TextRules, preset

SPLITS = {"train": "train", "dev": "val", "val": "val", "test": "test"}
PROBE = 8
"""Values to compare to find out whether two neighbouring rows are the same image."""


@dataclass(frozen=True)
class Part:
    """One split of the folder."""

    split: str
    values: np.ndarray  # [N, D] or [N, R, D], memory-mapped
    firsts: np.ndarray  # [I] row of each image
    captions: list[str]
    owner: np.ndarray  # [C] image of each caption
    ids: list[str]


class PrecompSource:
    """A folder of *_precomp arrays."""

    label_names: list[str] = []  # noqa: RUF012 - never written to
    has_detections = False
    has_boxes = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts = [_read_part(path, name) for name in SPLITS if (path / f"{name}_ims.npy").is_file()]
        if not self.parts:
            raise InputError(f"{path} has no train_ims.npy, dev_ims.npy or test_ims.npy.")
        widths = {part.values.shape[-1] for part in self.parts}
        if len(widths) > 1:
            raise InputError(f"The arrays of {path} have different widths: {', '.join(map(str, sorted(widths)))}.")
        self.width = int(widths.pop())
        self.kind = "vector" if self.parts[0].values.ndim == 2 else "regions"
        self._rows = {
            key: (part, int(row)) for part in self.parts for key, row in zip(part.ids, part.firsts, strict=True)
        }

    def keys(self) -> Iterable[str]:
        return self._rows

    def count(self, key: str) -> int:
        values = self._rows[key][0].values
        return 1 if values.ndim == 2 else int(values.shape[1])

    def read(self, key: str) -> Imported:
        part, row = self._rows[key]
        return Imported(np.asarray(part.values[row]).reshape(-1, self.width))

    def make_pack(self, folder: Path, rules: TextRules | None = None) -> Pack:
        """A pack of the captions; its images have no files, only the features to import."""
        rules = rules or preset("vse")
        images = [PackImage(key, "", part.split) for part in self.parts for key in part.ids]
        texts = [text for part in self.parts for text in part.captions]
        splits = [part.split for part in self.parts for _ in part.captions]
        starts = np.cumsum([0, *(len(part.ids) for part in self.parts)])
        owner = np.concatenate([part.owner + start for part, start in zip(self.parts, starts[:-1], strict=True)])
        words = rules.split(texts)
        counted = [
            row for row, split in zip(words, splits, strict=True) if rules.vocabulary == "all" or split == "train"
        ]
        captions = [
            Caption(int(image), text, tuple(row), split)
            for image, text, row, split in zip(owner, texts, words, splits, strict=True)
        ]
        vocabulary = rules.build_vocabulary(counted)
        return write_pack(
            folder, folder.name, root="", images=images, captions=captions, vocabulary=vocabulary, rules=rules.as_dict()
        )


def _read_part(path: Path, name: str) -> Part:
    values = np.load(path / f"{name}_ims.npy", mmap_mode="r", allow_pickle=False)
    lines = _lines(path / f"{name}_caps.txt")
    if values.ndim not in (2, 3):
        raise InputError(f"{path}/{name}_ims.npy has shape {values.shape}; expected [N, D] or [N, R, D].")
    if len(values) == len(lines) and len(values) > 1:
        flat = values[:, :PROBE] if values.ndim == 2 else values[:, 0, :PROBE]
        firsts = np.flatnonzero(np.concatenate([[True], (flat[1:] != flat[:-1]).any(1)]))
        owner = np.searchsorted(firsts, np.arange(len(lines)), side="right") - 1
    elif len(values) and len(lines) % len(values) == 0:
        firsts = np.arange(len(values))
        owner = np.arange(len(lines)) // (len(lines) // len(values))
    else:
        raise InputError(
            f"{path}: {len(values)} images in {name}_ims.npy and {len(lines)} lines in {name}_caps.txt do not fit "
            "together; each image needs the same number of captions."
        )
    return Part(SPLITS[name], values, firsts, lines, owner, _ids(path / f"{name}_ids.txt", SPLITS[name], firsts, owner))


def _ids(path: Path, split: str, firsts: np.ndarray, owner: np.ndarray) -> list[str]:
    """Ids from the ids file, one per image or one per caption; numbers if the file does not exist."""
    lines = _lines(path) if path.is_file() else []
    if len(lines) == len(firsts) and len(set(lines)) == len(firsts):
        return [f"{split}-{line}" for line in lines]
    by_image = dict(zip(owner.tolist(), lines)) if len(lines) == len(owner) else {}
    if len(set(by_image.values())) == len(firsts):
        return [f"{split}-{by_image[image]}" for image in range(len(firsts))]
    return [f"{split}-{image:06d}" for image in range(len(firsts))]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; a *_precomp folder has a caps file for each array.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
