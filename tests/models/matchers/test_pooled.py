"""Row dropout, and rejections of the pooled matcher."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.models.layers.transformer import positions
from tellapart.models.matchers.pooled import Pooled, RowDropout
from tiny_world import tiny_context


def test_rows_drop_in_training_only_and_never_all() -> None:
    torch.manual_seed(0)
    mask = torch.tensor([[True] * 50, [True] + [False] * 49])
    drop = RowDropout(0.5)
    shares = torch.stack([drop(mask).float().mean(1) for _ in range(100)]).mean(0)
    assert 0.4 < shares[0] < 0.6 and shares[1] * 50 == pytest.approx(1)
    hard = RowDropout(1.0)
    kept = hard(mask)
    assert kept.sum(1).tolist() == [1, 1] and not (kept & ~mask).any()
    assert torch.equal(drop.eval()(mask), mask)


def test_a_missing_sentence_column_and_a_wrong_pooling_are_rejected(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    model = Pooled(embedding=16, word_width=8, sentence_column="targets").build(context.inputs)
    with pytest.raises(InputError, match="column 'targets'"):
        model.encode_text(context.batches.texts(np.arange(2)))
    with pytest.raises(InputError, match="pooling must be one of"):
        Pooled(pooling="median").build(context.inputs)


def test_rows_know_their_places(tmp_path: Path) -> None:
    """With layers over the rows, each row is its two projections plus its position vector."""
    torch.manual_seed(0)
    context = tiny_context(tmp_path)
    image = Pooled(embedding=16, word_width=8, row_layers=1, pooling="mean").build(context.inputs).eval().image
    images = context.batches.images(np.arange(3))
    rows = image.norm(images.features)
    rows = image.straight(rows) + image.bent(rows)
    assert image.stack is not None
    for row in range(3):
        real = rows[row : row + 1, images.mask[row]]
        real = real + positions(real.shape[1], 16, torch.device("cpu"))
        expected = image.stack(real, torch.ones(1, real.shape[1], dtype=torch.bool)).mean(1)
        torch.testing.assert_close(image(images)[row : row + 1], expected, atol=1e-5, rtol=1e-4)
