"""Images as a judge encodes them: vectors in memory, or features in a file for a judge with many vectors per image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tellapart.core.types import Encoded, Images
from tellapart.inference.judge import Judge
from tellapart.inference.neighbours import StoredFeatures


class JudgedImages:
    """Encodings of a list of images."""

    def __init__(self, judge: Judge, images: int) -> None:
        self.judge = judge
        self.vectors = torch.zeros(images, judge.width) if judge.has_vectors else None
        self.features = None if judge.has_vectors else StoredFeatures(images, judge.spec, judge.device)

    def add(self, places: Sequence[int], images: Images) -> None:
        """Keep the encodings of the images at these places; their features must serve the judge."""
        if self.vectors is not None:
            self.vectors[list(places)] = self.judge.encode_images(images).vectors.float().cpu()
        elif self.features is not None:
            self.features.add(places, self.judge.as_needed(images))

    def encoded(self, rows: np.ndarray) -> Encoded:
        """The encodings of these images."""
        if self.vectors is not None:
            return Encoded(self.vectors[torch.from_numpy(rows)].to(self.judge.device))
        assert self.features is not None
        return self.judge.encode_images(self.features.images(rows))
