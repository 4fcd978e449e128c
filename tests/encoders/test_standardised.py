"""Means and spreads counted batch by batch, padding left out."""

from __future__ import annotations

import torch

from tellapart.encoders.standardised import Standardised


def test_by_hand() -> None:
    """Rows 1 and 3 of the first number: mean 2, spread 1; the second number is always 5. Padding does not count."""
    module = Standardised(2, eps=0.0)
    rows = torch.tensor([[[1.0, 5.0], [3.0, 5.0], [100.0, 100.0]]])
    module(rows, torch.tensor([[True, True, False]]))
    assert module.mean.tolist() == [2.0, 5.0] and module.square.tolist() == [5.0, 25.0]
    module.eval()
    assert module(rows[:, :1], torch.ones(1, 1, dtype=torch.bool))[0, 0, 0] == -1.0


def test_batches_count_alike_and_nothing_changes_after_training() -> None:
    module = Standardised(3)
    batches = [torch.randn(4, 5, 3) * scale for scale in (1.0, 2.0, 3.0)]
    mask = torch.ones(4, 5, dtype=torch.bool)
    for batch in batches:
        module(batch, mask)
    everything = torch.cat(batches)
    torch.testing.assert_close(module.mean, everything.mean((0, 1)))
    torch.testing.assert_close(module.square, everything.pow(2).mean((0, 1)))
    before = module.mean.clone()
    module.eval()(batches[0] + 7, mask)
    assert torch.equal(module.mean, before)


def test_a_number_that_never_changes_is_no_trouble() -> None:
    module = Standardised(1)
    found = module(torch.full((2, 2, 1), 4.0), torch.ones(2, 2, dtype=torch.bool))
    assert torch.isfinite(found).all() and not found.any()
