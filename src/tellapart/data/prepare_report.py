"""What `prepare` says when it is done: what is in the pack, and every item that was left out, with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tellapart.data.pack import Caption, Detections, PackImage, Phrase
from tellapart.data.readers.source import Skipped
from tellapart.text.vocabulary import UNK, Vocabulary

SHOWN = 5
"""Skipped items of each kind that the terminal shows; report.json has all."""


def closing_report(
    images: Sequence[PackImage],
    captions: Sequence[Caption],
    vocabulary: Vocabulary,
    phrases: Sequence[Phrase],
    detections: Sequence[Detections],
    skipped: Sequence[Skipped],
    cut: int,
    mentions: int = 0,
) -> dict[str, Any]:
    lengths = np.asarray([len(caption.words) for caption in captions] or [0])
    unknown = np.asarray([vocabulary.encode(caption.words).count(UNK) for caption in captions] or [0])
    each = np.bincount([caption.image for caption in captions if caption.image >= 0], minlength=len(images))
    in_split = Counter(image.split for image in images)
    said_in_split = Counter(caption.split for caption in captions)
    of_split = np.asarray([caption.split for caption in captions] or [""])

    def share(mask: np.ndarray) -> float:
        return round(float(unknown[mask].sum() / max(1, lengths[mask].sum())), 5)

    order = {name: place for place, name in enumerate(("train", "restval", "val", "test", "none", "corpus"))}
    splits = sorted({*in_split, *said_in_split}, key=lambda name: (order.get(name, 9), name))
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
                "pictures": in_split[name],
                "captions": said_in_split[name],
                "unknown_share": share(of_split == name),
            }
            for name in splits
        },
        "words": {
            "vocabulary": len(vocabulary),
            "tokens": int(lengths.sum()),
            "mean_length": round(float(lengths.mean()), 2),
            "longest": int(lengths.max()),
            "captions_cut": cut,
            "unknown_share": share(np.ones(len(unknown), dtype=bool)),
        },
    }
    if phrases:
        boxed = sum(bool(phrase.boxes) for phrase in phrases)
        report["phrases"] = {
            "mentions": mentions or len(phrases),
            "placed": len(phrases),
            "with_boxes": boxed,
            "captions": len({phrase.caption for phrase in phrases}),
        }
    if detections:
        report["detections"] = {"pictures": len(detections), "boxes": sum(len(found.boxes) for found in detections)}
    report["skipped"] = {
        "counts": dict(Counter(skip.kind for skip in skipped).most_common()),
        "items": [asdict(skip) for skip in skipped],
    }
    return report


def print_report(report: dict[str, Any], where: str) -> None:
    """The report as tables on the terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    each, words = report["captions_a_picture"], report["words"]
    table = Table(title=escape(where), title_justify="left", title_style="bold")
    table.add_column("split")
    for column in ("pictures", "captions", "UNK"):
        table.add_column(column, justify="right")
    for name, row in report["splits"].items():
        table.add_row(escape(name), f"{row['pictures']:,}", f"{row['captions']:,}", f"{row['unknown_share']:.2%}")
    table.add_section()
    table.add_row("all", f"{report['pictures']:,}", f"{report['captions']:,}", f"{words['unknown_share']:.2%}")
    console.print(table)
    if report["pictures"]:
        console.print(f"captions an image: {each['mean']} (least {each['least']}, most {each['most']})")
    cut = f", {words['captions_cut']:,} captions cut" if words["captions_cut"] else ""
    console.print(
        f"vocabulary: {words['vocabulary']:,} words (special ones included); {words['mean_length']} words a caption, "
        f"longest {words['longest']}{cut}"
    )
    if "phrases" in report:
        found = report["phrases"]
        console.print(
            f"phrases: {found['mentions']:,} mentions, {found['placed']:,} of them placed on the words of "
            f"{found['captions']:,} captions, {found['with_boxes']:,} with boxes"
        )
    if "detections" in report:
        found = report["detections"]
        console.print(f"detections: {found['boxes']:,} boxes in {found['pictures']:,} images")
    if "nouns" in report:
        console.print(f"nouns: {report['nouns']['share']:.1%} of all words")
    skipped = report["skipped"]
    if not skipped["items"]:
        console.print("nothing was left out")
        return
    console.print(f"left out: {len(skipped['items']):,} items (all of them in report.json)")
    for kind, count in skipped["counts"].items():
        console.print(f"  {kind}: {count:,}")
        for item in [row for row in skipped["items"] if row["kind"] == kind][:SHOWN]:
            console.print(escape(f"    {item['item']} ({item['where']}): {item['reason']}"), soft_wrap=True)
