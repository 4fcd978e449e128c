"""What a sampled sentence is worth: a weighted sum of CIDEr-D, BLEU-4 and a matcher's score (paper 2, Eq. 19).

Words are compared as ids, and END is a word: without it about a third of the captions learn to end in "with a".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.data.sampling import split_rows
from tellapart.data.usual_nouns import usual_nouns
from tellapart.decoding import with_start
from tellapart.errors import InputError
from tellapart.metrics.bleu import bleu_of
from tellapart.metrics.encoded import Encoded as Captions
from tellapart.metrics.encoded import WordIds
from tellapart.objectives.context import Context
from tellapart.protocols import Matcher
from tellapart.text.vocabulary import PAD
from tellapart.types import Batch, Texts


@dataclass(frozen=True)
class Rewards:
    """Weights of the parts of a reward; a part with weight 0 is not computed."""

    cider: float = 1.0
    """CIDEr-D on word ids, document frequencies from the training captions."""
    bleu: float = 0.0
    """BLEU-4 of the sentence alone, on word ids."""
    matcher: str = ""
    """An earlier stage's name or a run folder of a matcher with the same vocabulary and features; empty: none."""
    matching: float = 1.0
    """Weight of the matcher's score of sentence and picture; the paper's lambda_2."""

    def build(self, context: Context) -> CaptionReward:
        return CaptionReward(self, context)


class CaptionReward:
    """Scores sampled sentences. Not an nn.Module: it learns nothing and has nothing to save."""

    def __init__(self, config: Rewards, context: Context) -> None:
        from tellapart.metrics.token_reward import TokenCider

        self.config, self.device = config, context.device
        rows = split_rows(context.pack, context.train_split)
        captions = rows.captions[context.pack.owner[rows.captions] >= 0]
        owners = context.pack.owner[captions]
        self.place = np.full(len(context.pack.pictures), -1, dtype=np.int64)  # pack row -> row among references
        self.place[rows.pictures] = np.arange(len(rows.pictures))
        references = context.batches.texts(captions).tokens[:, 1:].cpu()
        owner = torch.from_numpy(self.place[owners])
        self.cider = TokenCider.from_references(references, owner) if config.cider else None
        self.bleu = TokenBleu(references.numpy(), owner.numpy()) if config.bleu else None
        self.matcher: nn.Module | None = None
        self.nouns: Tensor | None = None  # [V]: POS-SCAN asks which words of a sentence are nouns
        if config.matcher:
            if context.pack.has_column("nouns"):
                self.nouns = torch.from_numpy(usual_nouns(context.pack)).to(context.device)
            self.matcher = context.model(config.matcher)
            if not isinstance(self.matcher, Matcher):
                raise InputError(f"'{config.matcher}' is no matcher, so its score cannot be a reward.")

    @torch.no_grad()
    def __call__(self, tokens: Tensor, batch: Batch, owner: Tensor) -> Tensor:
        """Rewards [N] of sentences `tokens` [N, T] (words, END, PAD), sentence n about batch.images[owner[n]]."""
        rows = batch.pictures[owner].cpu()
        pictures = torch.from_numpy(self.place[rows.numpy()])
        if bool((pictures < 0).any()):
            raise InputError("Rewards are known for pictures of the training split only; validate with captions.")
        total = torch.zeros(len(tokens), device=tokens.device)
        if self.cider is not None:
            total += self.config.cider * self.cider.reward(tokens.cpu(), pictures).to(total)
        if self.bleu is not None:
            score = self.bleu.reward(tokens.cpu().numpy(), pictures.numpy())
            total += self.config.bleu * torch.from_numpy(score).to(total)
        if self.matcher is not None:
            total += self.config.matching * match(self.matcher, tokens, batch, owner, self.nouns).to(total)
        return total


def match(matcher: nn.Module, tokens: Tensor, batch: Batch, owner: Tensor, nouns: Tensor | None = None) -> Tensor:
    """A matcher's score [N] of each sentence with its own picture; `nouns` [V] marks words that are usually nouns."""
    whole = with_start(tokens)
    texts = Texts(whole, (whole != PAD).sum(1), {} if nouns is None else {"nouns": nouns[whole]})
    scores = matcher.score(matcher.encode_image(batch.images), matcher.encode_text(texts))  # [I, N]
    return scores[owner, torch.arange(len(owner), device=owner.device)]


class TokenBleu:
    """BLEU-4 of single sentences on word ids against the references of their pictures."""

    def __init__(self, references: np.ndarray, owner: np.ndarray) -> None:
        order = np.argsort(owner, kind="stable")
        self.references = references[order]
        self.first = np.searchsorted(owner[order], np.arange(owner.max(initial=-1) + 2))
        self.words = WordIds({str(number): number for number in range(int(references.max(initial=0)) + 1)})

    def reward(self, samples: np.ndarray, pictures: np.ndarray) -> np.ndarray:
        """[N] for samples [N, T] about reference groups `pictures` [N]."""
        first, last = self.first[pictures], self.first[pictures + 1]
        sizes = last - first + 1
        starts = np.cumsum(sizes) - sizes  # where each candidate stands; its references follow
        group = np.repeat(np.arange(len(samples)), sizes)
        inside = np.arange(sizes.sum()) - starts[group]  # 0 for the candidate
        width = max(samples.shape[1], self.references.shape[1])
        rows = np.full((len(group), width), PAD, dtype=np.int64)
        rows[starts, : samples.shape[1]] = samples
        is_reference = inside > 0
        chosen = self.references[first[group[is_reference]] + inside[is_reference] - 1]
        rows[is_reference, : chosen.shape[1]] = chosen
        kept = rows != PAD
        captions = Captions(rows[kept], kept.sum(1), group, is_reference, self.words)
        return bleu_of(captions)[3].each.astype(np.float32)
