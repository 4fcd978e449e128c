"""Self-critical sequence training (Rennie et al. 2017; paper 2, Eqs. 17-19): sentences judged whole, by a reward."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from tellapart.captioning.fast_path import as_captioner
from tellapart.decoding import greedy, sample
from tellapart.distributed import global_mean
from tellapart.errors import InputError
from tellapart.losses.policy import PolicyGradient, leave_one_out
from tellapart.objectives.context import Context
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

    def build(self, model: nn.Module, context: Context) -> SelfCriticalObjective:
        return SelfCriticalObjective(self, model, self.rewards.build(context))


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
        each, device = self.config.samples, batch.owner.device
        drawn = sample(self.model, batch.images, each, max_words=self.config.max_words)
        owner = torch.arange(len(batch.images), device=device).repeat_interleave(each)
        rewards = self.reward(drawn.tokens, batch, owner)  # [I * each]
        if self.config.baseline == "greedy":
            baseline = self.greedy_rewards(batch)[owner]
        else:
            baseline = leave_one_out(rewards, each)
        mask = drawn.tokens != PAD
        assert drawn.word_log_probability is not None
        total = self.loss.total(drawn.word_log_probability, rewards - baseline, mask)
        return {
            "loss": global_mean(total, mask.sum()),
            "reward": rewards.mean(),
            "advantage": (rewards - baseline).mean(),
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
