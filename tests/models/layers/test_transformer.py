"""Transformers over words and over regions: what they read, and what they must not."""

from __future__ import annotations

import torch

from tellapart.models.layers.transformer import RegionTransformer, WordTransformer


def test_places_do_not_drown_words() -> None:
    """Before the first layer, rows of one place and different words differ no less than rows of one word at different
    places."""
    torch.manual_seed(0)
    encoder = WordTransformer(200, 64, 1, 2, 64, dropout=0.0).eval()
    read: list[torch.Tensor] = []
    encoder.stack.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0]))
    with torch.no_grad():
        encoder(torch.arange(4, 104).view(10, 10), torch.ones(10, 10, dtype=torch.bool))  # ten sentences, all different
        encoder(torch.full((1, 10), 5), torch.ones(1, 10, dtype=torch.bool))  # one word over and over
    by_word, by_place = read[0].var(0).mean(), read[1].var(1).mean()
    assert by_word > by_place


def test_padding_is_not_read() -> None:
    torch.manual_seed(0)
    words = WordTransformer(20, 8, 2, 2, 16, dropout=0.0).eval()
    regions = RegionTransformer(6, 8, 2, 2, 16, dropout=0.0).eval()
    mask = torch.tensor([[True, True, True, False]])
    with torch.no_grad():
        one, other = (words(torch.tensor([[1, 7, 2, last]]), mask)[:, :3] for last in (0, 9))
        torch.testing.assert_close(one, other)
        features, boxes = torch.randn(1, 4, 6), torch.rand(1, 4, 4)
        changed = features.clone()
        changed[:, 3] = 100.0
        rows, read = regions(features, boxes, mask)
        torch.testing.assert_close(rows[read], regions(changed, boxes, mask)[0][read])
        assert read.tolist() == [[True, True, True, True, False]]
