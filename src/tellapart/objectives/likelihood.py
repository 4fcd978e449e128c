"""Maximum likelihood (contrastive captioning paper, Eq. 1), with scheduled sampling as an option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tellapart.core.distributed import global_mean, group
from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Batch
from tellapart.data.sampling import split_rows
from tellapart.losses.likelihood import WordCrossEntropy
from tellapart.models.captioners.teacher_forcing import Predictions, as_captioner, at_words, predictions, select
from tellapart.objectives.context import Context
from tellapart.objectives.recordable import Recordable
from tellapart.text.vocabulary import PAD


@dataclass(frozen=True)
class Likelihood:
    """Teacher forcing: the likelihood of each true word, given the true words before it."""

    smoothing: float = 0.0
    """Label smoothing: the share of each target spread over all words."""
    sampling_most: float = 0.0
    """Scheduled sampling (Bengio et al. 2015): the largest share of input words that are the model's own; 0: off."""
    sampling_rise: float = 0.05
    """Increase of the share at each rise."""
    sampling_every: int = 5
    """Epochs between rises; the first `sampling_every` epochs read true words only."""

    def build(self, model: nn.Module, context: Context) -> LikelihoodObjective:
        """The objective that trains `model`."""
        if not 0 <= self.sampling_most <= 1 or self.sampling_every < 1:
            raise InputError(
                f"sampling_most must lie in [0, 1] and sampling_every be at least 1, not {self.sampling_most} and "
                f"{self.sampling_every}."
            )
        captions = len(split_rows(context.pack, context.train_split).captions)
        return LikelihoodObjective(self, model, captions)


class LikelihoodObjective(Recordable):
    """See `Likelihood`."""

    seen: Tensor

    def __init__(self, config: Likelihood, model: nn.Module, captions: int) -> None:
        super().__init__()
        self.config, self.captions = config, captions
        self.model = as_captioner(model)
        self.loss = WordCrossEntropy(config.smoothing)
        # Captions trained on so far. Scheduled sampling counts epochs with it, and a checkpoint stores it. To avoid
        # waiting for a GPU, the buffer is read only once, after a checkpoint was restored; then Python counts.
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))
        self.counted: int | None = None
        self.current_share = 0.0
        """The share of the current step."""

    def prepare(self, batch: Batch) -> tuple[()]:
        """Set the share of the model's own words for this step, and count its captions."""
        self.current_share = self.share() if self.training else 0.0
        if self.training and self.config.sampling_most > 0:
            self.counted = self.captions_seen() + len(batch.owner) * group().world  # other processes have about as many
            self.seen.fill_(self.counted)
        return ()

    def phase(self) -> float:
        """The share of the current step."""
        return self.current_share

    def forward(self, batch: Batch, prepared: Any = None) -> dict[str, Tensor]:
        """The loss."""
        if prepared is None:
            self.prepare(batch)
        return {"loss": self.words_loss(self.predict(batch))}

    def predict(self, batch: Batch) -> Predictions:
        """The model's predictions for the batch's captions, with its attention for objectives that supervise it."""
        if self.training and self.current_share > 0:
            return sampled_predictions(self.model, batch, self.current_share)
        return predictions(self.model, batch.images, batch.texts.tokens, batch.owner)

    def words_loss(self, found: Predictions) -> Tensor:
        """The mean cross-entropy over the words of all processes, a scalar."""
        words = self.loss.per_word(found.logits, found.targets)
        return global_mean(words.sum(), found.mask.sum())

    def _load_from_state_dict(self, *arguments: Any) -> None:
        super()._load_from_state_dict(*arguments)
        self.counted = None

    def captions_seen(self) -> int:
        """The number of captions trained on so far."""
        return int(self.seen) if self.counted is None else self.counted

    def share(self) -> float:
        """The share of input words that are now the model's own."""
        if self.config.sampling_most <= 0:
            return 0.0
        epoch = self.captions_seen() // max(self.captions, 1)
        rises = epoch // self.config.sampling_every
        return min(rises * self.config.sampling_rise, self.config.sampling_most)


def sampled_predictions(model: Captioner, batch: Batch, share: float) -> Predictions:
    """Like `predictions`, but each input word is, with probability `share`, sampled from the model's prediction."""
    tokens = batch.texts.tokens
    state = select(model.start(batch.images), batch.owner)
    word, logits, attentions = tokens[:, 0], [], []
    for time in range(tokens.shape[1] - 1):
        step = model.step(word, state)
        state = step.state
        logits.append(step.logits)
        if step.attention is not None:
            attentions.append(step.attention)
        drawn = torch.multinomial(step.logits.detach().float().softmax(-1), 1).squeeze(1)
        own = torch.rand(drawn.shape, device=drawn.device) < share
        word = torch.where(own, drawn, tokens[:, time + 1])
    targets = tokens[:, 1:]
    mask = targets != PAD
    attention = torch.stack(attentions, 1) if attentions else None
    return Predictions(at_words(torch.stack(logits, 1), mask), at_words(targets, mask), mask, attention)
