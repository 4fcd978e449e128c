"""A captioner with distilled attention is as fast as one without: inference does not use the teacher.

    python -m benchmarks grounding [--device cuda]

Both Up-Downs take a few steps of training on the same synthetic images, one by likelihood, one with POS-SCAN's
attention distilled into it. Then both caption the same images in turns; the fastest of many turns counts, and the
ratio is the median of the turns'. The scoring of their attention is timed, too.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from tellapart.core.files import save_array, write_json
from tellapart.core.types import Images
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.metrics.grounding.attention import GeneratedWords, References, compare_captions
from tellapart.metrics.grounding.boxes import pixel_size
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.decoding import greedy
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.scan import SCAN
from tellapart.objectives.context import Context
from tellapart.objectives.distillation import Distillation
from tellapart.objectives.likelihood import Likelihood
from tellapart.text.vocabulary import Vocabulary

IMAGES, REGIONS, WIDTH, WORDS, STEPS, TURNS = 160, 36, 1280, 2500, 5, 15


def main(device: str = "cpu") -> None:
    with tempfile.TemporaryDirectory() as folder:
        context = _made_up_context(Path(folder) / "pack", torch.device(device))
        models = {
            "Up-Down": _trained(context, Likelihood()),
            "Up-Down + KL(POS-SCAN)": _trained(context, Distillation("pos-scan")),
        }
        images = context.batches.images(np.arange(32))
        turns = np.asarray([[_captions_a_second(model, images) for model in models.values()] for _ in range(TURNS)])
    ratios = np.median(turns / turns[:, :1], axis=0)
    print(f"{'model':26} {'parameters':>11} {'captions/s':>11} {'ratio':>6}")
    for (name, model), rate, ratio in zip(models.items(), turns.max(0), ratios):
        count = sum(parameter.numel() for parameter in model.parameters())
        print(f"{name:26} {count:11,} {rate:11.1f} {ratio:6.2f}")
    print(f"scoring 1,000 captions against 5,000 references: {_judging_seconds():.3f} s")


def _trained(context: Context, objective: Likelihood | Distillation) -> nn.Module:
    torch.manual_seed(0)
    learner = objective.build(UpDown().build(context.inputs).to(context.device), context).to(context.device)
    optimiser = torch.optim.Adam([p for p in learner.parameters() if p.requires_grad], 5e-4)
    for step in range(STEPS):
        loss = learner(context.batches.batch(np.arange(step * 32, step * 32 + 32)))["loss"]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return learner.model.eval()


@torch.no_grad()
def _captions_a_second(model: nn.Module, images: Images) -> float:
    _settle(images.features.device)
    started = time.perf_counter()
    said = greedy(model, images)
    _settle(images.features.device)
    # A longer caption takes longer, so compare the time per step of decoding.
    return len(images) * said.tokens.shape[1] / 21 / (time.perf_counter() - started)


def _judging_seconds() -> float:
    random = np.random.default_rng(0)
    boxes = np.sort(random.uniform(0, 1, (20_000, 2, 2)), axis=1).reshape(-1, 4)
    said = GeneratedWords(np.sort(random.integers(0, 1000, 3000)), random.integers(0, 480, 3000), boxes[:3000])
    truth = References(
        np.repeat(np.arange(1000), 5),
        np.sort(random.integers(0, 5000, 15_000)),
        random.integers(0, 480, 15_000),
        boxes[:15_000, None],
        np.ones((15_000, 1), dtype=np.bool_),
        random.integers(0, 5000, 5000),
        random.integers(0, 480, 5000),
    )
    size = pixel_size(np.full(1000, 500), np.full(1000, 375))
    started = time.perf_counter()
    compare_captions(said, truth, size)
    return time.perf_counter() - started


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _made_up_context(folder: Path, device: torch.device) -> Context:
    random = np.random.default_rng(0)
    words = [f"w{index}" for index in range(WORDS)]
    images = [PackImage(str(index), "", "train") for index in range(IMAGES)]
    captions = []
    for index in range(IMAGES):
        chosen = tuple(words[i] for i in random.integers(0, WORDS, random.integers(8, 16)))
        captions.append(Caption(index, " ".join(chosen), chosen, "train"))
    pack = write_pack(folder, "made-up", "", images, captions, Vocabulary.from_words(words), {})
    pack.save_column("nouns", np.asarray(pack.tokens) % 3 == 0, "token")
    own = pack.feature_folder("regions")
    own.mkdir(parents=True)
    random.standard_normal((IMAGES * REGIONS, WIDTH), dtype=np.float32).astype(np.float16).tofile(own / "values.f16")
    save_array(own / "offsets.npy", np.arange(IMAGES + 1) * REGIONS)
    write_json(own / "features.json", {"kind": "regions", "width": WIDTH})
    store = FeatureStore(own)
    inputs = ModelInputs(pack.vocabulary, WIDTH, REGIONS)
    context = Context(pack, inputs, Batches(pack, store, ("nouns",), device), store, device)
    return replace(context, models={"pos-scan": SCAN(nouns=True).build(inputs).to(device)})


if __name__ == "__main__":
    main()
