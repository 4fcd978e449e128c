"""Row dropout, and rejections of the pooled matcher."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
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
