"""The second loss of LTD is felt: its gradient is of the order of the ranking loss's, whatever that one's reduction."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tellapart.models.matchers.ltd_baseline import LTDBaseline
from tellapart.objectives.extra_loss import Joining
from tellapart.objectives.latent_target import LatentTarget
from tellapart.objectives.ranking import encode, rank
from tellapart.papers.recipes import RECIPES
from tiny_world import tiny_context

PAIRS = 128


def objective_of(recipe: str) -> LatentTarget:
    """The objective of a recipe, with a narrow decoder."""
    objective: LatentTarget = RECIPES[recipe].stages[0].objective
    return replace(objective, column="targets", hidden=64)


def gradient_ratio(folder: Path, recipe: str, summed: bool) -> float:
    """|dL_con / dz| / |d beta L_rec / dz| of the caption vectors z, for untrained weights and 128 pairs."""
    torch.manual_seed(0)
    context = tiny_context(folder, images=PAIRS + 12, columns=("targets",))
    batch = context.batches.batch(np.arange(0, 2 * PAIRS, 2))  # one caption of each of 128 images
    chosen = objective_of(recipe)
    model = LTDBaseline(embedding=64, word_width=16, batch_norm="triplet" in recipe).build(context.inputs)
    objective = replace(chosen, joining=replace(chosen.joining, summed=summed)).build(model, context)
    images, texts = encode(model, batch)
    contrast = rank(model, objective.loss, images, texts, batch.owner)["loss"]
    distance = objective.reconstruct(objective.decoder(texts.vectors), batch.texts.columns["targets"])
    extra = objective.join(torch.zeros(()), distance.mean(), PAIRS)["loss"]

    def size(loss: Tensor) -> float:
        return torch.autograd.grad(loss, texts.vectors, retain_graph=True)[0].norm().item()

    return size(contrast) / size(extra)


def test_the_ratio_with_the_triplet_loss_is_of_the_order_of_info_nce(tmp_path: Path) -> None:
    info_nce = gradient_ratio(tmp_path / "1", "ltd-baseline-ltd-dual", summed=False)
    triplet = gradient_ratio(tmp_path / "2", "ltd-triplet-ltd-dual", summed=True)
    drowned = gradient_ratio(tmp_path / "3", "ltd-triplet-ltd-dual", summed=False)
    assert 1 < info_nce < 10
    assert 0.5 < triplet < 10
    assert drowned == pytest.approx(PAIRS * triplet, rel=1e-4) and drowned > 50


@pytest.mark.parametrize("recipe", ["ltd-triplet-ltd", "vsrn-ltd", "tern-ltd", "ltd-triplet-itd"])
def test_recipes_with_a_summed_triplet_loss_sum_the_second_loss(recipe: str) -> None:
    for name in (recipe, f"{recipe}-dual"):
        objective = RECIPES[name].stages[-1].objective
        assert objective.contrast.reduction == "sum" and objective.joining.summed
    info_nce = RECIPES["ltd-baseline-ltd"].stages[0].objective
    assert info_nce.contrast.reduction == "mean" and not info_nce.joining.summed


@pytest.mark.parametrize("bound", [0.0, 0.5])
def test_summed_is_the_number_of_pairs_times_the_mean(bound: float) -> None:
    loss, extra = torch.tensor(3.0), torch.tensor(0.25)
    mean = Joining(weight=2.0, bound=bound).build()(loss, extra, 7)["loss"]
    total = Joining(weight=2.0, bound=bound, summed=True).build()(loss, extra, 7)["loss"]
    assert (total - loss).item() == pytest.approx(7 * (mean - loss).item())
    # beta L_rec = 2 * 0.25; lambda (L_rec / eta - 1) = 1 * (0.5 - 1)
    assert (mean - loss).item() == pytest.approx(-0.5 if bound else 0.5)
