"""Small feed-forward parts: Xavier-initialised layers, projection heads, latent target decoders."""

from __future__ import annotations

from itertools import pairwise

from torch import nn


def linear(inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
    """A linear layer with Xavier-uniform weights and zero bias, as in VSE++ and ConVSE."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def convse_head(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """g_I or g_C of ConVSE (ConVSE paper, section IV-A2 and Algorithm 1): two layers, no bias in the first."""
    return nn.Sequential(linear(inputs, hidden, bias=False), nn.ReLU(), linear(hidden, outputs))


def ltd_head(inputs: int, outputs: int) -> nn.Sequential:
    """The projection head of the LTD baseline (LTD paper, section 4.2): two layers of its input's width, no bias."""
    return nn.Sequential(linear(inputs, inputs, bias=False), nn.ReLU(), linear(inputs, outputs, bias=False))


def feed_forward(widths: tuple[int, ...]) -> nn.Sequential:
    """Linear layers of these widths with ReLU between them; h_omega of LTD (Eq. 5) has four widths."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
