"""CLIPScore and RefCLIPScore (Hessel et al. 2021, section 3), from the vectors of any matcher.

CLIP-S(c, v)       = w max(cos(c, v), 0),  w = 2.5
RefCLIP-S(c, R, v) = harmonic mean of CLIP-S(c, v) and max over r in R of max(cos(c, r), 0)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart.metrics.captions.values import Score

WEIGHT = 2.5
PROMPT = "A photo depicts "
"""What the paper writes before every caption and reference."""


def clip_score(images: np.ndarray, captions: np.ndarray) -> Score:
    """CLIP-S of each caption with its image, from vectors of length one [N, E] each.

    >>> import numpy as np
    >>> clip_score(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.6, 0.8], [0.6, -0.8]])).each.tolist()
    [1.5, 0.0]
    """
    each = WEIGHT * np.maximum((images * captions).sum(1), 0.0)
    return Score(float(each.mean()), each)


def ref_clip_score(images: np.ndarray, captions: np.ndarray, references: Sequence[np.ndarray]) -> Score:
    """RefCLIP-S of each caption; `references` has the vectors [R, E] of each image's references.

    >>> import numpy as np
    >>> image, caption = np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]])
    >>> round(ref_clip_score(image, caption, [np.array([[0.0, 1.0], [1.0, 0.0]])]).corpus, 4)  # 2 * 1.5 * 0.8 / 2.3
    1.0435
    """
    own = clip_score(images, captions).each
    best = np.asarray([max(float((known @ caption).max()), 0.0) for known, caption in zip(references, captions)])
    total = own + best
    each = np.divide(2 * own * best, total, out=np.zeros_like(total), where=total > 0)
    return Score(float(each.mean()), each)
