"""One linear detector per word: does an image show it?

For word w, y(J) = 1 where references of image J name w or a synonym, otherwise 0, and x(J) is the image's vector by a
matcher, each number less its mean over images and over its standard deviation. The detector is the ridge regression

    a(w) = argmin over a of mean over images J of ((y(J) - mean y) / deviation of y - a · x(J))^2 + RIDGE |a|^2.

The cosine of an image with the word's own vector, which a matcher learned for whole captions, says less: it cannot know
that "sitting" and "standing" exclude each other, or which things people mention.
"""

from __future__ import annotations

import numpy as np

RIDGE = 0.1
RAREST = 1e-3
"""Added to deviations of y and to shares of images, so that words without an image stay finite."""


def fit_detectors(vectors: np.ndarray, named: np.ndarray, ridge: float = RIDGE) -> tuple[np.ndarray, np.ndarray]:
    """Weights [W, E] for vectors less their mean, and ln of the share of images that each word is named for [W].

    vectors: [N, E] of length one; named: [N, W] bool, which words references of each image name.
    """
    labels = named.astype(np.float32)
    share = labels.mean(0)
    deviation = vectors.std(0) + 1e-6
    scaled = (vectors - vectors.mean(0)) / deviation  # [N, E]
    wanted = (labels - share) / (np.sqrt(share * (1 - share)) + RAREST)  # [N, W]
    among = scaled.T @ scaled / len(scaled) + ridge * np.eye(scaled.shape[1], dtype=scaled.dtype)
    found = np.linalg.solve(among, scaled.T @ wanted / len(scaled))  # [E, W]
    return (found / deviation[:, None]).T.astype(np.float32), np.log(share + RAREST).astype(np.float32)
