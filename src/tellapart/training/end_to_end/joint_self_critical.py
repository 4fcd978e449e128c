"""Self-critical training of captioner, matcher and backbone together.

The policy gradient of the captions reaches the backbone, and InfoNCE keeps the matcher in step with it. Mirrored images
are captioned as they are seen; "left" and "right" are exchanged before their captions are rewarded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from tellapart.images.crops import Crops
from tellapart.models.layers.eval_with_gradients import eval_with_gradients
from tellapart.text.vocabulary import PAD
from tellapart.training.end_to_end.drawing import CaptionTable, Rows, with_look_alikes
from tellapart.training.end_to_end.joint import JointModel, all_real, contrastive_loss, likelihood_loss
from tellapart.training.end_to_end.learner import Learner
from tellapart.training.end_to_end.loop import Log, mixed_precision
from tellapart.training.end_to_end.optimiser import Rates, learning_rate_factor
from tellapart.training.end_to_end.pixels import PixelStore
from tellapart.training.end_to_end.rewards import Rewards, RewardWeights, leave_one_out
from tellapart.training.end_to_end.sampling import draw_captions, drawn_log_probability
from tellapart.training.end_to_end.words import swapped


@dataclass(frozen=True)
class JointSelfCritical:
    """Settings of self-critical training with the backbone."""

    size: int = 260
    """Side in pixels of the backbone's input."""
    batch: int = 512
    """Images per step."""
    each: int = 5
    """Captions sampled per image."""
    seconds: float = 1300.0
    """Training ends after this time or `most_steps`, whichever comes first."""
    most_steps: int = 1_000_000
    """Most steps."""
    warm_up: int = 100
    """Steps in which the learning rate rises."""
    matched: int = 2
    """Captions per image in the contrastive loss."""
    least_area: float = 0.7
    """Smallest share of an image's area in a random crop."""
    look_alikes: float = 0.25
    """Share of a batch that is look-alikes of its other images: hard negatives."""
    contrastive: float = 1.0
    """Weight of InfoNCE."""
    likelihood: float = 0.2
    """Weight of the likelihood of the references."""
    smoothing: float = 0.1
    """Label smoothing of the likelihood."""
    average: float = 0.998
    """Decay of the running average of the weights."""
    clip: float = 1.0
    """Longest gradient, of the captioner and of the rest apart."""
    most_words: int = 20
    """Most words of a sampled caption."""
    log_every: int = 20
    """Steps between log lines."""
    keep_every: float = 300.0
    """Seconds between calls of `keep`."""
    rates: Rates = field(default_factory=lambda: Rates(backbone=2e-4, text=5e-5, rest=1e-4))
    """Learning rates."""
    reward: RewardWeights = field(default_factory=RewardWeights)
    """The reward."""


class JointSelfCriticalTraining(Learner):
    """A joint model in self-critical training, with its images, captions and rewards."""

    def __init__(
        self,
        model: JointModel,
        store: PixelStore,
        texts: CaptionTable,
        words: CaptionTable,
        rewards: Rewards,
        settings: JointSelfCritical,
    ) -> None:
        super().__init__(model, store, texts, words, settings)
        self.rewards, self.settings = rewards, settings

    def run(
        self, available: Callable[[], np.ndarray], log: Log, keep: Callable[[JointModel], None] | None = None
    ) -> JointModel:
        """The average of the model after the settings' time or steps; trains in place.

        keep: gets the average every `settings.keep_every` seconds, to store it.
        """
        settings, drawing = self.settings, Rows(available, self.device)
        begin = kept = time.monotonic()
        step = 0
        while True:
            progress = max(step / settings.most_steps, (time.monotonic() - begin) / settings.seconds)
            if progress >= 1:
                return self.average.model  # type: ignore[return-value]
            self.set_rates(learning_rate_factor(step, progress, settings.warm_up))
            rows = drawing.draw(self.batch, ask=False)
            rows = with_look_alikes(rows, self.rewards.neighbours, settings.look_alikes)
            losses = self._step(rows, log)
            step += 1
            if keep is not None and time.monotonic() - kept >= settings.keep_every:
                keep(self.average.model)  # type: ignore[arg-type]
                kept = time.monotonic()
            if losses is not None and (step % settings.log_every == 0 or step <= 2):
                shown = {name: round(float(value), 4) for name, value in losses.items()}
                seconds = time.monotonic() - begin
                log(f"step {step} progress {progress:.3f} seconds {seconds:.1f} batch {self.batch} {shown}")

    def _step(self, rows: Tensor, log: Log) -> dict[str, Tensor] | None:
        """One step; None where it ran out of memory and the batch was halved."""
        try:
            losses = self.losses(rows)
            torch.autograd.backward(losses["loss"])
        except torch.OutOfMemoryError as error:
            log(self.halve_batch(error))
            self.forget_gradient()
            return None
        norm = self._clip()
        self.apply_gradient(norm)
        return {name: value.detach() for name, value in losses.items()} | {"norm": norm}

    def _clip(self) -> Tensor:
        """Clips the captioner's gradient and that of the rest, which have other scales; the sum of both norms."""
        assert self.model.captioner is not None
        own = list(self.model.captioner.parameters())
        rest = [*self.model.backbone.parameters(), *self.model.matcher.parameters()]
        clip = torch.nn.utils.clip_grad_norm_
        return clip(own, self.settings.clip) + clip(rest, self.settings.clip)

    def losses(self, rows: Tensor) -> dict[str, Tensor]:
        """The loss of images at rows [I] and its parts."""
        settings, captioner = self.settings, self.model.captioner
        assert captioner is not None
        self.model.train()
        eval_with_gradients(captioner)  # no dropout: samples and gradients come from the same model
        crops = Crops.random(len(rows), self.device, settings.least_area)
        pixels = self.store.cropped(rows, crops, settings.size)
        texts = self.texts.draw(rows, crops.flipped, settings.matched)
        words = swapped(self.words.tokens[rows].long(), crops.flipped, self.words.swap)
        with mixed_precision(self.device):
            cells = self.model.cells(pixels)
            contrastive = contrastive_loss(self.model.matcher, cells, texts, self.model.matcher.text_vectors)
        with torch.no_grad(), mixed_precision(self.device):
            drawn = draw_captions(captioner, all_real(cells.detach()), settings.each, settings.most_words)
            found = self.rewards(self._unmirrored(drawn, crops.flipped), rows, settings.reward)
        # A new context: autocast would otherwise reuse weights that were cast without gradients above.
        with mixed_precision(self.device):
            advantage = leave_one_out(found["reward"], settings.each)  # [C]
            log_probability = drawn_log_probability(captioner, all_real(cells), drawn)  # [C, T]
            real = (drawn != PAD).float()
            policy = -(advantage.unsqueeze(1) * log_probability * real).sum() / real.sum()
            likelihood = likelihood_loss(captioner, cells, words, settings.smoothing)
        loss = policy + settings.likelihood * likelihood + settings.contrastive * contrastive
        shown = {name: value.mean() for name, value in found.items()}
        parts = {"contrastive": contrastive.detach(), "likelihood": likelihood.detach(), "length": real.sum(1).mean()}
        return {"loss": loss, **parts, **shown}

    def _unmirrored(self, drawn: Tensor, flipped: Tensor) -> Tensor:
        """Captions [C, T] as of images [I] that are not mirrored."""
        each = len(drawn) // len(flipped)
        return swapped(drawn.view(len(flipped), each, -1), flipped, self.words.swap).flatten(0, 1)
