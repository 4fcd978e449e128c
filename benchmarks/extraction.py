"""Extraction against the bare backbone: images per second with and without decoding, pooling and writing.

The bare backbone is the same folded module on tensors in memory. It runs in two ways: as a plain call on all cores, and
as extraction runs it (one single-threaded worker per core, small batches). Extraction is compared with the faster of
the two. Rounds alternate, so that the load of other programs affects all of them alike.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.features.backbones import Backbone, load_backbone
from tellapart.features.extract import ACCELERATOR_BATCH, CPU_BATCH, cores
from tellapart.features.pipeline import Pipeline, Target
from tellapart.features.store_writer import StorePlan, StoreWriter
from tellapart.images.decoding import read_square
from tellapart.text.vocabulary import Vocabulary

IMAGES = 256
ROUNDS = 5
BACKBONE = "efficientnet-lite0"
EXTRACTION = {"extraction of vectors": "vector", "extraction of grids": "grid"}


def benchmark_pack(folder: Path) -> Pack:
    """Real photos from TELLAPART_DATA (or ../shared/data) if it exists, else drawn JPEGs."""
    data = Path(os.environ.get("TELLAPART_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    photos = sorted((data / "flickr8k" / "images").glob("*"))[:IMAGES]
    if not photos:
        generator = np.random.default_rng(0)
        for row in range(IMAGES):
            coarse = Image.fromarray(generator.integers(0, 256, (24, 32, 3), dtype=np.uint8))
            coarse.resize((500, 375), Image.Resampling.BICUBIC).save(folder / f"{row:03d}.jpg", quality=90)
        photos = sorted(folder.glob("*.jpg"))
    images = [PackImage(photo.stem, str(photo), "train") for photo in photos]
    captions = [Caption(row, "a", ("a",), "train") for row in range(len(photos))]
    return write_pack(folder / "pack", "benchmark", "", images, captions, Vocabulary.from_words(["a"]), {})


def bare_in_workers(backbone: Backbone, batches: Sequence[torch.Tensor], workers: int) -> None:
    """As in extraction: each worker takes the next batch."""
    waiting = iter(batches)

    def work() -> None:
        torch.set_num_threads(1)
        with torch.inference_mode():
            for batch in waiting:
                backbone(batch)

    threads = torch.get_num_threads()
    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(work) for _ in range(workers)]:
            future.result()
    torch.set_num_threads(threads)


def bare_call(backbone: Backbone, batches: Sequence[torch.Tensor]) -> None:
    with torch.inference_mode():
        for batch in batches:
            backbone(batch)
        if batches[0].is_cuda:
            torch.cuda.synchronize()


@dataclass
class Cost:
    """Wall-clock and processor seconds of each round; only the latter are comparable on a shared machine."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def measure(self, work: Callable[[], object]) -> None:
        wall, processor = time.perf_counter(), time.process_time()
        work()
        self.wall.append(time.perf_counter() - wall)
        self.processor.append(time.process_time() - processor)


def main(device: str = "cpu") -> None:
    backbone = load_backbone(BACKBONE).to(device)
    workers, batch = cores(), CPU_BATCH if device == "cpu" else ACCELERATOR_BATCH
    with tempfile.TemporaryDirectory() as temporary:
        pack = benchmark_pack(Path(temporary))
        rows = range(len(pack.images))
        squares = [read_square(pack.image_path(row), backbone.preprocessing, "squash").pixels for row in rows]
        pixels = torch.stack(squares).contiguous(memory_format=torch.channels_last).to(device)
        bare: dict[str, Callable[[], None]] = {
            f"bare, one call on all cores, batches of {size}": partial(bare_call, backbone, pixels.split(size))
            for size in ((4, 16) if device == "cpu" else (64, 256))
        }
        if device == "cpu":
            name = f"bare, {workers} workers of one core, batches of {batch}"
            bare[name] = partial(bare_in_workers, backbone, pixels.split(batch), workers)
        costs = {name: Cost() for name in (*bare, *EXTRACTION)}
        for number in range(ROUNDS):
            for name, work in bare.items():
                costs[name].measure(work)
            for name, kind in EXTRACTION.items():
                pipeline = prepared(pack, backbone, kind, batch, f"{kind}-{number}")
                costs[name].measure(partial(pipeline.run, workers))
                pipeline.targets[0].writer.finish()
    report(costs, len(pixels), workers)


def prepared(pack: Pack, backbone: Backbone, kind: str, batch: int, name: str) -> Pipeline:
    """Extraction with allocated files: the timing covers decoding, the network, pooling, writing and the journal."""
    height, width = backbone.map_size()
    counts = np.full(len(pack.images), height * width if kind == "grid" else 1)
    plan = StorePlan({"kind": kind, "width": backbone.width}, counts, batch, boxes=kind == "grid")
    return Pipeline(pack, backbone, [Target(kind, False, StoreWriter(pack.feature_folder(name), plan))], "squash")


def report(costs: dict[str, Cost], images: int, workers: int) -> None:
    """Extraction as a share of the fastest bare backbone, by wall-clock and by processor time."""
    rate = {name: images / statistics.median(cost.wall) for name, cost in costs.items()}
    effort = {name: 1000 * statistics.median(cost.processor) / images for name, cost in costs.items()}
    fastest = max((name for name in costs if name not in EXTRACTION), key=lambda name: rate[name])
    print(f"{'':48} {'images/s':>10} {'core ms each':>13}   share of the fastest bare backbone, by clock and core time")
    for name in costs:
        share = ""
        if name in EXTRACTION:
            share = f"   {rate[name] / rate[fastest]:.0%}, {effort[fastest] / effort[name]:.0%}"
        print(f"{name:48} {rate[name]:10.1f} {effort[name]:13.2f}{share}")


if __name__ == "__main__":
    main()
