"""Policy gradient (paper 2, section 3.3, Eq. 18): words of sentences better than their baseline become likelier."""

from __future__ import annotations

from torch import Tensor, nn


class PolicyGradient(nn.Module):
    """-sum(log-probability * advantage) / number of words, END among them.

    The advantage (reward minus baseline) carries no gradient. It is one number a sentence [N], or one a word [N, T]
    where rollouts tell the words apart.
    """

    def forward(self, log_probability: Tensor, advantage: Tensor, mask: Tensor) -> Tensor:
        """log_probability [N, T] of each word drawn; mask [N, T], True up to and with END."""
        return self.total(log_probability, advantage, mask) / mask.sum().clamp(min=1)

    def total(self, log_probability: Tensor, advantage: Tensor, mask: Tensor) -> Tensor:
        """The sum without the division; the caller divides when the mean spans several processes."""
        advantage = advantage.detach()
        if advantage.dim() == 1:
            advantage = advantage.unsqueeze(1)  # [N, 1]
        return -(log_probability * advantage).masked_fill(~mask, 0.0).sum()


def leave_one_out(rewards: Tensor, each: int) -> Tensor:
    """For each of `each` samples of an image, the mean reward of the image's other samples; rewards [I * each].

    With one sample an image there are no others, and the baseline is 0.
    """
    grouped = rewards.view(-1, each)
    return ((grouped.sum(1, keepdim=True) - grouped) / max(each - 1, 1)).view(-1)
