"""A frozen matcher that judges sampled captions as text: it may see other features and other words than the captioner.

Self-retrieval: p(I | c) is a softmax of the matcher's scores, over its temperature, of the caption with all images of
the batch (contrastive captioning paper, section 5, as a reward).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from tellapart.core.protocols import Matcher
from tellapart.core.types import Encoded, Images, Texts

TEMPERATURE = 0.05
"""For a matcher that learned none."""


class CaptionJudge:
    """Encodes each image of a pack once, by the row of the image.

    Args:
        images_of: rows of the pack -> images as the matcher reads them.
        texts_of: captions -> texts as the matcher reads them.
    """

    def __init__(
        self,
        matcher: Matcher,
        images_of: Callable[[np.ndarray], Images],
        texts_of: Callable[[Sequence[str]], Texts],
    ) -> None:
        self.matcher, self.images_of, self.texts_of = matcher, images_of, texts_of
        learned: Callable[[], Tensor] | None = getattr(matcher, "scale", None)
        self.scale = 1 / TEMPERATURE if learned is None else float(learned().detach())
        self.known: dict[int, Encoded] = {}

    @torch.no_grad()
    def posterior(self, image_rows: Tensor, captions: Sequence[str], owner: Tensor) -> Tensor:
        """p(image owner[n] | caption n) [N] among the images of a batch, rows [I] of the pack."""
        images = self._encoded(image_rows)
        scores = self.matcher.score(images, self.matcher.encode_text(self.texts_of(captions))).float()  # [I, N]
        chances = (self.scale * scores).softmax(0)
        return chances[owner, torch.arange(len(owner), device=owner.device)]

    def _encoded(self, image_rows: Tensor) -> Encoded:
        rows = image_rows.tolist()
        missing = [row for row in rows if row not in self.known]
        if missing:
            found = self.matcher.encode_image(self.images_of(np.asarray(missing, np.int64)))
            for place, row in enumerate(missing):
                self.known[row] = found.select(torch.tensor([place], device=found.vectors.device))
        parts = [self.known[row] for row in rows]
        masks = [part.mask for part in parts if part.mask is not None]
        return Encoded(torch.cat([part.vectors for part in parts]), torch.cat(masks) if masks else None)
