"""Images per second of `train` on pixels against the bare step: same network, same batch, synthetic resident pixels.

The bare step is a plain loop over one batch that is on the device already: forward, backward, update. `train` draws
rows, crops and mirrors images on the device, gathers captions, logs, and follows its schedule. It should reach 90% with
images kept on the device; where worker processes decode them for every batch, they may be slower than the GPU.
On a CPU a tiny network of the same kind shows that everything runs.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tellapart.core.files import save_array
from tellapart.core.progress import Progress
from tellapart.data.add_pixels import add_pixels
from tellapart.data.device_pixels import PLACES
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.sampling import Sampling, draw_epoch
from tellapart.data.write_pack import write_pack
from tellapart.losses import Contrast
from tellapart.models.captioners.transformer import Transformer
from tellapart.models.layers.pixel_backbone import seen_once
from tellapart.models.matchers.vse import VSE
from tellapart.models.vision import Vision, vision_of
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking
from tellapart.runs.context import ContextBuilder, PixelSettings
from tellapart.runs.on_pixels import resolved
from tellapart.runs.recipe import Optimiser, Recipe, Stage
from tellapart.runs.run import seen_facts
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.initial_model import initial_model
from tellapart.training.optimisers import build_optimiser
from tellapart.training.prefetch import make_batch
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe

TARGET = 0.9
BACKBONE = "efficientnet-lite2-coco"
"""Its weights are in the package."""
WORDS = 8000


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    images: int
    stored: int
    pixels: int
    batch: int
    steps: int
    warm: int
    width: int


LARGE = Size(images=14336, stored=224, pixels=224, batch=512, steps=20, warm=10, width=512)
SMALL = Size(images=64, stored=32, pixels=32, batch=8, steps=6, warm=3, width=16)


class Stopwatch(Progress):
    """Measures the steps of the last epoch after the first `warm` ones."""

    def __init__(self, warm: int, device: torch.device) -> None:
        super().__init__(enabled=False)
        self.warm, self.device = warm, device
        self.seconds_per_step = 0.0

    def track(self, items: Iterable[Any], total: int | None, label: str, done: int = 0) -> Iterator[Any]:
        started, count = 0.0, 0
        for count, item in enumerate(items, 1):
            yield item
            if count == self.warm:
                _settle(self.device)
                started = time.perf_counter()
        _settle(self.device)
        self.seconds_per_step = (time.perf_counter() - started) / max(count - self.warm, 1)


def main(device: str = "cpu") -> None:
    on, size = torch.device(device), SMALL if device == "cpu" else LARGE
    with tempfile.TemporaryDirectory() as folder:
        pack = _made_up_pack(Path(folder), size)
        print(f"images/s of {BACKBONE}, {size.pixels} pixels, batch {size.batch}; target {TARGET:.0%}")
        print(f"{'recipe':12} {'images':8} {'compiled':>8} {'bare':>8} {'train':>8} {'share':>7}")
        for title, recipe in _recipes(size):
            for compiled in (False,) if device == "cpu" else (False, True):
                bare = _bare(pack, recipe, size, on, compiled)
                for place in PLACES[1:]:
                    settings = TrainSettings(
                        pack.folder,
                        Path(folder) / f"{title}-{compiled}-{place}",
                        device=device,
                        compile=compiled,
                        pixels=place,
                    )
                    rate = _trained(recipe, settings, size, on)
                    print(
                        f"{title:12} {place:8} {compiled!s:>8} {bare:8.0f} {rate:8.0f} {rate / bare:7.1%}", flush=True
                    )


def _recipes(size: Size) -> tuple[tuple[str, Recipe], ...]:
    vision = Vision(BACKBONE, pixels=size.pixels, features="vector")
    common = {"optimiser": Optimiser("adamw", lr=1e-4), "epochs": 2, "validation_split": "val", "clip_norm": 1.0}
    matcher = Stage(
        name="train",
        objective=Ranking(Contrast("info-nce", temperature=0.05)),
        model=VSE(embedding=size.width, word_width=min(300, size.width)),
        sampling=Sampling(batch=size.batch, captions_each=1, steps=size.steps + size.warm),
        vision=vision,
        **common,  # type: ignore[arg-type]
    )
    captioner = replace(
        matcher,
        objective=Likelihood(smoothing=0.1),
        model=Transformer(width=size.width, heads=8, feed_forward=4 * size.width),
        sampling=Sampling(batch=size.batch, captions_each=2, steps=size.steps + size.warm, longest=20),
        vision=replace(vision, features="grid"),
        precision="bfloat16",
    )
    return tuple(
        (title, resolved(Recipe(title, "", "", (stage,), features="none")))
        for title, stage in (("matcher", matcher), ("captioner", captioner))
    )


def _bare(pack: Pack, recipe: Recipe, size: Size, device: torch.device, compiled: bool) -> float:
    """Images per second of a plain loop over one batch."""
    torch.compiler.reset()
    stage = recipe.stages[0]
    builder = ContextBuilder(pack, None, device, seen=seen_facts(stage), pixels=PixelSettings("stream"))
    context = builder.context(stage.sampling)
    model = initial_model(stage, context)
    vision = vision_of(model)
    if compiled and vision is not None:
        vision.compile_network()
    objective = stage.objective.build(model, context).to(device).train()
    optimiser = build_optimiser(stage.optimiser, objective)
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    batch = make_batch(context.batches, draw_epoch(pack, stage.sampling, (0, 0, 0))[0])
    half = stage.precision != "float32"
    started = 0.0
    for step in range(size.warm + size.steps):
        if step == size.warm:
            _settle(device)
            started = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=half), seen_once():
            loss = objective(batch)["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, stage.clip_norm)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    _settle(device)
    return size.steps * size.batch / (time.perf_counter() - started)


def _trained(recipe: Recipe, settings: TrainSettings, size: Size, device: torch.device) -> float:
    """Images per second of the second epoch of `train`: images are decoded in the first."""
    torch.compiler.reset()
    watch = Stopwatch(size.warm, device)
    train_recipe(recipe, settings, watch)
    return size.batch / watch.seconds_per_step


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _made_up_pack(folder: Path, size: Size) -> Pack:
    """A pack of blurred noise without image files; sixty-four images repeat."""
    random = np.random.default_rng(0)
    words = [f"w{index}" for index in range(WORDS)]
    splits = ["val" if index < size.batch else "train" for index in range(size.images)]
    images = [PackImage(str(index), "", split) for index, split in enumerate(splits)]
    captions = []
    for index in range(size.images * 2):
        chosen = tuple(words[i] for i in random.integers(0, WORDS, random.integers(8, 14)))
        captions.append(Caption(index // 2, " ".join(chosen), chosen, splits[index // 2]))
    pack = write_pack(folder / "pack", "made-up", "", images, captions, Vocabulary.from_words(words), {})
    encoded = [_encoded(random, size.stored) for _ in range(min(64, size.images))]
    part = folder / "part"
    part.mkdir()
    chosen_images = [encoded[index % len(encoded)] for index in range(size.images)]
    (part / "images.bin").write_bytes(b"".join(chosen_images))
    save_array(part / "offsets.npy", np.cumsum([0, *map(len, chosen_images)]))
    save_array(part / "ids.npy", np.arange(size.images))
    add_pixels(pack, part)
    return pack


def _encoded(random: np.random.Generator, side: int) -> bytes:
    from PIL import Image

    coarse = Image.fromarray(random.integers(0, 256, (8, 8, 3), dtype=np.uint8))
    buffer = io.BytesIO()
    coarse.resize((side, side), Image.Resampling.BICUBIC).save(buffer, "WEBP", quality=55)
    return buffer.getvalue()
