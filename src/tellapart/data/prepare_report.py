"""The report of a prepared pack: what it holds, and every item that was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tellapart.data.assemble import Assembled
from tellapart.data.pack_types import Detections, Phrase
from tellapart.text.vocabulary import UNK, Vocabulary


def closing_report(
    assembled: Assembled, vocabulary: Vocabulary, phrases: Sequence[Phrase], detections: Sequence[Detections]
) -> dict[str, Any]:
    """Counts of what is in the pack, and every item that was left out with its reason; stored as report.json."""
    images, captions = assembled.images, assembled.captions
    lengths = np.asarray([len(caption.words) for caption in captions] or [0])
    unknown = np.asarray([vocabulary.encode(caption.words).count(UNK) for caption in captions] or [0])
    each = np.bincount([caption.image for caption in captions if caption.image >= 0], minlength=len(images))
    images_in = Counter(image.split for image in images)
    captions_in = Counter(caption.split for caption in captions)
    of_split = np.asarray([caption.split for caption in captions] or [""])

    def share(mask: np.ndarray) -> float:
        return round(float(unknown[mask].sum() / max(1, lengths[mask].sum())), 5)

    order = {name: place for place, name in enumerate(("train", "restval", "val", "test", "none", "corpus"))}
    splits = sorted({*images_in, *captions_in}, key=lambda name: (order.get(name, 9), name))
    report: dict[str, Any] = {
        "pictures": len(images),
        "captions": len(captions),
        "captions_a_picture": {
            "least": int(each.min()) if len(images) else 0,
            "mean": round(float(each.mean()), 2) if len(images) else 0.0,
            "most": int(each.max()) if len(images) else 0,
        },
        "splits": {
            name: {
                "pictures": images_in[name],
                "captions": captions_in[name],
                "unknown_share": share(of_split == name),
            }
            for name in splits
        },
        "words": {
            "vocabulary": len(vocabulary),
            "tokens": int(lengths.sum()),
            "mean_length": round(float(lengths.mean()), 2),
            "longest": int(lengths.max()),
            "captions_cut": assembled.cut,
            "unknown_share": share(np.ones(len(unknown), dtype=bool)),
        },
    }
    if phrases:
        boxed = sum(bool(phrase.boxes) for phrase in phrases)
        report["phrases"] = {
            "mentions": assembled.mentions or len(phrases),
            "placed": len(phrases),
            "with_boxes": boxed,
            "captions": len({phrase.caption for phrase in phrases}),
        }
    if detections:
        report["detections"] = {"pictures": len(detections), "boxes": sum(len(found.boxes) for found in detections)}
    report["skipped"] = {
        "counts": dict(Counter(skip.kind for skip in assembled.skipped).most_common()),
        "items": [asdict(skip) for skip in assembled.skipped],
    }
    return report
