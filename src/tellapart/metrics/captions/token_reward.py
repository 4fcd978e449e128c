"""CIDEr-D and BLEU of token ids, batched on any device: rewards for self-critical training.

Values equal those of `cider_d` and `bleu` on the same captions as strings, with the end token as a word (without it,
captions learn to stop too early). N-grams are matched by comparing all positions of a sample with all positions of a
reference, for the whole batch at once.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from tellapart.metrics.captions.token_references import (
    REFERENCE_FILLER,
    SAMPLE_FILLER,
    TokenReferences,
    clean,
    occurrences,
)

SIGMA = 6.0


class TokenCider(nn.Module):
    """CIDEr-D on token ids; document frequencies and norms of the reference vectors are computed once.

    >>> references = torch.tensor([[5, 6, 2, 0], [5, 7, 2, 0], [8, 9, 4, 2]])  # words, END, padding
    >>> cider = TokenCider.from_references(references, owner=torch.tensor([0, 0, 1]))
    >>> cider.reward(torch.tensor([[5, 6, 2, 0], [9, 2, 0, 0]]), images=torch.tensor([0, 1])).round(decimals=3)
    tensor([4.3750, 1.3650], dtype=torch.float64)
    """

    references: TokenReferences
    norms: Tensor

    def __init__(self, references: TokenReferences, owner: Tensor, order: int = 4) -> None:
        super().__init__()
        self.references = references
        self.order = order
        self.words = references.words
        tokens = references.tokens
        self.documents = int((references.captions >= 0).any(1).sum())
        self.log_documents = float(torch.log(torch.tensor(float(self.documents), dtype=torch.float64)))
        prefix = torch.zeros_like(tokens, dtype=torch.long)
        for n in range(order):
            place = torch.nonzero(references.lengths[:, None] - torch.arange(tokens.shape[1], device=tokens.device) > n)
            row, column = place.unbind(1)
            code = prefix[row, column] * self.words + tokens[row, column + n]
            codes, kind = torch.unique(code, return_inverse=True)
            documents = torch.unique(kind * len(references.captions) + owner.long()[row]) // len(references.captions)
            frequency = torch.bincount(documents, minlength=len(codes)).double()
            self.register_buffer(f"codes{n}", codes, persistent=False)
            self.register_buffer(f"inverse{n}", self.log_documents - torch.log(frequency), persistent=False)
            prefix = torch.zeros_like(prefix)
            prefix[row, column] = kind
        parts = torch.split(torch.arange(len(tokens), device=tokens.device), 4096)
        norms = [[squares.sum(0).sqrt() for _, squares in self._weights(tokens[rows])] for rows in parts]
        whole = torch.cat([torch.stack(part) for part in norms], dim=1)
        self.register_buffer("norms", whole, persistent=False)  # [order, captions]

    @classmethod
    def from_references(cls, tokens: Tensor, owner: Tensor, order: int = 4) -> "TokenCider":
        """For references [C,T] (words, END, padding; no START) of the images owner [C]."""
        return cls(TokenReferences(tokens, owner), owner.to(tokens.device), order)

    def _inverse_frequencies(self, tokens: Tensor) -> Iterator[Tensor]:
        """For each n, [N,T-n+1]: log(images / images with the n-gram) at each position, 0 past the end."""
        prefix = torch.zeros_like(tokens, dtype=torch.long)
        known = torch.ones_like(tokens, dtype=torch.bool)
        for n in range(self.order):
            codes, inverse = getattr(self, f"codes{n}"), getattr(self, f"inverse{n}")
            last = tokens[:, n:]
            width = last.shape[1]
            code = prefix[:, :width] * self.words + last
            prefix = torch.searchsorted(codes, code).clamp(max=max(len(codes) - 1, 0))
            known = known[:, :width] & (last >= 0) & (last < self.words)
            if len(codes):
                known &= codes[prefix] == code
                found = torch.where(known, inverse[prefix], self.log_documents)
            else:
                known, found = torch.zeros_like(known), torch.full_like(code, self.log_documents, dtype=torch.float64)
            yield torch.where(last >= 0, found, 0)

    def _weights(self, tokens: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """For each n, [T-n+1,N]: term frequency of the n-gram at a position, and its share of the squared norm.

        An n-gram that occurs tf times has the weight tf * idf; each of its tf positions gets tf * idf^2 of the square.
        """
        columns = tokens.T.contiguous()  # [T,N]
        for inverse, count in zip(self._inverse_frequencies(tokens), occurrences(columns, columns, self.order)):
            yield count, inverse.T.square() * count

    @torch.no_grad()
    def reward(self, samples: Tensor, images: Tensor) -> Tensor:
        """[N] CIDEr-D of samples [N,T] (words, END, padding) against the references of their images [N]."""
        tokens, lengths = clean(samples, SAMPLE_FILLER)
        captions, present = self.references.of(images)  # [N,R]
        similarity = torch.zeros(captions.shape, dtype=torch.float64, device=samples.device)
        weights = list(self._weights(tokens))
        for rows in self.references.blocks(lengths, captions):
            width = max(int(lengths[rows].max()), 1)
            found = occurrences(*self.references.columns(tokens[rows, :width], captions[rows]), self.order)
            for n, ((count, squares), matched) in enumerate(zip(weights, found)):
                frequency = count[: len(matched), rows]  # [T,n]
                clipped = torch.minimum(frequency[:, :, None], matched).short() * matched  # [T,n,R]
                share = squares[: len(matched), rows] / frequency.double().square().clamp(min=1)  # idf^2 / tf
                product = (clipped * share[:, :, None]).sum(0)
                norms = squares[:, rows].sum(0).sqrt()[:, None] * self.norms[n][captions[rows]]
                similarity[rows] += product / torch.where(norms == 0, 1, norms)
        difference = (lengths - 1).clamp(min=0)[:, None] - (self.references.lengths[captions] - 1).clamp(min=0)
        penalty = torch.exp(-difference.double().square() / (2 * SIGMA**2))
        return (similarity * penalty * present).sum(1) / self.order / present.sum(1) * 10


class TokenBleu(nn.Module):
    """BLEU per caption on token ids, equal to the per-caption values of `bleu`."""

    references: TokenReferences

    def __init__(self, tokens: Tensor, owner: Tensor) -> None:
        super().__init__()
        self.references = TokenReferences(tokens, owner)

    @torch.no_grad()
    def reward(self, samples: Tensor, images: Tensor, order: int = 4) -> Tensor:
        """[N] BLEU-`order` of samples [N,T] against the references of their images [N]."""
        tokens, lengths = clean(samples, SAMPLE_FILLER)
        captions, present = self.references.of(images)
        mine, others = self.references.columns(tokens, captions)
        others = torch.where(present, others, REFERENCE_FILLER)
        precision = torch.ones(len(samples), dtype=torch.float64, device=samples.device)
        own = occurrences(mine[:, :, 0], mine[:, :, 0], order, only_before=True)
        for n, (before, matched) in enumerate(zip(own, occurrences(mine, others, order))):
            correct = (before < matched.amax(-1)).sum(0)
            guesses = (lengths - n).clamp(min=0)
            precision = precision * (correct.double() + 1e-15) / (guesses.double() + 1e-9)
        reference_lengths = self.references.lengths[captions]
        far = int(reference_lengths.max()) + int(lengths.max()) + 1
        distance = (reference_lengths - lengths[:, None]).abs() * far + reference_lengths
        closest = distance.masked_fill(~present, far * far).amin(1) % far
        ratio = (lengths.double() + 1e-15) / (closest.double() + 1e-9)
        return precision ** (1 / order) * torch.where(ratio < 1, torch.exp(1 - 1 / ratio), 1)
