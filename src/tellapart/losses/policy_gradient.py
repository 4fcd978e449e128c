"""Policy gradient (grounded captioning paper, section 3.3, Eq. 18): captions above their baseline become likelier."""

from __future__ import annotations

from torch import Tensor, nn


class PolicyGradient(nn.Module):
    """-sum(log-probability * advantage) / number of words, END among them.

    The advantage (reward minus baseline) carries no gradient. It is one value per caption [N], or one per word [N, T]
    with rollouts.
    """

    def forward(self, log_probability: Tensor, advantage: Tensor, mask: Tensor) -> Tensor:
        """log_probability [N, T] of the sampled words, advantage [N] or [N, T], mask [N, T] (until END) -> scalar."""
        return self.total(log_probability, advantage, mask) / mask.sum().clamp(min=1)

    def total(self, log_probability: Tensor, advantage: Tensor, mask: Tensor) -> Tensor:
        """The sum without the division, a scalar; the caller divides where the mean spans several processes."""
        advantage = advantage.detach()
        if advantage.dim() == 1:
            advantage = advantage.unsqueeze(1)  # [N, 1]
        return -(log_probability * advantage).masked_fill(~mask, 0.0).sum()


def leave_one_out(rewards: Tensor, each: int) -> Tensor:
    """The mean reward of an image's other samples [I * each], for rewards [I * each] with `each` samples per image.

    With one sample per image the baseline is 0.
    """
    grouped = rewards.view(-1, each)
    return ((grouped.sum(1, keepdim=True) - grouped) / max(each - 1, 1)).view(-1)
