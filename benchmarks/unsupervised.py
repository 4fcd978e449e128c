"""The cost of a training step without pairs: R2M's stages against UC-GAN's, on synthetic images and sentences.

    python -m benchmarks unsupervised [--device cuda]

The recipes' own models, objectives and batches; the best of a few steps counts. The last column is the time of
a step divided by that of R2M's third stage, which learns from images as UC-GAN's rewards do.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from tellapart.core.files import save_array, write_json
from tellapart.data.batches import Batches
from tellapart.data.feature_store import FeatureStore
from tellapart.data.join import CorpusFilter, join_unpaired
from tellapart.data.pack import Pack
from tellapart.data.pack_types import NO_IMAGE, Caption, Detections, PackImage
from tellapart.data.sampling import draw_epoch
from tellapart.data.write_pack import write_pack
from tellapart.objectives.context import Context
from tellapart.papers.recipes import find_recipe
from tellapart.runs.recipe import Stage
from tellapart.runs.run import inputs_for
from tellapart.text.concepts import ConceptDictionary
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.initial_model import initial_model
from tellapart.training.optimisers import build_optimiser
from tellapart.training.prefetch import make_batch

IMAGES, SENTENCES, WORDS, WIDTH, STEPS = 600, 6000, 6000, 1280, 3
YARDSTICK = ("r2m", "pictures")


def main(device: str = "cpu") -> None:
    with tempfile.TemporaryDirectory() as folder:
        pack = _made_up_pack(Path(folder))
        seconds = {}
        for recipe in (find_recipe("r2m"), find_recipe("uc-gan")):
            models: dict[str, nn.Module] = {}
            for stage in recipe.stages:
                seconds[recipe.name, stage.name] = _step_seconds(stage, pack, torch.device(device), models)
    print(f"{'recipe, stage':28} {'ms per step':>10} {'ratio':>6}")
    for (recipe, stage), spent in seconds.items():
        print(f"{f'{recipe}, {stage}':28} {1000 * spent:10.1f} {spent / seconds[YARDSTICK]:6.2f}")


def _step_seconds(stage: Stage, pack: Pack, device: torch.device, models: dict[str, nn.Module]) -> float:
    """The best time of some steps of a stage that starts from the last of `models`; its model is appended."""
    store = FeatureStore(pack.feature_folder("vector"))
    inputs = inputs_for(pack.vocabulary, {"width": store.width, "rows": store.most_rows}, load_pretrained=True)
    batches = Batches(pack, store, stage.sampling.columns, device, stage.sampling.longest)
    context = Context(pack, inputs, batches, store, device, models=models)
    torch.manual_seed(0)
    model = initial_model(stage, context)
    learner = stage.objective.build(model, context).to(device).train()
    optimiser = build_optimiser(stage.optimiser, learner)
    best = float("inf")
    for draw in draw_epoch(pack, stage.sampling, (0, 0, 0))[: STEPS + 1]:  # the first is a warm-up
        batch = make_batch(batches, draw)
        _settle(device)
        started = time.perf_counter()
        learner(batch)["loss"].backward()
        optimiser.step()
        optimiser.zero_grad()
        _settle(device)
        best = min(best, time.perf_counter() - started)
    models[stage.name] = models["previous"] = model
    return best


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _made_up_pack(folder: Path) -> Pack:
    random = np.random.default_rng(0)
    concepts = ConceptDictionary.coco().concepts
    words = (*(f"w{index}" for index in range(WORDS)), *(concept for concept in concepts if " " not in concept))
    corpus = []
    for _ in range(SENTENCES):
        said = (*(words[i] for i in random.integers(0, len(words), 10)), "person", "dog")
        corpus.append(Caption(NO_IMAGE, " ".join(said), said, "train"))
    names = [tuple(concepts[i] for i in random.integers(0, len(concepts), 4)) for _ in range(IMAGES)]
    found = [Detections(row, ((0.0, 0.0, 1.0, 1.0),) * 4, (0.9,) * 4, seen) for row, seen in enumerate(names)]
    images = [PackImage(str(row), "", "train") for row in range(IMAGES)]
    seen_pack = write_pack(
        folder / "pictures", "made-up", "", images, [], Vocabulary.from_words(["a"]), {}, detections=found
    )
    own = seen_pack.feature_folder("vector")
    own.mkdir(parents=True)
    random.standard_normal((IMAGES, WIDTH), dtype=np.float32).astype(np.float16).tofile(own / "values.f16")
    save_array(own / "offsets.npy", np.arange(IMAGES + 1))
    write_json(own / "features.json", {"kind": "vector", "width": WIDTH})
    text = write_pack(folder / "corpus", "made-up", "", [], corpus, Vocabulary.from_words(words), {})
    return join_unpaired(seen_pack, text, folder / "joined", filters=CorpusFilter(least_count=1)).pack
