"""The ranking objective trains any matcher with any ranking loss."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.losses import RANKING_LOSSES, Contrast
from tellapart.models.matchers.vse import VSE
from tellapart.objectives.ranking import Ranking
from tiny_world import tiny_context


@pytest.mark.parametrize("loss", RANKING_LOSSES)
def test_every_loss_goes_down(tmp_path: Path, loss: str) -> None:
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    model = VSE(embedding=16, word_width=8, heads=16).build(context.inputs)
    objective = Ranking(Contrast(loss)).build(model, context)
    optimiser = torch.optim.Adam(objective.parameters(), 1e-2)
    batch = context.batches.batch(np.arange(12))
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        step = objective(batch)
        step["loss"].backward()
        optimiser.step()
        losses.append(step["loss"].item())
    assert losses[-1] < 0.7 * losses[0]
    assert {"loss", "positive", "score"} <= set(step)


def test_an_unknown_loss_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Unknown ranking loss 'best'"):
        Contrast("best").build()
    with pytest.raises(InputError, match="reduction"):
        Contrast(reduction="median").build()


def test_only_matchers_can_be_ranked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="matcher"):
        Ranking().build(torch.nn.Linear(1, 1), tiny_context(tmp_path))
