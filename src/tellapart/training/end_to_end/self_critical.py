"""Self-critical training of the captioner on frozen features (Rennie et al. 2017; leave-one-out baseline, Luo 2020)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from tellapart.models.captioners.transformer import TransformerCaptioner
from tellapart.text.vocabulary import PAD
from tellapart.training.end_to_end.average import Average
from tellapart.training.end_to_end.drawing import Rows
from tellapart.training.end_to_end.joint import all_real, likelihood_loss
from tellapart.training.end_to_end.loop import Log, mixed_precision
from tellapart.training.end_to_end.optimiser import learning_rate_factor
from tellapart.training.end_to_end.rewards import Rewards, RewardWeights, leave_one_out
from tellapart.training.end_to_end.sampling import draw_captions, drawn_log_probability


@dataclass(frozen=True)
class SelfCritical:
    """How the captioner is trained on rewards."""

    batch: int = 512
    each: int = 5
    seconds: float = 120.0
    most_steps: int = 1_000_000
    warm_up: int = 50
    lr: float = 3e-5
    likelihood: float = 0.1
    """Weight of the likelihood of the references, which keeps language and vocabulary alive."""
    smoothing: float = 0.1
    average: float = 0.99
    clip: float = 1.0
    most_words: int = 20
    log_every: int = 20
    reward: RewardWeights = field(default_factory=RewardWeights)


def train_self_critical(
    captioner: TransformerCaptioner,
    features: Tensor,
    words: Tensor,
    rewards: Rewards,
    available: Callable[[], np.ndarray],
    settings: SelfCritical,
    log: Log,
) -> TransformerCaptioner:
    """The average of the captioner after training on features [I, R, D] and references [I, k, T]; trains in place."""
    device = features.device
    fused = device.type == "cuda"
    optimiser = torch.optim.AdamW(captioner.parameters(), settings.lr, betas=(0.9, 0.98), weight_decay=0.0, fused=fused)
    average, drawing = Average(captioner, settings.average), Rows(available, device)
    captioner.eval()  # no dropout: the policy that draws is the one whose gradient is taken
    begin, step, batch = time.monotonic(), 0, settings.batch
    while True:
        progress = max(step / settings.most_steps, (time.monotonic() - begin) / settings.seconds)
        if progress >= 1:
            return average.model  # type: ignore[return-value]
        for group in optimiser.param_groups:
            group["lr"] = settings.lr * learning_rate_factor(step, progress, settings.warm_up)
        rows = drawing.draw(batch, ask=False)
        try:
            losses = _losses(captioner, features[rows], words[rows].long(), rows, rewards, settings, device)
            losses["loss"].backward()
        except torch.OutOfMemoryError as error:
            if batch <= 8:
                raise
            batch //= 2
            log(f"out of memory: the batch is now {batch} ({str(error)[:120]})")
            optimiser.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            continue
        norm = torch.nn.utils.clip_grad_norm_(captioner.parameters(), settings.clip)
        if fused:
            optimiser.found_inf = (~torch.isfinite(norm)).float().reshape(())  # type: ignore[attr-defined]
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        average.update(captioner)
        step += 1
        if step % settings.log_every == 0 or step <= 2:
            shown = {name: round(float(value.detach()), 4) for name, value in losses.items()}
            log(f"step {step} progress {progress:.3f} seconds {time.monotonic() - begin:.1f} batch {batch} {shown}")


def _losses(
    captioner: TransformerCaptioner,
    features: Tensor,
    words: Tensor,
    rows: Tensor,
    rewards: Rewards,
    settings: SelfCritical,
    device: torch.device,
) -> dict[str, Tensor]:
    images = all_real(features)
    with mixed_precision(device):
        drawn = draw_captions(captioner, images, settings.each, settings.most_words)
        found = rewards(drawn, rows, settings.reward)
    # A new context: autocast would otherwise reuse weights that were cast without gradients above.
    with mixed_precision(device):
        advantage = leave_one_out(found["reward"], settings.each)  # [C]
        log_probability = drawn_log_probability(captioner, images, drawn)  # [C, T]
        kept = (drawn != PAD).float()
        policy = -(advantage.unsqueeze(1) * log_probability * kept).sum() / kept.sum()
        loss = policy
        likelihood = policy.new_zeros(())
        if settings.likelihood:
            likelihood = likelihood_loss(captioner, features, words, settings.smoothing)
            loss = loss + settings.likelihood * likelihood
    shown = {name: value.mean() for name, value in found.items()}
    length = kept.sum(1).mean()
    return {"loss": loss, "likelihood": likelihood.detach(), "length": length, **shown}
