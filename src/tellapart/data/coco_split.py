"""Our split of COCO train2017 for the tables on COCO: by a hash of the image id, so that anybody can make it again.

Images are sorted by the SHA-256 of "tellapart-coco-ID". The first 5,000 are test, the next 5,000 val, the rest train.
Images to leave out (Karpathy's val and test) are removed before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

HELD_OUT = 5_000
"""Images in test, and as many in val."""


def coco_split(ids: Iterable[int], leave_out: Collection[int] = (), held_out: int = HELD_OUT) -> dict[int, str]:
    """test, val or train for each image id that is not left out, in the order of the hash.

    >>> coco_split([9, 25, 30, 34], leave_out={30}, held_out=1)
    {9: 'test', 34: 'val', 25: 'train'}
    """
    kept = sorted({int(image) for image in ids} - set(leave_out), key=_hash)
    names = ["test"] * held_out + ["val"] * held_out
    return {image: names[place] if place < len(names) else "train" for place, image in enumerate(kept)}


def split_file(captions: Mapping[int, Sequence[str]], split: Mapping[int, str], suffix: str = ".jpg") -> dict[str, Any]:
    """The content of a Karpathy file (dataset_coco.json), which `prepare_pack` reads."""
    images = [
        {
            "filename": f"{image:012d}{suffix}",
            "split": name,
            "cocoid": image,
            "sentences": [{"raw": text.strip()} for text in captions[image]],
        }
        for image, name in split.items()
        if image in captions
    ]
    return {"dataset": "coco", "images": images}


def _hash(image: int) -> str:
    return hashlib.sha256(f"tellapart-coco-{image}".encode()).hexdigest()
