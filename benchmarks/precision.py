"""What int8 costs: captions and retrieval of the bundled models without torch, in float32 and in int8.

`python -m benchmarks.precision --photos FOLDER --references refs.json`; the file holds the captions of each photo by
its name. Captioner and backbone are in int8, and the matcher where it judges captions; vectors for searches are in
float32. The last lines say what judging in int8 alone changes: the confidence of the same captions, and captions
against look-alikes, whose self-retrieval is measured in float32.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from tellapart import score
from tellapart.core.files import read_json
from tellapart.inference.generated import with_confidence
from tellapart.inference.judging import Vectors
from tellapart.inference.light.captioning import LightCaptioner
from tellapart.inference.light.exported_run import open_exported
from tellapart.inference.light.matching import LightMatcher
from tellapart.inference.loading import load_captioner, load_matcher
from tellapart.metrics.retrieval.recall import recall

PRECISIONS = ("float32", "int8")
AGAINST = 200
"""Photos that are captioned against look-alikes."""


def main(device: str = "cpu") -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    options, _ = parser.parse_known_args()
    references: dict[str, list[str]] = read_json(options.references)
    photos = sorted(path for path in options.photos.iterdir() if path.name in references)
    named = {photo.name: references[photo.name] for photo in photos}
    owner = torch.tensor([row for row, texts in enumerate(named.values()) for _ in texts])
    for precision in PRECISIONS:
        captions = load_captioner("bundled", "cpu", precision=precision).caption(photos)
        matcher = load_matcher("bundled", "cpu", precision=precision)
        images, texts = matcher.encode_images(photos), matcher.encode_texts([t for own in named.values() for t in own])
        values = score(named, {photo.name: caption.text for photo, caption in zip(photos, captions)})
        found = f"CIDEr {100 * values['CIDEr']:.2f}, BLEU-4 {100 * values['BLEU-4']:.2f}"
        total = recall(torch.from_numpy(images @ texts.T), owner)["rsum"]
        print(f"{precision}: {found}, R@sum {total:.1f} among {len(photos)}", flush=True)
    captioner = LightCaptioner(open_exported("bundled", "captioner"), precision="int8")
    judges = [LightMatcher(open_exported("bundled", "matcher"), precision=precision) for precision in PRECISIONS]
    compare_confidence(captioner, judges, photos)
    compare_against(captioner, judges, photos, named)


def compare_confidence(captioner: LightCaptioner, judges: Sequence[LightMatcher], photos: Sequence[Path]) -> None:
    """Print how much the confidence of the same captions differs."""
    values, sure = [], []
    for extracted in captioner.extractor.extract(photos):
        captions, vectors = captioner.generate(extracted.cells), Vectors(judges[0].encode_features(extracted.cells))
        found = [with_confidence(captions, judge, vectors) for judge in judges]
        values += list(zip(*(one.confidence or [] for one in found)))
        sure += list(zip(*(one.sure or [] for one in found)))
    apart = np.abs(np.diff(np.asarray(values), axis=1))
    flips = sum(one != other for one, other in sure)
    print(f"confidence differs by {apart.mean():.4f}, at most {apart.max():.3f}; {flips} of {len(sure)} change sides")


def compare_against(
    captioner: LightCaptioner, judges: Sequence[LightMatcher], photos: Sequence[Path], named: Mapping[str, list[str]]
) -> None:
    """Print captions of the first photos against all of them, chosen by each judge and measured by the first."""
    some = list(photos[:AGAINST])
    images = judges[0].encode_images(photos)
    texts = []
    for precision, judge in zip(PRECISIONS, judges):
        before = time.process_time()
        captions = [caption.text for caption in captioner.caption(some, against=list(photos), matcher=judge)]
        spent = 1000 * (time.process_time() - before) / len(some)
        texts.append(captions)
        value = score({photo.name: named[photo.name] for photo in some}, dict(zip((p.name for p in some), captions)))
        ranks = images @ judges[0].encode_texts(captions).T  # [A, I]
        found = float((ranks.argmax(0) == np.arange(len(some))).mean())
        print(
            f"against look-alikes, judged in {precision}: CIDEr {100 * value['CIDEr']:.2f}, R@1 {100 * found:.1f}%, "
            f"{spent:.0f} ms of processor time per photo",
            flush=True,
        )
    print(f"{sum(map(str.__eq__, *texts))} of {len(some)} captions are the same")


if __name__ == "__main__":
    main()
