"""Self-critical training of the captioner on frozen features (Rennie et al. 2017; leave-one-out baseline, Luo 2020)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from tellapart.models.captioners.transformer import TransformerCaptioner
from tellapart.models.layers.eval_with_gradients import eval_with_gradients
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
    """Settings of self-critical training."""

    batch: int = 512
    """Images per step."""
    each: int = 5
    """Captions sampled per image."""
    seconds: float = 330.0
    """Training ends after this time or `most_steps`, whichever comes first."""
    most_steps: int = 1_000_000
    """Most steps."""
    warm_up: int = 50
    """Steps in which the learning rate rises."""
    lr: float = 5e-5
    """Highest learning rate."""
    likelihood: float = 0.2
    """Weight of the likelihood of the references: without it the captions lose rare words."""
    smoothing: float = 0.1
    """Label smoothing of the likelihood."""
    average: float = 0.99
    """Decay of the running average of the weights."""
    clip: float = 1.0
    """Longest gradient."""
    most_words: int = 20
    """Most words of a sampled caption."""
    log_every: int = 20
    """Steps between log lines."""
    keep_every: float = 150.0
    """Seconds between calls of `keep`."""
    reward: RewardWeights = field(default_factory=RewardWeights)
    """The reward."""


def train_self_critical(
    captioner: TransformerCaptioner,
    features: Tensor,
    words: Tensor,
    rewards: Rewards,
    available: Callable[[], np.ndarray],
    settings: SelfCritical,
    log: Log,
    keep: Callable[[TransformerCaptioner], None] | None = None,
) -> TransformerCaptioner:
    """The average of the captioner after training on features [I, R, D] and references [I, k, T]; trains in place.

    keep: gets the average every `settings.keep_every` seconds, to store it.
    """
    device = features.device
    fused = device.type == "cuda"
    optimiser = torch.optim.AdamW(captioner.parameters(), settings.lr, betas=(0.9, 0.98), weight_decay=0.0, fused=fused)
    average, drawing = Average(captioner, settings.average), Rows(available, device)
    eval_with_gradients(captioner)  # no dropout: samples and gradients come from the same model
    begin, step, batch = time.monotonic(), 0, settings.batch
    kept = begin
    while True:
        progress = max(step / settings.most_steps, (time.monotonic() - begin) / settings.seconds)
        if progress >= 1:
            return average.model  # type: ignore[return-value]
        for group in optimiser.param_groups:
            group["lr"] = settings.lr * learning_rate_factor(step, progress, settings.warm_up)
        rows = drawing.draw(batch, ask=False)
        try:
            losses = _losses(
                captioner,
                features[rows],
                words=words[rows].long(),
                rows=rows,
                rewards=rewards,
                settings=settings,
                device=device,
            )
            torch.autograd.backward(losses["loss"])
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
        if keep is not None and time.monotonic() - kept >= settings.keep_every:
            keep(average.model)  # type: ignore[arg-type]
            kept = time.monotonic()
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
