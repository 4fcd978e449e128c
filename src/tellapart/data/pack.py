"""A pack: images, captions, vocabulary and splits on disk, and all that is computed from them later.

    PACK/
      pack.json         name, text rules, counts, fingerprint; written last
      pictures.jsonl    id, file, split, width, height; an image's row is its line number
      captions.jsonl    picture (image row, -1 for unpaired text), text as given, words after the text rules, split
      vocabulary.json
      tokens.npy        word ids of all captions end to end (no START, no END); offsets.npy [C + 1]; owner.npy [C]
      phrases.jsonl     caption, first and last + 1 word, boxes in fractions of the image, entity, kinds (optional)
      detections.jsonl  picture (image row), boxes in fractions of the image, scores, labels (optional)
      columns/NAME.npy  one row a caption, a token or an image: sentence targets, noun masks, … (optional)
      features/NAME/    see tellapart.data.feature_store (optional)

A pack alone feeds any recipe. Opening it needs numpy only, and large arrays stay on disk until read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.files import atomic_folder, read_json, read_lines, save_array, write_json, write_lines
from tellapart.text.vocabulary import Vocabulary

FORMAT = 1
NO_IMAGE = -1
CAPTION_IDS = "caption-ids"
"""The column of the source's own caption ids (COCO's), one a caption, -1 for none; sources without ids have none."""


@dataclass(frozen=True)
class PackImage:
    id: str
    file: str
    """Path relative to the pack's `root`, or absolute; empty where only features exist."""
    split: str
    """train, val, test, restval, or none."""
    width: int = 0
    height: int = 0


@dataclass(frozen=True)
class Caption:
    image: int
    """Row of its image, or -1 for a sentence with no image."""
    text: str
    """As the source has it: what metrics compare with."""
    words: tuple[str, ...]
    """After the text rules: what models read. Rare words are still themselves here and UNK only in `tokens`."""
    split: str


