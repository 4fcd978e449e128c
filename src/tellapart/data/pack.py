"""A pack: images, captions, vocabulary and splits on disk, and everything computed from them.

    PACK/
      pack.json         name, text rules, counts, fingerprint; written last
      pictures.jsonl    id, file, split, width, height; the row of an image is its line number
      captions.jsonl    "picture" (image row, -1 for unpaired text), text as given, words after the text rules, split
      vocabulary.json
      tokens.npy        word ids of all captions, concatenated (no START, no END); offsets.npy [C + 1]; owner.npy [C]
      phrases.jsonl     caption, first and last + 1 word, boxes in fractions of the image, entity, kinds (optional)
      detections.jsonl  "picture" (image row), boxes in fractions of the image, scores, labels (optional)
      columns/NAME.npy  one row per caption, token or image: sentence targets, noun masks, … (optional)
      features/NAME/    see tellapart.data.feature_store (optional)

A pack is all that a recipe needs. Opening it needs only numpy; large arrays stay on disk until they are read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.core.checksums import add_checksums, check_sizes, forget_checksums
from tellapart.core.errors import InputError, Step
from tellapart.core.explained import explained
from tellapart.core.files import load_array, read_json, read_lines, save_array, write_json
from tellapart.core.leftovers import recover
from tellapart.data.lazy_rows import GroupedRows, LazyRows
from tellapart.data.pack_types import Caption, Column, Detections, PackImage, Phrase, Split
from tellapart.data.stored_arrays import load_numbers, load_offsets
from tellapart.text.vocabulary import Vocabulary

FORMAT = 1
AGAIN = "prepare the pack again"
CAPTION_IDS = "caption-ids"
"""The column of the source's caption ids (COCO's), one per caption, -1 for none; absent if the source has no ids."""
MANY_ROWS = 200_000
"""Images or captions from which the rows of a pack stay on disk."""
STORED_PER = {"image": "picture"}
"""What a column's row stands for, as files name it."""


