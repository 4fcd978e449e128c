"""Self-critical sequence training (SCST, Rennie et al. 2017; grounded captioning paper, Eqs. 17-19)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.distributed import global_mean
from tellapart.core.errors import InputError
from tellapart.core.types import Batch
from tellapart.data.sampling import LATER
from tellapart.losses.policy_gradient import PolicyGradient, leave_one_out
from tellapart.models.captioners.teacher_forcing import as_captioner, predictions
from tellapart.models.decoding import greedy, sample, with_start
from tellapart.models.decoding.constraints import NEVER_GENERATED
from tellapart.models.decoding.likelihood import word_log_probabilities
from tellapart.objectives.context import Context
from tellapart.objectives.recordable import Recordable
from tellapart.objectives.rewards import CaptionReward, Rewards
from tellapart.text.vocabulary import PAD

BASELINES = ("greedy", "leave-one-out")


@dataclass(frozen=True)
class SelfCritical:
    """SCST: sampled captions above the baseline become likelier, others less likely."""

    rewards: Rewards = field(default_factory=Rewards)
    """The reward of a caption."""
    baseline: str = "greedy"
    """greedy: the reward of the model's greedy caption, without dropout (Eq. 18). leave-one-out: the mean reward of the
    image's other samples, which needs no second decoding and trains better."""
    samples: int = 5
    """Captions sampled per image."""
    max_words: int = 20
    """Most words of a sampled caption."""
    reread: bool = field(default=False, metadata=LATER)
    """Sample captions without dropout and without gradient, then read them again for the gradient. The samples are then
    what the model would generate in use, and steps can be replayed (`replay`). Needs the leave-one-out baseline: the
    model that reads (with dropout) is not the model that sampled, so advantages with a mean other than zero, as against
    the greedy caption, would make all samples less likely. False: the gradient flows through the sampling itself, with
    dropout, as in the released code of the papers."""

    def build(self, model: nn.Module, context: Context) -> SelfCriticalObjective | RereadObjective:
        """The objective that trains `model`."""
        if self.baseline not in BASELINES:
            raise InputError(f"Unknown baseline '{self.baseline}'; choose one of {', '.join(BASELINES)}.")
        if self.baseline == "leave-one-out" and self.samples < 2:
            raise InputError("The leave-one-out baseline needs at least two samples per image.")
        if self.reread and self.baseline != "leave-one-out":
            raise InputError("reread needs baseline=leave-one-out.")
        objective = RereadObjective if self.reread else SelfCriticalObjective
        return objective(self, model, self.rewards.build(context))


class SelfCriticalObjective(nn.Module):
    """The gradient flows through the sampling itself."""

    def __init__(self, config: SelfCritical, model: nn.Module, reward: CaptionReward) -> None:
        super().__init__()
        self.config, self.reward = config, reward
        self.model = as_captioner(model)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The loss and values to log."""
        drawn = sample(self.model, batch.images, self.config.samples, max_words=self.config.max_words)
        assert drawn.word_log_probability is not None
        rewards, advantage = rewards_and_advantages(self.config, self.model, self.reward, drawn.tokens, batch)
        return loss_and_values(drawn.tokens, drawn.word_log_probability, rewards, advantage)


class RereadObjective(Recordable):
    """`prepare` samples and rewards captions; `forward` computes the gradient of their likelihood."""

    def __init__(self, config: SelfCritical, model: nn.Module, reward: CaptionReward) -> None:
        super().__init__()
        self.config, self.reward = config, reward
        self.model = as_captioner(model)

    @torch.no_grad()
    def prepare(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Sampled captions [N, words + END], their rewards [N] and advantages [N]."""
        with eval_mode(self.model):
            tokens = sample(self.model, batch.images, self.config.samples, max_words=self.config.max_words).tokens
        rewards, advantage = rewards_and_advantages(self.config, self.model, self.reward, tokens, batch)
        return functional.pad(tokens, (0, self.config.max_words + 1 - tokens.shape[1])), rewards, advantage

    def forward(self, batch: Batch, prepared: tuple[Tensor, Tensor, Tensor] | None = None) -> dict[str, Tensor]:
        """The loss and values to log."""
        tokens, rewards, advantage = self.prepare(batch) if prepared is None else prepared
        found = predictions(self.model, batch.images, with_start(tokens), sample_owner(batch, self.config.samples))
        ids = torch.arange(found.logits.shape[1], device=tokens.device)
        allowed = torch.stack([ids != word for word in NEVER_GENERATED]).all(0)  # [V]
        words = word_log_probabilities(replace(found, logits=found.logits.masked_fill(~allowed, -torch.inf)))  # [N, T]
        # After the most words only END could follow.
        words = functional.pad(words[:, : self.config.max_words], (0, 1))
        return loss_and_values(tokens, words, rewards, advantage)


def sample_owner(batch: Batch, each: int) -> Tensor:
    """The image of each sampled caption [I * each]."""
    return torch.arange(len(batch.images), device=batch.owner.device).repeat_interleave(each)


def rewards_and_advantages(
    config: SelfCritical, model: nn.Module, reward: CaptionReward, tokens: Tensor, batch: Batch
) -> tuple[Tensor, Tensor]:
    """Rewards [N] of sampled captions [N, T], and their differences [N] from the baseline."""
    owner = sample_owner(batch, config.samples)
    rewards = reward(tokens, batch, owner)
    if config.baseline == "greedy":
        return rewards, rewards - greedy_rewards(config, model, reward, batch)[owner]
    return rewards, rewards - leave_one_out(rewards, config.samples)


@torch.no_grad()
def greedy_rewards(config: SelfCritical, model: nn.Module, reward: CaptionReward, batch: Batch) -> Tensor:
    """Rewards [I] of the model's greedy captions, without dropout."""
    with eval_mode(model):
        decoded = greedy(as_captioner(model), batch.images, config.max_words)
    return reward(decoded.tokens, batch, sample_owner(batch, 1))


def loss_and_values(tokens: Tensor, words: Tensor, rewards: Tensor, advantage: Tensor) -> dict[str, Tensor]:
    """The loss from the log-probabilities of the sampled words [N, T], and values to log."""
    mask = tokens != PAD
    return {
        "loss": global_mean(PolicyGradient().total(words, advantage, mask), mask.sum()),
        "reward": rewards.mean(),
        "advantage": advantage.mean(),
        "words": mask.sum(1).float().mean(),
    }


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """The model in eval mode, and in its old mode afterwards."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
