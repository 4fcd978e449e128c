"""Indexing photos against the bare backbone: photos per second, processor time, and a second run without changes.

The photos of a folder are repeated: every copy has the same pixels and other bytes, so that each is decoded, hashed,
encoded and written as a new one. They are indexed in parts. In between, the bare backbone encodes tensors from memory
as in `extraction`, so that the load of other programs affects both alike.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.extraction import BACKBONE, IMAGES, Cost, bare_call, bare_in_workers, benchmark_pack
from tellapart.features.extract import CPU_BATCH, cores
from tellapart.images.decoding import read_square
from tellapart.images.folders import find_some_photos
from tellapart.images.reading import read_squashed
from tellapart.images.verified_file import VerifiedFile
from tellapart.inference.feature_extractor import FeatureExtractor
from tellapart.inference.feature_spec import FeatureSpec
from tellapart.inference.light.extractor import UNIT, LightExtractor
from tellapart.search.embedded import Embedded, Embeds
from tellapart.search.embedder import Embedder
from tellapart.search.embedders import open_embedder
from tellapart.search.light_embedder import LightEmbedder
from tellapart.search.local_engine import local_engine
from tellapart.search.store import open_or_make
from tellapart.search.table import About
from tellapart.search.update import update_index

PARTS = 2
ORIGINALS, BARE = 512, 512
"""Different photos at most, and how many of them the bare backbone encodes in each turn."""


class Projected:
    """The backbone's vectors times a fixed matrix: the cost of indexing without a matcher's own small layers."""

    fingerprint, width = "benchmark", 1024

    def __init__(self, device: str) -> None:
        self.extractor = FeatureExtractor(FeatureSpec(BACKBONE, "vector", "squash", 1, 1280), device)
        self.matrix = torch.randn(1280, self.width, generator=torch.Generator().manual_seed(0)).to(device)

    def embed_photos(self, photos: Iterable[VerifiedFile]) -> Iterator[Embedded]:
        for extracted in self.extractor.extract(photos, 64):
            vectors = torch.nn.functional.normalize(extracted.images.pooled() @ self.matrix)
            yield Embedded(extracted.places, vectors.cpu().numpy(), None, extracted.faults)

    def embed_texts(self, sentences: Sequence[str]) -> np.ndarray:
        """Zero vectors: this benchmark has no text queries."""
        return np.zeros((len(sentences), self.width), np.float32)


def originals(images: Path | None, folder: Path) -> list[Path]:
    if images is not None:
        return find_some_photos([images]).photos[:ORIGINALS]
    folder.mkdir()
    pack = benchmark_pack(folder)
    return [pack.image_path(row) for row in range(len(pack.images))]


def repeated(photos: Sequence[Path], count: int, folder: Path) -> list[Path]:
    """Folders of copies, one per part."""
    parts = [folder / f"part-{part}" for part in range(min(PARTS, count))]
    for part in parts:
        part.mkdir(parents=True)
    for row in range(count):
        original = photos[row % len(photos)]
        copy = parts[row % len(parts)] / f"{row}{original.suffix}"
        shutil.copyfile(original, copy)
        with copy.open("ab") as file:
            file.write(row.to_bytes(8, "little"))  # after the end of the image: the same pixels, other bytes
    return parts


def bare_ways(
    extractor: FeatureExtractor | LightExtractor, photos: Sequence[Path], device: str
) -> dict[str, Callable[[], None]]:
    """The ways in which `extraction` runs the bare backbone on tensors in memory."""
    if isinstance(extractor, LightExtractor):
        return _bare_sessions(extractor, photos)
    backbone = extractor.backbone
    squares = [read_square(path, backbone.preprocessing, extractor.spec.resize).pixels for path in photos]
    pixels = torch.stack(squares).contiguous(memory_format=torch.channels_last).to(device)
    sizes = (4, 16) if device == "cpu" else (64, 256)
    ways: dict[str, Callable[[], None]] = {
        f"one call on all cores, batches of {size}": partial(bare_call, backbone, pixels.split(size)) for size in sizes
    }
    if device == "cpu":
        workers = f"{cores()} workers of one core, batches of {CPU_BATCH}"
        ways[workers] = partial(bare_in_workers, backbone, pixels.split(CPU_BATCH), cores())
    return ways


def _bare_sessions(extractor: LightExtractor, photos: Sequence[Path]) -> dict[str, Callable[[], None]]:
    """The exported backbone on arrays in memory."""
    pixels = np.stack([read_squashed(path, extractor.run.size) for path in photos])
    batches = [pixels[first : first + UNIT] for first in range(0, len(pixels), UNIT)]

    def work() -> None:
        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(extractor.cells, batches))

    return {f"{cores()} threads of one core, batches of {UNIT}": work}


def measured(
    embedder: Embeds,
    extractor: FeatureExtractor | LightExtractor,
    photos: list[Path],
    count: int,
    device: str,
    folder: Path,
) -> None:
    parts = repeated(photos, count, folder / "photos")
    shown = photos[:BARE]
    ways = bare_ways(extractor, shown, device)
    for work in ways.values():
        work()  # warm
    store = open_or_make(str(folder / "index"), About(embedder.fingerprint, "benchmark", "", embedder.width))
    update = partial(update_index, store, engine_for=lambda contents: local_engine(embedder, contents))
    bare, indexed, again = {name: Cost() for name in ways}, Cost(), Cost()
    for part in parts:
        for name, work in ways.items():
            bare[name].measure(work)
        indexed.measure(partial(update, [part]))
    again.measure(partial(update, parts))
    if len(store) != count:
        raise RuntimeError(f"{len(store)} of {count} photos were indexed")
    report(bare, indexed, again, len(shown), count)


def report(bare: dict[str, Cost], indexed: Cost, again: Cost, shown: int, count: int) -> None:
    rates = {name: shown / statistics.median(cost.wall) for name, cost in bare.items()}
    fastest = max(rates, key=lambda name: rates[name])
    rate, effort = count / sum(indexed.wall), sum(indexed.processor) / count
    bare_effort = statistics.median(bare[fastest].processor) / shown
    for name, found in rates.items():
        print(f"bare, {name}: {found:.1f} per second")
    print(
        f"indexing {count:,} photos: {rate:.1f} per second, {rate / rates[fastest]:.0%} of the fastest bare backbone; "
        f"{1000 * effort:.2f} ms of a core each, {bare_effort / effort:.0%} by core time; target >= 90%"
    )
    print(f"a second run without changes: {again.wall[0]:.2f} s")


def main(
    device: str = "cpu", count: int = IMAGES, images: Path | None = None, matcher: str = "", captioner: str = ""
) -> None:
    torch.set_num_threads(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if matcher:
            embedder: Projected | Embedder | LightEmbedder = open_embedder(matcher, captioner, device)
        else:
            embedder = Projected(device)
        measured(embedder, embedder.extractor, originals(images, folder / "drawn"), count, device, folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=10_000, help="photos to index")
    parser.add_argument("--images", type=Path, help="a folder of photos to repeat; by default real or drawn ones")
    parser.add_argument("--matcher", default="", help="a run such as bundled:matcher; by default a fixed matrix")
    parser.add_argument("--captioner", default="", help="a run that also captions each photo")
    options = parser.parse_args()
    main(options.device, options.count, options.images, options.matcher, options.captioner)
