"""One linear detector per word: does an image show it?

For word w, y(J) = 1 where references of image J confirm w, otherwise 0, and x(J) is the image's vector by a matcher,
each number less its mean over images and over its standard deviation. The detector is the logistic regression

    p(y = 1 | J) = 1 / (1 + exp(-(a(w) · x(J) + b(w)))),

fitted by Adam. In each step a share DROPPED of the numbers of x is 0: with fewer images than a rare word needs, weights
then spread over many numbers. The cosine of an image with the word's own vector, which a matcher learned for whole
captions, says less: it cannot know that "sitting" and "standing" exclude each other, or which things people mention.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

DROPPED = 0.2
EPOCHS, TOGETHER, RATE = 8, 256, 2e-3
RAREST = 1e-3
"""Added to shares of images, so that words without an image stay finite."""


def fit_detectors(
    vectors: np.ndarray, named: np.ndarray, epochs: int = EPOCHS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Weights [W, E] for vectors less their mean, and ln of the share of images that each word is named for [W].

    vectors: [N, E] of length one; named: [N, W] bool, which words references of each image confirm.
    """
    share, deviation = named.mean(0, dtype=np.float32), vectors.std(0) + 1e-6
    images = torch.from_numpy(((vectors - vectors.mean(0)) / deviation).astype(np.float32))
    labels = torch.from_numpy(named)
    random = torch.Generator().manual_seed(seed)
    weights = torch.zeros(named.shape[1], vectors.shape[1], requires_grad=True)
    bias = torch.from_numpy(np.log((share + RAREST / 10) / (1 - share + RAREST / 10))).requires_grad_()
    optimiser = torch.optim.Adam([weights, bias], RATE)
    steps = epochs * -(-len(images) // TOGETHER)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, steps + 1)
    for _ in range(epochs):
        for rows in torch.randperm(len(images), generator=random).split(TOGETHER):  # type: ignore[no-untyped-call]
            kept = torch.rand(len(rows), images.shape[1], generator=random) >= DROPPED
            found = (images[rows] * kept / (1 - DROPPED)) @ weights.T + bias
            loss = F.binary_cross_entropy_with_logits(found, labels[rows].float(), reduction="sum") / len(rows)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    return weights.detach().numpy() / deviation, np.log(share + RAREST)
