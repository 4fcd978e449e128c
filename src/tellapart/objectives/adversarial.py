"""The conditional GAN captioner (Dai et al. 2017), a baseline of the contrastive captioning paper, Table 4.

An evaluator learns to distinguish human captions from generated and from mismatched ones. Its output is the reward of
the captioner, which learns by policy gradient. Words are sampled, so no gradient passes between the two: one loss is
the sum of both parts, and each part changes its own parameters alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.distributed import global_mean
from tellapart.core.types import Batch, Images
from tellapart.losses.policy_gradient import PolicyGradient, leave_one_out
from tellapart.models.captioners.teacher_forcing import as_captioner
from tellapart.models.decoding import Decoded, sample, with_start
from tellapart.models.decoding.rollouts import rollout_rewards
from tellapart.objectives.context import Context
from tellapart.text.vocabulary import PAD


@dataclass(frozen=True)
class Adversarial:
    """A captioner and an evaluator that learn from each other."""

    width: int = 512
    """Width of the evaluator's LSTM and of the space in which it compares images and captions."""
    samples: int = 5
    """Captions sampled per image."""
    rollouts: int = 0
    """0: one reward per caption. n: the reward of a word is the mean over n captions completed from it."""
    evaluator_first: int = 500
    """Steps at the start in which only the evaluator learns."""
    evaluator_weight: float = 1.0
    """Weight of the evaluator's part of the loss. A stage can also scale the learning rate of `evaluator`."""
    max_words: int = 20
    """Most words of a sampled caption."""

    def build(self, model: nn.Module, context: Context) -> AdversarialObjective:
        """The objective that trains `model`."""
        inputs = context.inputs
        return AdversarialObjective(self, model, Evaluator(len(inputs.vocabulary), inputs.feature_width, self.width))


class Evaluator(nn.Module):
    """r(I, c) = sigmoid(f(I) . g(c)): the probability that a caption is a human description of the image."""

    def __init__(self, words: int, feature_width: int, width: int) -> None:
        super().__init__()
        self.image = nn.Linear(feature_width, width)
        self.words = nn.Embedding(words, width, padding_idx=PAD)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.scale = nn.Parameter(torch.tensor(width**-0.5))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, images: Images, tokens: Tensor, owner: Tensor) -> Tensor:
        """Logits [N] of captions [N, T] (START … END PAD) for their images owner [N]."""
        last = (tokens != PAD).sum(1).clamp(min=1) - 1
        read, _ = self.lstm(self.words(tokens))  # [N, T, W]
        caption = read[torch.arange(len(tokens), device=tokens.device), last]
        image = self.image(functional.normalize(images.pooled(), dim=-1) * images.features.shape[-1] ** 0.5)
        result: Tensor = (image[owner] * caption).sum(1) * self.scale + self.bias
        return result


class AdversarialObjective(nn.Module):
    """See `Adversarial`."""

    steps: Tensor

    def __init__(self, config: Adversarial, model: nn.Module, evaluator: Evaluator) -> None:
        super().__init__()
        self.config, self.evaluator = config, evaluator
        self.model = as_captioner(model)
        self.policy = PolicyGradient()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The loss and values to log."""
        each, device = self.config.samples, batch.owner.device
        drawn = sample(self.model, batch.images, each, max_words=self.config.max_words)
        owner = torch.arange(len(batch.images), device=device).repeat_interleave(each)
        evaluator = self.evaluator_loss(batch, with_start(drawn.tokens), owner)
        if self.training:
            self.steps += 1
        policy, reward = self.policy_loss(batch, drawn, owner)
        # Multiplied by zero, not skipped: with several processes every parameter needs a gradient.
        active = 1.0 if int(self.steps) > self.config.evaluator_first else 0.0
        return {
            "loss": active * policy + self.config.evaluator_weight * evaluator,
            "evaluator": evaluator.detach(),
            "reward": reward,
        }

    def evaluator_loss(self, batch: Batch, generated: Tensor, owner: Tensor) -> Tensor:
        """Cross-entropy, a scalar: human captions are real; generated ones and those of another image are not."""
        tokens = batch.texts.tokens
        real = self.evaluator(batch.images, tokens, batch.owner)
        fake = self.evaluator(batch.images, generated, owner)
        wrong = self.evaluator(batch.images, tokens, (batch.owner + 1) % len(batch.images))
        parts = [functional.softplus(-real), functional.softplus(fake)]
        if len(batch.images) > 1:
            parts.append(functional.softplus(wrong))
        return sum((global_mean(part.sum(), part.numel()) for part in parts), torch.zeros((), device=owner.device))

    def policy_loss(self, batch: Batch, drawn: Decoded, owner: Tensor) -> tuple[Tensor, Tensor]:
        """The policy gradient loss and the mean reward."""
        mask = drawn.tokens != PAD
        rewards = self.rewards(batch.images, drawn.tokens, owner)  # [N]
        advantage = rewards - leave_one_out(rewards, self.config.samples)
        if self.config.rollouts:
            expected = rollout_rewards(
                self.model,
                batch.images.select(owner),
                drawn.tokens,
                lambda tokens: self.rewards(batch.images, tokens, owner),
                self.config.rollouts,
                self.config.max_words,
            )  # [N, T]
            advantage = expected - leave_one_out(rewards, self.config.samples).unsqueeze(1)
        assert drawn.word_log_probability is not None
        total = self.policy.total(drawn.word_log_probability, advantage, mask)
        return global_mean(total, mask.sum()), rewards.mean()

    @torch.no_grad()
    def rewards(self, images: Images, tokens: Tensor, owner: Tensor) -> Tensor:
        """The evaluator's probability [N] that captions [N, T] (words, END, PAD) are human."""
        return torch.sigmoid(self.evaluator(images, with_start(tokens), owner))
