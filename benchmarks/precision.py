"""What int8 costs: captions and retrieval of the bundled models without torch, in float32 and in int8.

`python -m benchmarks.precision --photos FOLDER --references refs.json`; the file holds the captions of each photo by
its name. Only the captioner and the backbone are in int8: the matcher stays in float32.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from tellapart import score
from tellapart.core.files import read_json
from tellapart.inference.loading import load_captioner, load_matcher
from tellapart.metrics.retrieval.recall import recall


def main(device: str = "cpu") -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    options, _ = parser.parse_known_args()
    references: dict[str, list[str]] = read_json(options.references)
    photos = sorted(path for path in options.photos.iterdir() if path.name in references)
    named = {photo.name: references[photo.name] for photo in photos}
    owner = torch.tensor([row for row, texts in enumerate(named.values()) for _ in texts])
    for precision in ("float32", "int8"):
        captions = load_captioner("bundled", "cpu", precision=precision).caption(photos)
        matcher = load_matcher("bundled", "cpu", precision=precision)
        images, texts = matcher.encode_images(photos), matcher.encode_texts([t for own in named.values() for t in own])
        values = score(named, {photo.name: caption.text for photo, caption in zip(photos, captions)})
        found = f"CIDEr {100 * values['CIDEr']:.2f}, BLEU-4 {100 * values['BLEU-4']:.2f}"
        total = recall(torch.from_numpy(images @ texts.T), owner)["rsum"]
        print(f"{precision}: {found}, R@sum {total:.1f} among {len(photos)}", flush=True)


if __name__ == "__main__":
    main()
