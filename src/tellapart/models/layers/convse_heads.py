"""ConVSE's projection heads, and where they start."""

from __future__ import annotations

import torch
from torch import nn

from tellapart.models.layers.projection import convse_head

HEAD_STARTS = ("independent", "shared", "identity")


def convse_heads(inputs: int, hidden: int, outputs: int, start: str = "independent") -> tuple[nn.Module, nn.Module]:
    """g_I and g_C (ConVSE paper, Algorithm 1) with their first weights.

    independent: each side is another random map, as published. A pair that the encoders had aligned is then no
    longer aligned, and recall starts at chance. shared: both sides start as the same random map. identity: both sides
    start as the identity, relu(x) - relu(-x) = x, so the scores are those of the encoders alone.
    """
    if start not in HEAD_STARTS:
        raise ValueError(f"heads_start must be one of {', '.join(HEAD_STARTS)}, not '{start}'")
    image, text = (convse_head(inputs, hidden, outputs) for _ in range(2))
    if start == "shared":
        text.load_state_dict(image.state_dict())
    elif start == "identity":
        for head in (image, text):
            _make_identity(head, inputs, hidden, outputs)
    return image, text


@torch.no_grad()
def _make_identity(head: nn.Sequential, inputs: int, hidden: int, outputs: int) -> None:
    """First layer [I; -I; random], second layer [I, -I, 0]."""
    if outputs != inputs or hidden < 2 * inputs:
        raise ValueError(
            f"heads_start=identity needs heads of at least {2 * inputs}, twice the embedding, and an output of the "
            f"embedding's width, not {hidden} and {outputs}"
        )
    first, last = head[0], head[2]
    assert isinstance(first, nn.Linear) and isinstance(last, nn.Linear)
    same = torch.eye(inputs)
    first.weight[:inputs], first.weight[inputs : 2 * inputs] = same, -same
    last.weight.zero_()
    last.weight[:, :inputs], last.weight[:, inputs : 2 * inputs] = same, -same
