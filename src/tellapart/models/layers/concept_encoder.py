"""Visual concepts as one vector: an LSTM over their word vectors, its last state of length one (R2M, section 2.1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.text.vocabulary import PAD


class ConceptEncoder(nn.Module):
    """Computes v; without concepts (all PAD) it is the zero vector.

    dropout: of the word vectors.
    vector_dropout: of the LSTM's last output, which v is made of. The released code drops the LSTM's outputs but makes
        v of its state, which is whole.
    """

    def __init__(self, width: int, dropout: float = 0.2, vector_dropout: float = 0.0) -> None:
        super().__init__()
        self.vector_dropout = nn.Dropout(vector_dropout)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, concepts: Tensor, vectors: Tensor) -> Tensor:
        """v [N, d] from concept ids [N, k] with PAD at the end, and their word vectors [N, k, d]."""
        counts = (concepts != PAD).sum(1)  # [N]
        if not concepts.shape[1]:
            return vectors.new_zeros(len(concepts), self.lstm.hidden_size)
        outputs, _ = self.lstm(self.dropout(vectors))  # [N, k, d]; PAD comes last, so no real step reads it
        last = (counts - 1).clamp(min=0)[:, None, None].expand(-1, 1, outputs.shape[2])
        final = self.vector_dropout(outputs.gather(1, last).squeeze(1))  # [N, d]
        found = (counts > 0).unsqueeze(1)
        # Replace an empty row by ones before it is normalised: the length of a zero vector has no gradient.
        unit = functional.normalize(torch.where(found, final, torch.ones_like(final)), dim=1)
        return unit * found


def shuffled(concepts: Tensor) -> Tensor:
    """Each row's concepts [N, k] in random order, PAD still at the end, so that training learns no order."""
    keys = torch.rand(concepts.shape, device=concepts.device).masked_fill(concepts == PAD, 2.0)
    return concepts.gather(1, keys.argsort(1))