@dataclass(frozen=True)
class Phrase:
    """Words first … last - 1 of a caption name an entity that has boxes in the image."""

    caption: int
    first: int
    last: int
    boxes: tuple[tuple[float, float, float, float], ...]
    """x1 y1 x2 y2 as fractions of width and height; empty where the source has no box for it."""
    entity: str = ""
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Detections:
    """A detector's boxes for one image, best first."""

    image: int
    boxes: tuple[tuple[float, float, float, float], ...]
    scores: tuple[float, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Split:
    """Rows of the pack that belong to one split."""

    images: np.ndarray  # [I] int64
    captions: np.ndarray  # [C] int64


@dataclass(frozen=True)
class Column:
    """An array computed beside the captions or images. `per` says what a row stands for: caption, token, image."""

    values: np.ndarray
    per: str
    facts: dict[str, Any] = field(default_factory=dict)


class Pack:
    """An opened pack. Cheap to open; lists are read when first asked for."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / "pack.json").is_file():
            raise InputError(f"{self.folder} is not a pack: it has no pack.json. Make one with `tellapart prepare`.")
        self.manifest: dict[str, Any] = read_json(self.folder / "pack.json")
        if self.manifest.get("format") != FORMAT:
            raise InputError(
                f"{self.folder} has pack format {self.manifest.get('format')}, not {FORMAT}; prepare it anew."
            )

    @property
    def fingerprint(self) -> str:
        """Changes whenever an image, caption, split or text rule does."""
        return str(self.manifest["fingerprint"])

    @cached_property
    def report(self) -> dict[str, Any]:
        """What was read and what was left out when the pack was prepared."""
        path = self.folder / "report.json"
        return dict(read_json(path)) if path.is_file() else {}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.load(self.folder / "vocabulary.json")

    @cached_property
    def images(self) -> list[PackImage]:
        return [PackImage(**row) for row in read_lines(self.folder / "pictures.jsonl")]

    @cached_property
    def captions(self) -> list[Caption]:
        rows = read_lines(self.folder / "captions.jsonl")
        return [Caption(row["picture"], row["text"], tuple(row["words"]), row["split"]) for row in rows]

    @cached_property
    def phrases(self) -> list[Phrase]:
        rows = self._optional_lines("phrases.jsonl")
        return [
            Phrase(r["caption"], r["first"], r["last"], _boxes(r["boxes"]), r["entity"], tuple(r["kinds"]))
            for r in rows
        ]

    @cached_property
    def detections(self) -> dict[int, Detections]:
        """By image row; images the detector never saw are absent."""
        rows = self._optional_lines("detections.jsonl")
        return {
            r["picture"]: Detections(r["picture"], _boxes(r["boxes"]), tuple(r["scores"]), tuple(r["labels"]))
            for r in rows
        }

    @cached_property
    def tokens(self) -> np.ndarray:
        return np.load(self.folder / "tokens.npy", mmap_mode="r")

    @cached_property
    def offsets(self) -> np.ndarray:
        return np.load(self.folder / "offsets.npy")

    @cached_property
    def owner(self) -> np.ndarray:
        return np.load(self.folder / "owner.npy")

    def split(self, name: str) -> Split:
        """Rows of `train`, `val`, `test`, …; `all` is every row."""
        everything = name == "all"
        images = [row for row, image in enumerate(self.images) if everything or image.split == name]
        captions = [row for row, caption in enumerate(self.captions) if everything or caption.split == name]
        if not images and not captions:
            known = sorted({image.split for image in self.images} | {caption.split for caption in self.captions})
            raise InputError(f"{self.folder} has nothing in the split '{name}'; it has {', '.join(known)}.")
        return Split(np.asarray(images, dtype=np.int64), np.asarray(captions, dtype=np.int64))

    @cached_property
    def captions_of(self) -> list[list[int]]:
        """Caption rows of each image row."""
        rows: list[list[int]] = [[] for _ in self.images]
        for caption, image in enumerate(self.owner.tolist()):
            if image >= 0:
                rows[image].append(caption)
        return rows

    def image_path(self, row: int) -> Path:
        """Where the image lies; a relative `root` is taken from the pack's own folder."""
        return self.folder / self.manifest.get("root", "") / self.images[row].file

    def column(self, name: str) -> Column:
        path = self.folder / "columns" / f"{name}.npy"
        if not path.is_file():
            raise InputError(
                f"{self.folder} has no column '{name}'; compute it with `tellapart annotate {self.folder}`."
            )
        facts = read_json(path.with_suffix(".json"))
        return Column(np.load(path, mmap_mode="r"), facts.pop("per"), facts)

    def has_column(self, name: str) -> bool:
        return (self.folder / "columns" / f"{name}.npy").is_file()

    def save_column(self, name: str, values: np.ndarray, per: str, facts: dict[str, Any] | None = None) -> None:
        """Rows must be as many as what `per` names: captions, tokens or images."""
        rows = {"caption": len(self.owner), "token": len(self.tokens), "picture": len(self.images)}
        if per not in rows or len(values) != rows[per]:
            raise InputError(f"Column '{name}' has {len(values)} rows per {per}; this pack needs one of {rows}.")
        write_json(self.folder / "columns" / f"{name}.json", {"per": per, **(facts or {})})
        save_array(self.folder / "columns" / f"{name}.npy", values)

    def feature_names(self) -> list[str]:
        return sorted(path.parent.name for path in self.folder.glob("features/*/features.json"))

    def feature_folder(self, name: str) -> Path:
        return self.folder / "features" / name

    def _optional_lines(self, name: str) -> list[Any]:
        path = self.folder / name
        return read_lines(path) if path.is_file() else []


def _boxes(rows: Sequence[Sequence[float]]) -> tuple[tuple[float, float, float, float], ...]:
    return tuple((row[0], row[1], row[2], row[3]) for row in rows)


def check_overwrite(out: Path, overwrite: bool) -> None:
    """`write_pack` replaces whatever has the pack's name: only an older pack may be, and only if asked to."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / "pack.json").is_file():
        raise InputError(f"{out} exists and is not a pack, so it is left alone; choose another --out.")
    if not overwrite:
        raise InputError(f"{out} is a pack already; choose another --out, or replace it with --overwrite.")


def write_pack(
    folder: Path,
    name: str,
    root: str,
    images: Sequence[PackImage],
    captions: Sequence[Caption],
    vocabulary: Vocabulary,
    rules: dict[str, Any],
    phrases: Sequence[Phrase] = (),
    detections: Sequence[Detections] = (),
    report: dict[str, Any] | None = None,
    columns: Mapping[str, Column] | None = None,
    fill: Callable[[Path], None] | None = None,
) -> Pack:
    """Write a whole pack in one go; until the last byte is down, no folder of that name exists.

    `fill` may write further files (images, say) into the folder before it takes its name.
    """
    encoded = [vocabulary.encode(caption.words) for caption in captions]
    lengths = np.asarray([len(ids) for ids in encoded], dtype=np.int64)
    tokens = np.asarray([index for ids in encoded for index in ids], dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    owner = np.asarray([caption.image for caption in captions], dtype=np.int64)

    digest = hashlib.sha256()
    digest.update("\n".join(f"{image.id}\t{image.split}" for image in images).encode())
    digest.update("\n".join(vocabulary.words).encode())
    for array in (tokens, offsets, owner):
        digest.update(array.tobytes())

    manifest = {
        "format": FORMAT,
        "name": name,
        "root": root,
        "fingerprint": digest.hexdigest()[:16],
        "rules": rules,
        "counts": {"pictures": len(images), "captions": len(captions), "words": len(vocabulary)},
    }
    with atomic_folder(folder) as partial:
        write_lines(partial / "pictures.jsonl", [vars(image) for image in images])
        write_lines(partial / "captions.jsonl", [_stored(caption) for caption in captions])
        vocabulary.save(partial / "vocabulary.json")
        save_array(partial / "tokens.npy", tokens)
        save_array(partial / "offsets.npy", offsets)
        save_array(partial / "owner.npy", owner)
        if phrases:
            write_lines(partial / "phrases.jsonl", [vars(phrase) for phrase in phrases])
        if detections:
            write_lines(partial / "detections.jsonl", [_stored(found) for found in detections])
        for title, column in (columns or {}).items():
            write_json(partial / "columns" / f"{title}.json", {"per": column.per, **column.facts})
            save_array(partial / "columns" / f"{title}.npy", column.values)
        if fill is not None:
            fill(partial)
        write_json(partial / "report.json", report or {})
        write_json(partial / "pack.json", manifest)
    return Pack(folder)


def _stored(row: Caption | Detections) -> dict[str, Any]:
    """A line of captions.jsonl or detections.jsonl; the key "picture" is the format's, from its first version on."""
    return {"picture" if name == "image" else name: value for name, value in vars(row).items()}
