"""`python -m tellapart.cli.fit_search --index INDEX --data PACK --out FOLDER`: fit the calibration of searches."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from tellapart.cli.errors import exit_code
from tellapart.core.errors import InputError
from tellapart.data.pack import Pack
from tellapart.search.calibration import write_calibration
from tellapart.search.fit_calibration import CaptionedPhotos, fit_calibration
from tellapart.search.photo_index import PhotoIndex, open_index


@dataclass(frozen=True)
class FitSearchOptions:
    """Fit when a search is sure, and what hubs are, on photos that the matcher was not trained on."""

    index: str
    """An index, with generated captions, of images of the pack."""
    data: Path
    """A pack with people's captions. Images are found by the names of their files."""
    out: Path
    """Folder for search.npz and search.json."""
    split: str = "val"
    """The split to fit on."""
    training: int = 2000
    """Captions of the training split that give the common part of queries."""
    queries: int = 1500
    """Words and phrases to fit on."""


def fit(options: FitSearchOptions) -> None:
    """Fit and write."""
    index, pack = open_index(options.index, captioner=None), Pack(options.data)
    photos = captioned_photos(index, pack, options.split)
    rows = pack.split("train").captions
    random = np.random.default_rng(0)
    some = random.choice(rows, min(options.training, len(rows)), replace=False).tolist()
    training = [pack.captions[row].text for row in some]
    found = fit_calibration(photos, training, index.matcher.encode_texts, options.queries)
    write_calibration(options.out, index.matcher.fingerprint, found)
    print(f"{options.out}: fitted on {len(photos.captions)} photos; {dict(found.coefficients)}")


def captioned_photos(index: PhotoIndex, pack: Pack, split: str) -> CaptionedPhotos:
    """The photos of an index that a split of the pack has captions of."""
    names = {Path(pack.images[row].file).stem: row for row in pack.split(split).images.tolist()}
    vectors = [np.zeros((0, index.store.about.width), np.float32)]
    references: list[list[str]] = []
    captions: list[str] = []
    for row in index.store.rows(["path", "caption", "vector"]):
        image = names.get(Path(row["path"]).stem)
        if image is not None:
            vectors.append(row["vector"][None])
            captions.append(row["caption"] or "")
            references.append([pack.captions[one].text for one in pack.captions_of[image]])
    if not captions:
        raise InputError(f"The index {index.path} has no photo of the split '{split}'; index its images first.")
    return CaptionedPhotos(np.concatenate(vectors), references, captions)


def main() -> int:
    """The command line."""
    return exit_code(lambda: fit(tyro.cli(FitSearchOptions)))


if __name__ == "__main__":
    sys.exit(main())
