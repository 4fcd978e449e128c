"""A pack with fewer captions to learn from: `python -m tellapart.cli.fewer_captions PACK OUT --each 1`.

Vocabulary, images and features stay; validation and test keep all their captions. What was computed for single
captions or words (columns, phrases) is left out: compute it anew with `tellapart annotate`.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.pack import CAPTION_IDS, Column, Pack, write_pack
from tellapart.data.shared_features import share_features


def keep_captions(pack: Pack, folder: Path, each: int = 1, split: str = "train") -> Pack:
    """The pack with the first `each` captions of every image of the split; both share their features' bytes."""
    if each < 1:
        raise InputError(f"At least one caption an image must stay, not {each}.")
    if folder.exists():
        raise InputError(f"{folder} is already there; choose another folder for the new pack.")
    dropped = {
        caption
        for image, captions in enumerate(pack.captions_of)
        if pack.images[image].split == split
        for caption in captions[each:]
    }
    kept = [row for row in range(len(pack.captions)) if row not in dropped]
    captions = [pack.captions[row] for row in kept]
    columns = {}
    if pack.has_column(CAPTION_IDS):
        # Only the source knows these: they could not be computed anew.
        ids = pack.column(CAPTION_IDS)
        columns[CAPTION_IDS] = Column(np.asarray(ids.values)[kept], ids.per, ids.facts)
    root = pack.manifest.get("root", "")
    return write_pack(
        folder,
        f"{pack.manifest['name']}, {each} an image",
        os.path.relpath(pack.folder / root, folder) if root else "",
        pack.images,
        captions,
        pack.vocabulary,
        pack.manifest["rules"],
        detections=list(pack.detections.values()),
        columns=columns,
        fill=partial(share_features, pack),
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tellapart.cli.fewer_captions", description=__doc__)
    parser.add_argument("pack", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--each", type=int, default=1, help="captions of each training image that stay")
    chosen = parser.parse_args(arguments)
    made = keep_captions(Pack(chosen.pack), chosen.out, chosen.each)
    print(f"{made.folder}: {made.manifest['counts']['captions']} captions")


if __name__ == "__main__":
    main()
