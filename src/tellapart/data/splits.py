"""Which split each image and each unpaired sentence belongs to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from tellapart.core.errors import InputError
from tellapart.data.readers.source import UNKNOWN_SPLIT, Source

CORPUS = "corpus"
"""The split of sentences that are read together with images but do not describe them."""


def parse_shares(text: str) -> dict[str, float]:
    """Shares of train, val and test from text such as '0.8/0.1/0.1'.

    >>> parse_shares("0.9/0.1")
    {'train': 0.9, 'val': 0.1, 'test': 0.0}
    """
    try:
        shares = [float(part) for part in text.split("/")]
    except ValueError:
        shares = []
    if not 1 <= len(shares) <= 3 or any(share < 0 for share in shares) or abs(sum(shares) - 1) > 1e-6:
        raise InputError(f"`split` must be up to three shares that add up to 1, such as '0.8/0.1/0.1', not '{text}'.")
    return dict(zip(("train", "val", "test"), [*shares, 0.0, 0.0], strict=False))


def hashed_split(key: str, shares: Mapping[str, float], seed: int) -> str:
    """The split of an item. It depends on the key and the seed alone, so new items never move old ones."""
    number = int.from_bytes(hashlib.sha256(f"{seed}:{key}".encode()).digest()[:8], "big") / 2**64
    for name, share in shares.items():
        if number < share:
            return name
        number -= share
    return max(shares, key=lambda name: shares[name])


def decide_splits(
    source: Source, shares: Mapping[str, float], seed: int, join_restval: bool
) -> tuple[list[str], list[str]]:
    """Splits of the source's images and of its unpaired sentences; hashed if the source names no split at all."""

    def decide(given: Sequence[str], keys: Iterable[str]) -> list[str]:
        if given and all(split == UNKNOWN_SPLIT for split in given):
            return [hashed_split(key, shares, seed) for key in keys]
        return ["train" if join_restval and split == "restval" else split or "none" for split in given]

    unpaired = [caption for caption in source.captions if caption.image is None]
    return (
        decide([image.split for image in source.images], (image.id for image in source.images)),
        decide([caption.split for caption in unpaired], (caption.text for caption in unpaired)),
    )
