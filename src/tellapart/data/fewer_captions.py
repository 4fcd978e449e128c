"""A copy of a pack with fewer captions to learn from.

Vocabulary, images and features stay; validation and test keep all their captions. Columns and phrases are not copied:
compute them again with `annotate`.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.data.pack import CAPTION_IDS, Pack
from tellapart.data.pack_types import Column
from tellapart.data.shared_features import share_features
from tellapart.data.write_pack import write_pack


def keep_captions(pack: Pack, folder: Path, each: int = 1, split: str = "train") -> Pack:
    """Write a copy of a pack with the first `each` captions per image of the split; the features are shared."""
    if each < 1:
        raise InputError(f"`each` must be at least 1, not {each}.")
    if folder.exists():
        raise InputError(f"{folder} already exists; choose another folder for the new pack.")
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
        # The source's own ids: they cannot be computed again.
        ids = pack.column(CAPTION_IDS)
        columns[CAPTION_IDS] = Column(np.asarray(ids.values)[kept], ids.per, ids.facts)
    root = pack.manifest.get("root", "")
    return write_pack(
        folder,
        f"{pack.manifest['name']}, {each} per image",
        os.path.relpath(pack.folder / root, folder) if root else "",
        pack.images,
        captions,
        pack.vocabulary,
        rules=pack.manifest["rules"],
        detections=list(pack.detections.values()),
        columns=columns,
        fill=partial(share_features, pack),
    )
