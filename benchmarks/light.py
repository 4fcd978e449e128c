"""Photos without torch against torch: processor seconds per photo of `index` and `caption`, in turns.

`python -m benchmarks light`, or with photos of your own: `python -m benchmarks.light --photos FOLDER --count 192`.
`--same` counts instead how many captions are the same in float32. Both read the same files, one thread each. torch
computes in float32 by `--torch float32`; by default in bfloat16 on CPUs with instructions for it. Processor time is
counted, since other programs may share the machine. The first quarter of the photos warms the models up, and each
round takes another quarter, so that no vector of a caption is remembered from the round before.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from tellapart.images.folders import find_some_photos
from tellapart.inference import captioning, matching
from tellapart.inference.loading import load_captioner, load_matcher
from tellapart.search.embedder import Embedder
from tellapart.search.embedders import embedder_of

ROUNDS = 3


def drawn(folder: Path, count: int) -> list[Path]:
    """Photos of 640 x 480 pixels with smooth random colours."""
    random = np.random.default_rng(0)
    paths = []
    for number in range(count):
        coarse = Image.fromarray(random.integers(0, 255, (12, 16, 3), np.uint8))
        paths.append(folder / f"{number}.jpg")
        coarse.resize((640, 480), Image.Resampling.BICUBIC).save(paths[-1], quality=88)
    return paths


def main(device: str = "cpu") -> None:
    if "OMP_NUM_THREADS" not in os.environ:  # libraries read it when they are imported: start again
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "OMP_NUM_THREADS": "1"})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, default=None)
    parser.add_argument("--count", type=int, default=4 * 48)
    parser.add_argument("--same", action="store_true")
    parser.add_argument("--torch", choices=["auto", "float32"], default="auto")
    options, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        given = find_some_photos([options.photos]).photos if options.photos else drawn(Path(folder), options.count)
        photos = list(given)[: options.count]
        if options.same:
            count_same(photos)
        else:
            compare(photos, options.torch)


def count_same(photos: list[Path]) -> None:
    """Print how many captions torch and onnxruntime both give in float32."""
    captioners = (
        captioning.load_captioner("bundled", "cpu", 1, "float32"),
        load_captioner("bundled", precision="float32"),
    )
    heavy, light = ([one.text for one in captioner.caption(photos)] for captioner in captioners)
    print(f"{sum(map(str.__eq__, heavy, light))} of {len(photos)} captions are the same in float32")


def compare(photos: list[Path], precision: str) -> None:
    """Print milliseconds of processor time per photo, and the ratio; precision: that of torch."""
    parts = [photos[part :: ROUNDS + 1] for part in range(ROUNDS + 1)]
    heavy_captioner = captioning.load_captioner("bundled", "cpu", 1, precision)
    heavy = Embedder(matching.load_matcher("bundled", "cpu", 1, precision), heavy_captioner)
    light_captioner = load_captioner("bundled", "cpu", 1)
    light = embedder_of(load_matcher("bundled", "cpu", 1), light_captioner)
    work: dict[str, dict[str, Callable[[list[Path]], object]]] = {
        "index": {
            "torch": lambda part: list(heavy.embed_photos(part)),
            "light": lambda part: list(light.embed_photos(part)),
        },
        "caption": {"torch": heavy_captioner.caption, "light": light_captioner.caption},
    }
    for verb, both in work.items():
        spent: dict[str, list[float]] = {name: [] for name in both}
        for call in both.values():
            call(parts[0])
        for part in parts[1:]:
            for name, call in both.items():
                before = time.process_time()
                call(part)
                spent[name].append(1000 * (time.process_time() - before) / len(part))
        torch_ms, light_ms = (float(np.median(spent[name])) for name in ("torch", "light"))
        ratio = torch_ms / light_ms
        print(f"{verb}: torch {torch_ms:.1f} ms, light {light_ms:.1f} ms per photo, {ratio:.2f} times as fast")


if __name__ == "__main__":
    main()
