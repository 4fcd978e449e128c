"""How long a training step waits for its data: VSE++ on vectors, Up-Down on a grid, both read from disk."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from tellapart.core.files import save_array, write_json
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.pack import Pack
from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.sampling import Sampling, draw_epoch
from tellapart.data.write_pack import write_pack
from tellapart.losses import Contrast
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.matchers.vse import VSE
from tellapart.objectives.context import Context
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking
from tellapart.runs.recipe import Optimiser
from tellapart.runs.run import inputs_for
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.optimisers import build_optimiser
from tellapart.training.prefetch import prefetch, timed

IMAGES, WORDS, WIDTH, STEPS = 6000, 2500, 1280, 30


def main(device: str = "cpu") -> None:
    with tempfile.TemporaryDirectory() as folder:
        pack = made_up_pack(Path(folder) / "pack")
        print(f"{'recipe':32} {'steps/s':>8} {'waiting for data':>17}")
        cases = (
            ("VSE++, batch 128, vectors", "vector", VSE(), Ranking(Contrast("hardest-negative-hinge")), Sampling(128)),
            ("Up-Down, 20 x 5, 7x7 grid", "grid", UpDown(), Likelihood(), Sampling(20, captions_each=5)),
        )
        for title, features, model, objective, sampling in cases:
            rate, share = _measure(pack, features, model, objective, sampling, torch.device(device))
            print(f"{title:32} {rate:8.2f} {share:16.2%}")


def _measure(
    pack: Pack,
    features: str,
    model: VSE | UpDown,
    objective: Ranking | Likelihood,
    sampling: Sampling,
    device: torch.device,
) -> tuple[float, float]:
    store = FeatureStore(pack.feature_folder(features))
    inputs = inputs_for(pack.vocabulary, {"width": store.width, "rows": store.most_rows}, load_pretrained=True)
    batches = Batches(pack, store, device=device)
    context = Context(pack, inputs, batches, store, device)
    learner = objective.build(model.build(inputs).to(device), context).to(device)
    optimiser = build_optimiser(Optimiser(), learner)
    draws = draw_epoch(pack, sampling, (0, 0, 0))[: STEPS + 3]
    waited = started = 0.0
    for count, (batch, wait) in enumerate(timed(prefetch(batches, draws))):
        if count == 3:  # the first steps warm caches up
            _settle(device)
            waited, started = 0.0, time.perf_counter()
        waited += wait
        learner(batch)["loss"].backward()
        optimiser.step()
        optimiser.zero_grad()
    _settle(device)
    spent = time.perf_counter() - started
    return STEPS / spent, waited / spent


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def made_up_pack(folder: Path, images: int = IMAGES, validated: int = 0) -> Pack:
    """A pack of random features and captions, five per image; some images, besides, to validate on."""
    random = np.random.default_rng(0)
    words = [f"w{index}" for index in range(WORDS)]
    splits = ["train"] * images + ["val"] * validated
    rows_of = [PackImage(str(index), "", split) for index, split in enumerate(splits)]
    captions = []
    for index, split in enumerate(split for split in splits for _ in range(5)):
        chosen = tuple(words[i] for i in random.integers(0, WORDS, random.integers(8, 16)))
        captions.append(Caption(index // 5, " ".join(chosen), chosen, split))
    pack = write_pack(folder, "made-up", "", rows_of, captions, Vocabulary.from_words(words), {})
    for kind, rows in (("vector", 1), ("grid", 49)):
        own = pack.feature_folder(kind)
        own.mkdir(parents=True)
        with (own / "values.f16").open("wb") as file:
            for first in range(0, len(splits), 500):
                count = min(500, len(splits) - first) * rows
                random.standard_normal((count, WIDTH), dtype=np.float32).astype(np.float16).tofile(file)
        save_array(own / "offsets.npy", np.arange(len(splits) + 1) * rows)
        write_json(own / "features.json", {"kind": kind, "width": WIDTH})
    return pack
