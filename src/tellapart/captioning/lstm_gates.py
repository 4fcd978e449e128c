"""The pointwise half of an LSTM step, for models that compute the gates' sums themselves."""

from __future__ import annotations

import torch
from torch import Tensor


def lstm_step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Summed gates [N, 4H] in torch's order (input, forget, new, output) and memory [N, H] to output and memory."""
    enter, keep, new, leave = gates.chunk(4, -1)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(leave) * torch.tanh(cell), cell
