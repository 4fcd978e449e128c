"""Ensembles: joined vectors score the weighted mean of cosines; score matrices are averaged on one scale."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.models.matchers.ensemble import EnsembleModel, average_scores
from tellapart.models.matchers.scan import SCAN
from tellapart.models.matchers.vse import VSE
from tiny_world import tiny_context


def test_joined_vectors_score_the_weighted_mean(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    members = [VSE(embedding=width, word_width=6).build(context.inputs).eval() for width in (8, 12)]
    ensemble = EnsembleModel(members, (1.0, 3.0)).eval()
    images, texts = context.batches.images(np.arange(4)), context.batches.texts(np.arange(5))
    expected = sum(
        share * member.score(member.encode_image(images), member.encode_text(texts))
        for share, member in zip((0.25, 0.75), members)
    )
    found = ensemble.score(ensemble.encode_image(images), ensemble.encode_text(texts))
    assert torch.allclose(found, expected, atol=1e-6)  # type: ignore[arg-type]
    assert torch.allclose(ensemble.encode_text(texts).vectors.norm(dim=1), torch.ones(5), atol=1e-5)


def test_matrices_are_put_on_one_scale() -> None:
    """A matrix ten times as wide decides no more than the other, unless it is asked to."""
    small = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    large = 10 * small.flip(0)
    assert average_scores([small, large]).abs().max() < 1e-6
    plain = average_scores([small, large], (3, 1), standardise=False)
    assert torch.allclose(plain, 0.75 * small + 0.25 * large)


def test_what_cannot_be_joined_is_rejected(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    scan = SCAN(embedding=8, word_width=6).build(context.inputs)
    with pytest.raises(InputError, match="average the scores"):
        EnsembleModel([scan]).encode_image(context.batches.images(np.arange(2)))
    with pytest.raises(InputError, match="at least one"):
        EnsembleModel([])
    with pytest.raises(InputError, match="same images"):
        average_scores([torch.zeros(2, 2), torch.zeros(2, 3)])
    with pytest.raises(InputError, match="weights"):
        average_scores([torch.zeros(2, 2)], (1.0, 2.0))
