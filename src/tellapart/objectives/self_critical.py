"""Self-critical sequence training (Rennie et al. 2017; paper 2, Eqs. 17-19): sentences judged whole, by a reward."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.captioning.fast_path import as_captioner, predictions
from tellapart.data.sampling import LATER
from tellapart.decoding import greedy, sample, with_start
from tellapart.decoding.constraints import NEVER_SAID
from tellapart.decoding.likelihood import word_log_probabilities
from tellapart.distributed import global_mean
from tellapart.errors import InputError
from tellapart.losses.policy import PolicyGradient, leave_one_out
from tellapart.objectives.context import Context
from tellapart.objectives.recordable import Recordable
from tellapart.objectives.rewards import CaptionReward, Rewards
from tellapart.text.vocabulary import PAD
from tellapart.types import Batch

BASELINES = ("greedy", "leave-one-out")


@dataclass(frozen=True)
class SelfCritical:
    """SCST: sampled sentences that beat the baseline become likelier, others less likely."""

    rewards: Rewards = field(default_factory=Rewards)
    """What a sentence is worth."""
    baseline: str = "greedy"
    """greedy: what the model says by itself, without dropout (Eq. 18). leave-one-out: the mean of the picture's other
    samples, which needs no second decoding and is the better teacher."""
    samples: int = 5
    """Sentences drawn for each picture."""
    max_words: int = 20
    """Where a sentence is cut off."""
    reread: bool = field(default=False, metadata=LATER)
    """Sentences are drawn without dropout and without gradient, and then read for it: the model is judged by what it
    would say when asked, and steps can be replayed (`train --replay`), several times as fast on a GPU. False: the
    gradient flows through the drawing itself, dropout and all, as in the released code of the papers."""

    def build(self, model: nn.Module, context: Context) -> SelfCriticalObjective | RereadObjective:
        drawing = SelfCriticalObjective(self, model, self.rewards.build(context))
        return RereadObjective(drawing, len(context.inputs.vocabulary)) if self.reread else drawing


class SelfCriticalObjective(nn.Module):
    def __init__(self, config: SelfCritical, model: nn.Module, reward: CaptionReward) -> None:
        super().__init__()
        if config.baseline not in BASELINES:
            raise InputError(f"There is no baseline '{config.baseline}'; choose one of {', '.join(BASELINES)}.")
        if config.baseline == "leave-one-out" and config.samples < 2:
            raise InputError("The leave-one-out baseline needs at least two samples a picture.")
        self.config, self.reward = config, reward
        self.model = as_captioner(model)
        self.loss = PolicyGradient()

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        drawn = sample(self.model, batch.images, self.config.samples, max_words=self.config.max_words)
        rewards, advantage = self.judge(drawn.tokens, batch)
        assert drawn.word_log_probability is not None
        return self.figures(drawn.tokens, drawn.word_log_probability, rewards, advantage)

    def owner(self, batch: Batch) -> Tensor:
        """Whose picture each drawn sentence is about [I * samples]."""
        return torch.arange(len(batch.images), device=batch.owner.device).repeat_interleave(self.config.samples)

    def judge(self, tokens: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Rewards of drawn sentences [N, T] and how far they are above the baseline, [N] each."""
        owner = self.owner(batch)
        rewards = self.reward(tokens, batch, owner)  # [I * each]
        greedily = self.config.baseline == "greedy"
        baseline = self.greedy_rewards(batch)[owner] if greedily else leave_one_out(rewards, self.config.samples)
        return rewards, rewards - baseline

    def figures(self, tokens: Tensor, words: Tensor, rewards: Tensor, advantage: Tensor) -> dict[str, Tensor]:
        """The loss from the log-probabilities of the words drawn [N, T], and what is worth logging."""
        mask = tokens != PAD
        return {
            "loss": global_mean(self.loss.total(words, advantage, mask), mask.sum()),
            "reward": rewards.mean(),
            "advantage": advantage.mean(),
            "words": mask.sum(1).float().mean(),
        }

    @torch.no_grad()
    def greedy_rewards(self, batch: Batch) -> Tensor:
        """[I]: what the model gets for its own likeliest words, without dropout."""
        was_training = self.model.training
        self.model.eval()
        said = greedy(self.model, batch.images, self.config.max_words)
        self.model.train(was_training)
        return self.reward(said.tokens, batch, torch.arange(len(batch.images), device=batch.owner.device))


class RereadObjective(Recordable):
    """SCST in two parts: drawing and judging on the one hand, the gradient of the words' likelihood on the other."""

    never: Tensor

    def __init__(self, drawing: SelfCriticalObjective, words: int) -> None:
        super().__init__()
        self.model, self.config = drawing.model, drawing.config
        self._drawing = (drawing,)  # in a tuple, so that the model is not registered twice
        self.register_buffer("never", torch.zeros(words, dtype=torch.bool), persistent=False)
        self.never[list(NEVER_SAID)] = True

    @torch.no_grad()
    def prepare(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Sentences drawn [N, words + END], their rewards and advantages [N]."""
        (drawing,) = self._drawing
        was_training = self.model.training
        self.model.eval()
        tokens = sample(self.model, batch.images, self.config.samples, max_words=self.config.max_words).tokens
        self.model.train(was_training)
        rewards, advantage = drawing.judge(tokens, batch)
        return functional.pad(tokens, (0, self.config.max_words + 1 - tokens.shape[1])), rewards, advantage

    def forward(self, batch: Batch, prepared: tuple[Tensor, Tensor, Tensor] | None = None) -> dict[str, Tensor]:
        tokens, rewards, advantage = self.prepare(batch) if prepared is None else prepared
        (drawing,) = self._drawing
        found = predictions(self.model, batch.images, with_start(tokens), drawing.owner(batch))
        found = replace(found, logits=found.logits.masked_fill(self.never, -torch.inf))
        words = word_log_probabilities(found)  # [N, T]
        # After the most words a sentence may have, nothing but END could follow.
        words = functional.pad(words[:, : self.config.max_words], (0, 1))
        return drawing.figures(tokens, words, rewards, advantage)