class Pack:
    """An opened pack. Opening is cheap; lists are read on first use."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        recover(self.folder)
        if not (self.folder / "pack.json").is_file():
            raise InputError(
                f"{self.folder} is not a pack: it has no pack.json. Prepare one first.",
                Step("prepare", "SOURCE", out=self.folder),
            )
        check_sizes(self.folder, "check the pack")
        self.manifest: dict[str, Any] = read_json(self.folder / "pack.json")
        if not isinstance(self.manifest, dict):
            raise InputError(f"{self.folder / 'pack.json'} does not describe a pack; prepare it again.")
        if self.manifest.get("format") != FORMAT:
            raise InputError(
                f"{self.folder} has pack format {self.manifest.get('format')}, not {FORMAT}; prepare it again."
            )

    @property
    def fingerprint(self) -> str:
        """A hash of the images, captions, splits and vocabulary."""
        return str(self.manifest["fingerprint"])

    @cached_property
    def report(self) -> dict[str, Any]:
        """What was read and what was left out when the pack was prepared."""
        path = self.folder / "report.json"
        return dict(read_json(path)) if path.is_file() else {}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of the captions."""
        return Vocabulary.load(self.folder / "vocabulary.json")

    @cached_property
    def images(self) -> Sequence[PackImage]:
        """All images, by row; those of a large pack stay on disk."""
        with self._reading("pictures.jsonl") as path:
            if self._is_large:
                return LazyRows(path, _image)
            return [PackImage(**row) for row in read_lines(path)]

    @cached_property
    def captions(self) -> Sequence[Caption]:
        """All captions, by row; those of a large pack stay on disk."""
        with self._reading("captions.jsonl") as path:
            if self._is_large:
                return LazyRows(path, _caption)
            return [_caption(row) for row in read_lines(path)]

    @property
    def _is_large(self) -> bool:
        counts = self.manifest.get("counts", {})
        return max(int(counts.get("pictures", 0)), int(counts.get("captions", 0))) > MANY_ROWS

    @cached_property
    def phrases(self) -> list[Phrase]:
        """Phrases of captions with their boxes."""
        with self._reading("phrases.jsonl") as path:
            return [
                Phrase(r["caption"], r["first"], r["last"], _boxes(r["boxes"]), r["entity"], tuple(r["kinds"]))
                for r in (read_lines(path) if path.is_file() else [])
            ]

    @cached_property
    def detections(self) -> dict[int, Detections]:
        """Detections by image row; images without detections are absent."""
        with self._reading("detections.jsonl") as path:
            return {
                r["picture"]: Detections(r["picture"], _boxes(r["boxes"]), tuple(r["scores"]), tuple(r["labels"]))
                for r in (read_lines(path) if path.is_file() else [])
            }

    @cached_property
    def tokens(self) -> np.ndarray:
        """Word ids of all captions, concatenated; caption c has tokens[offsets[c] : offsets[c + 1]]."""
        tokens = load_numbers(self.folder / "tokens.npy", 0, len(self.vocabulary), AGAIN, mapped=True)
        if len(tokens) != int(self.offsets[-1]):
            raise InputError(f"{self.folder / 'tokens.npy'} and offsets.npy do not fit together; {AGAIN}.")
        return tokens

    @cached_property
    def offsets(self) -> np.ndarray:
        """[C + 1], see `tokens`."""
        return load_offsets(self.folder / "offsets.npy", AGAIN)

    @cached_property
    def owner(self) -> np.ndarray:
        """[C]: the image row of each caption, -1 for none."""
        owner = load_numbers(self.folder / "owner.npy", -1, len(self.images), AGAIN)
        if len(owner) != len(self.offsets) - 1:
            raise InputError(f"{self.folder / 'owner.npy'} and offsets.npy do not fit together; {AGAIN}.")
        return owner

    def split(self, name: str) -> Split:
        """Rows of `train`, `val`, `test`, …; `all` is every row."""
        everything = name == "all"
        images = _rows_of(self.images, name, everything)
        captions = _rows_of(self.captions, name, everything)
        if not len(images) and not len(captions):
            known = sorted({image.split for image in self.images} | {caption.split for caption in self.captions})
            raise InputError(f"{self.folder} has nothing in the split '{name}'; it has {', '.join(known)}.")
        return Split(images, captions)

    @cached_property
    def captions_of(self) -> Sequence[list[int]]:
        """Caption rows of each image row."""
        if self._is_large:
            return GroupedRows(self.owner, len(self.images))
        rows: list[list[int]] = [[] for _ in self.images]
        for caption, image in enumerate(self.owner.tolist()):
            if image >= 0:
                rows[image].append(caption)
        return rows

    def image_path(self, row: int) -> Path:
        """The file of an image; a relative `root` starts at the pack's folder."""
        return self.folder / str(self.manifest.get("root", "")) / self.images[row].file

    def column(self, name: str) -> Column:
        """A column by name, memory-mapped."""
        path = self.folder / "columns" / f"{name}.npy"
        if not path.is_file():
            raise InputError(f"{self.folder} has no column '{name}'; annotate it first.", Step("annotate", self.folder))
        with explained(path.with_suffix(".json"), "annotate the pack again"):
            facts = dict(read_json(path.with_suffix(".json")))
            stored = str(facts.pop("per"))
        per = next((p for p, s in STORED_PER.items() if s == stored), stored)
        values = load_array(path, mapped=True)
        if values.ndim == 0 or len(values) != self._rows_per().get(per):
            raise InputError(f"{path} does not have one row per {per}; annotate the pack again.")
        return Column(values, per, facts)

    def has_column(self, name: str) -> bool:
        """Whether the pack has this column."""
        return (self.folder / "columns" / f"{name}.npy").is_file()

    def save_column(self, name: str, values: np.ndarray, per: str, facts: dict[str, Any] | None = None) -> None:
        """Store a column with one row per caption, token or image, as `per` says."""
        rows = self._rows_per()
        if per not in rows or len(values) != rows[per]:
            raise InputError(f"Column '{name}' has {len(values)} rows per {per}; this pack needs one of {rows}.")
        names = (f"columns/{name}.json", f"columns/{name}.npy")
        forget_checksums(self.folder, *names)
        write_json(self.folder / "columns" / f"{name}.json", {"per": STORED_PER.get(per, per), **(facts or {})})
        save_array(self.folder / "columns" / f"{name}.npy", values)
        add_checksums(self.folder, *names)

    def _rows_per(self) -> dict[str, int]:
        """How many rows a column has, by what it has one for."""
        return {"caption": len(self.owner), "token": len(self.tokens), "image": len(self.images)}

    def feature_names(self) -> list[str]:
        """Names of the finished features."""
        return sorted(path.parent.name for path in self.folder.glob("features/*/features.json"))

    def feature_folder(self, name: str) -> Path:
        """The folder of the features of this name."""
        return self.folder / "features" / name

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[Path]:
        """The path of a file of the pack; errors in reading it name it."""
        with explained(self.folder / name, AGAIN):
            yield self.folder / name


def _image(row: dict[str, Any]) -> PackImage:
    return PackImage(**row)


def _caption(row: dict[str, Any]) -> Caption:
    return Caption(row["picture"], row["text"], tuple(row["words"]), row["split"])


def _rows_of(values: Sequence[Any], split: str, everything: bool) -> np.ndarray:
    """Rows [N] of a split."""
    if everything:
        return np.arange(len(values), dtype=np.int64)
    return np.fromiter((row for row, value in enumerate(values) if value.split == split), np.int64)


def _boxes(rows: Sequence[Sequence[float]]) -> tuple[tuple[float, float, float, float], ...]:
    return tuple((row[0], row[1], row[2], row[3]) for row in rows)
