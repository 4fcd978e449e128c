"""The words of a transformer: vector plus position, normalised, before any layer."""

import torch
from torch import nn

from tellapart.models.layers.transformer import SMALL, WordTransformer, positions


class Unchanged(nn.Module):
    """A stack without layers."""

    def forward(self, rows: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return rows


def test_words_and_positions_are_added() -> None:
    torch.manual_seed(0)
    encoder = WordTransformer(9, 8, 1, 2, 16, 0.0).eval()
    encoder.stack = Unchanged()  # type: ignore[assignment]
    tokens = torch.tensor([[3, 4, 3]])
    found = encoder(tokens, tokens != 0)[0]
    places = positions(3, 8, tokens.device)
    for place, word in enumerate([3, 4, 3]):
        row = encoder.words.weight[word] + SMALL * places[place]
        wanted = (row - row.mean()) / (row.var(unbiased=False) + 1e-5).sqrt()
        torch.testing.assert_close(found[place], wanted, atol=1e-5, rtol=1e-5)
