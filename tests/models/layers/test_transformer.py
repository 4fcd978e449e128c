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


def test_regions_are_read_with_their_boxes_and_areas() -> None:
    """After I-CLS, a zero vector: features, box and (x2 - x1) (y2 - y1); without boxes, zeros."""
    torch.manual_seed(0)
    regions = RegionTransformer(2, 8, 1, 2, 16, dropout=0.0).eval()
    read: list[torch.Tensor] = []
    regions.project.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0]))
    features, boxes = torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[0.125, 0.25, 0.625, 1.0]]])
    for given in (boxes, None):
        regions(features, given, torch.ones(1, 1, dtype=torch.bool))
    assert read[0].tolist() == [[[0.0] * 7, [3.0, 4.0, 0.125, 0.25, 0.625, 1.0, 0.375]]]
    assert read[1].tolist() == [[[0.0] * 7, [3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0]]]
