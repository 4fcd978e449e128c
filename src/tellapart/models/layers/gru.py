"""GRU encoders, one-way or bidirectional: one vector per caption, or one per word."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tellapart.core.recording import recording

READOUTS = ("ends", "last", "mean")


class LastStateGRU(nn.Module):
    """A one-way GRU; a caption's vector is the state after its last token (VSE++; ConVSE paper, section IV-A2)."""

    def __init__(self, inputs: int, hidden: int, layers: int = 1) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, layers, batch_first=True)
        self.width = hidden

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """words [C, T, W], lengths [C] -> [C, H]. States after the end are computed and ignored."""
        states, _ = self.gru(words)  # [C, T, H]
        return at(states, lengths - 1)


class BiGRU(nn.Module):
    """A bidirectional GRU."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.forwards = nn.GRU(inputs, hidden, batch_first=True)
        self.backwards = nn.GRU(inputs, hidden, batch_first=True)
        self.hidden = hidden

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """words [C, T, W], lengths [C] -> states of both directions [C, T, 2, H], zero after the end of a caption."""
        steps = torch.arange(words.shape[1], device=words.device)
        inside = steps < lengths.unsqueeze(1)  # [C, T]
        mirrored = torch.where(inside, lengths.unsqueeze(1) - 1 - steps, steps)
        ahead = _states(self.forwards, words, lengths)
        back = _reordered(_states(self.backwards, _reordered(words, mirrored), lengths), mirrored)
        return torch.stack([ahead, back], 2) * inside[:, :, None, None]


def _reordered(rows: Tensor, order: Tensor) -> Tensor:
    return rows.gather(1, order.unsqueeze(2).expand_as(rows))


def _states(gru: nn.GRU, words: Tensor, lengths: Tensor) -> Tensor:
    """[C, T, W] -> [C, T, H]. A CPU skips the padding; on a GPU reading the lengths would cost more."""
    if words.is_cuda or recording():
        result: Tensor = gru(words)[0]
        return result
    packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(gru(packed)[0], batch_first=True, total_length=words.shape[1])[0]


class WordStatesGRU(nn.Module):
    """SCAN's word vectors: the mean of a word's two states (grounded captioning paper, Eqs. 2 and 3)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.states = BiGRU(inputs, hidden)
        self.width = hidden

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """words [C, T, W], lengths [C] -> [C, T, H]."""
        result: Tensor = self.states(words, lengths).mean(2)
        return result


class SentenceBiGRU(nn.Module):
    """A bidirectional GRU with one vector per caption.

    Args:
        readout: `ends` joins the forward state at the last token and the backward state at the first: each has read
            the whole caption. `last` takes both at the last token, where the backward one has read a single token, as
            in LTD's released code. `mean` averages over tokens.
    """

    def __init__(self, inputs: int, hidden: int, readout: str = "ends") -> None:
        super().__init__()
        if readout not in READOUTS:
            raise ValueError(f"readout must be one of {', '.join(READOUTS)}, not '{readout}'")
        self.states = BiGRU(inputs, hidden)
        self.readout = readout
        self.width = 2 * hidden

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """words [C, T, W], lengths [C] -> [C, 2 H]."""
        states = self.states(words, lengths)  # [C, T, 2, H]
        if self.readout == "mean":
            result: Tensor = (states.sum(1) / lengths.view(-1, 1, 1)).flatten(1)
            return result
        last = at(states, lengths - 1)  # [C, 2, H]
        if self.readout == "last":
            return last.flatten(1)
        ends = last.clone()
        ends[:, 1] = states[:, 0, 1]
        return ends.flatten(1)


def at(states: Tensor, steps: Tensor) -> Tensor:
    """Each row's state at its step: [C, T, …], [C] -> [C, …]."""
    index = steps.view(-1, *[1] * (states.dim() - 1)).expand(-1, 1, *states.shape[2:])
    return states.gather(1, index).squeeze(1)
