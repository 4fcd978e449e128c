"""Rewards of sampled captions: a weighted sum of CIDEr-D, BLEU-4, a matcher's score and self-retrieval.

Eq. 19 of the grounded captioning paper. Words are compared as ids, and END is a word: without it about a third of the
captions learn to end in "with a".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from tellapart.core.distributed import gather_rows, rows_before
from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.core.types import Batch, Texts
from tellapart.data.sampling import LATER, split_rows
from tellapart.data.usual_nouns import usual_nouns
from tellapart.metrics.captions.token_reward import TokenBleu, TokenCider
from tellapart.models.decoding import with_start
from tellapart.objectives.caption_judge import CaptionJudge
from tellapart.objectives.context import Context
from tellapart.text.vocabulary import PAD


@dataclass(frozen=True)
class Rewards:
    """Weights of the parts of a reward. A part with weight 0 is not computed."""

    cider: float = 1.0
    """Weight of CIDEr-D on word ids, with document frequencies of the training captions."""
    bleu: float = 0.0
    """Weight of each caption's BLEU-4 on word ids."""
    matcher: str = ""
    """An earlier stage's name or a run folder of a matcher with the same vocabulary and features; empty: none."""
    matching: float = 1.0
    """Weight of the matcher's score of caption and image; lambda_2 of the paper."""
    judge: str = field(default="", metadata=LATER)
    """A matcher that reads captions as text, with its own words and features: bundled:matcher, a run folder, or
    hf:FOLDER; empty: none."""
    retrieval: float = field(default=1.0, metadata=LATER)
    """Weight of self-retrieval: p(image | caption) by the judge among the images of the batch."""

    def build(self, context: Context) -> CaptionReward:
        """The function that computes the rewards."""
        return CaptionReward(self, context)


class CaptionReward:
    """Computes rewards of sampled captions. Not an nn.Module: it has no parameters."""

    def __init__(self, config: Rewards, context: Context) -> None:
        self.config = config
        rows = split_rows(context.pack, context.train_split)
        captions = rows.captions[context.pack.owner[rows.captions] >= 0]
        owners = context.pack.owner[captions]
        place = torch.full((len(context.pack.images),), -1)
        place[torch.from_numpy(rows.images)] = torch.arange(len(rows.images))
        self.place = place.to(context.device)  # pack row -> row among the references' images
        references = context.batches.texts(captions).tokens[:, 1:]
        owner = self.place[torch.from_numpy(owners).to(context.device)]
        self.cider = TokenCider.from_references(references, owner) if config.cider else None
        self.bleu = TokenBleu(references, owner) if config.bleu else None
        self.matcher: Matcher | None = None
        self.nouns: Tensor | None = None  # [V] bool: POS-SCAN needs to know which words are nouns
        if config.matcher:
            if context.pack.has_column("nouns"):
                self.nouns = torch.from_numpy(usual_nouns(context.pack)).to(context.device)
            matcher = context.model(config.matcher)
            if not isinstance(matcher, Matcher):
                raise InputError(f"'{config.matcher}' is not a matcher, so its score cannot be a reward.")
            self.matcher = matcher
        self.vocabulary = context.inputs.vocabulary
        self.judge: CaptionJudge | None = None
        if config.judge:
            if context.load_judge is None:
                raise InputError(f"The judge '{config.judge}' can only be opened in training.")
            self.judge = context.load_judge(config.judge)

    @torch.no_grad()
    def __call__(self, tokens: Tensor, batch: Batch, owner: Tensor) -> Tensor:
        """Rewards [N] of captions `tokens` [N, T] (words, END, PAD) of the images owner [N] of the batch."""
        images = self.place[batch.image_rows[owner]]
        if bool((images < 0).any()):
            raise InputError("Rewards need an image of the training split; validate with captions.")
        total = torch.zeros(len(tokens), device=tokens.device)
        if self.cider is not None:
            total += self.config.cider * self.cider.reward(tokens, images).to(total)
        if self.bleu is not None:
            total += self.config.bleu * self.bleu.reward(tokens, images).to(total)
        if self.matcher is not None:
            total += self.config.matching * match(self.matcher, tokens, batch, owner, self.nouns).to(total)
        if self.judge is not None:
            captions = [self.vocabulary.decode(row) for row in tokens.tolist()]
            rows = gather_rows(batch.image_rows)  # the images of all processes are those of one batch
            own = owner + rows_before(len(batch.image_rows), owner.device)
            total += self.config.retrieval * self.judge.posterior(rows, captions, own).to(total)
        return total


def match(matcher: Matcher, tokens: Tensor, batch: Batch, owner: Tensor, nouns: Tensor | None = None) -> Tensor:
    """A matcher's score [N] of each caption with its own image; `nouns` [V] marks words that are usually nouns."""
    whole = with_start(tokens)
    texts = Texts(whole, (whole != PAD).sum(1), {} if nouns is None else {"nouns": nouns[whole]})
    scores = matcher.score(matcher.encode_image(batch.images), matcher.encode_text(texts))  # [I, N]
    return scores[owner, torch.arange(len(owner), device=owner.device)]
