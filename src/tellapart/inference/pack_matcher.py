"""A matcher's run on the images of a pack, by features that the pack has: as a judge of captions, and its recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.core.types import Images, Texts
from tellapart.data.batches import Batches
from tellapart.data.pack import Pack
from tellapart.evaluation.chunks import CHUNK, chunks
from tellapart.evaluation.judged import judge_scores, picked_first
from tellapart.inference.judge import scale_of
from tellapart.metrics.captions.neighbours import nearest_rows
from tellapart.metrics.retrieval.recall import recall, thousand_folds
from tellapart.runs.bundled import run_name
from tellapart.runs.context import pixel_batches, store_like
from tellapart.runs.run import Run, open_run
from tellapart.runs.texts import as_texts


@dataclass(frozen=True)
class PackMatcher:
    """A matcher that reads a pack's images and any text."""

    run: Run
    matcher: Matcher
    batches: Batches
    at_once: int = CHUNK
    """Images, or captions, encoded at once."""

    def picks(self, image_rows: np.ndarray, captions: Sequence[str], similar: np.ndarray) -> Tensor:
        """[C] bool: the matcher picks image i of the pack from caption i, among it and its look-alikes [C, k].

        There may be fewer captions than images: look-alikes are indices of `image_rows`.
        """

        return picked_first(self.log_shares(image_rows, captions, similar))

    @torch.no_grad()
    def log_shares(self, image_rows: np.ndarray, captions: Sequence[str], similar: np.ndarray) -> Tensor:
        """ln p(image | caption) [C, 1 + k] of image i and its look-alikes [C, k], by the matcher's own temperature."""

        def images(rows: np.ndarray) -> Images:
            return self.batches.images(image_rows[rows])

        scores = judge_scores(self.matcher, images, self._texts, captions, similar, self.at_once)
        return (scores.double() * scale_of(self.matcher)).log_softmax(1)

    def judge(self, image_rows: np.ndarray, captions: Sequence[str], similar: np.ndarray) -> dict[str, float]:
        """Judge accuracy in percent, and among how many images."""
        found = self.picks(image_rows, captions, similar)
        return {"judge_accuracy": 100 * float(found.double().mean()), "judge_among": 1.0 + similar.shape[1]}

    @torch.no_grad()
    def look_alikes(self, image_rows: np.ndarray) -> np.ndarray | None:
        """[I, k]: the nearest others of each image by its vectors, as indices of `image_rows`; None for one image."""
        if len(image_rows) < 2:
            return None
        some = chunks(image_rows, self.at_once)
        encoded = [self.matcher.encode_image(self.batches.images(rows)).vectors for rows in some]
        pooled = [part if part.dim() == 2 else part.mean(1) for part in encoded]
        return nearest_rows(torch.cat(pooled).float().cpu().numpy())

    @torch.no_grad()
    def recall(self, image_rows: np.ndarray) -> dict[str, float]:
        """R@1, 5, 10 in both directions and their sum, for these images and all their captions; 1K folds where they
        apply."""
        pack = self.batches.pack
        groups = [[pack.captions[row].text for row in pack.captions_of[int(image)]] for image in image_rows]
        owner = torch.from_numpy(np.repeat(np.arange(len(groups)), [len(group) for group in groups]))
        captions = [caption for group in groups for caption in group]
        order = np.argsort([len(caption) for caption in captions], kind="stable")  # little padding
        some = chunks(order, self.at_once)
        texts = [self.matcher.encode_text(self._texts([captions[row] for row in rows])) for rows in some]
        parts = []
        for rows in chunks(image_rows, self.at_once):
            images = self.matcher.encode_image(self.batches.images(rows))
            parts.append(torch.cat([self.matcher.score(images, part).float() for part in texts], 1).cpu())
        scores = torch.empty(len(image_rows), len(captions))
        scores[:, torch.from_numpy(order)] = torch.cat(parts)
        return recall(scores, owner) | thousand_folds(scores, owner)

    def _texts(self, captions: Sequence[str]) -> Texts:
        return as_texts(self.run, captions, self.batches.device, allow_unknown=True)


def open_pack_matcher(
    folder: Path | str,
    pack: Pack,
    features: str | None = None,
    device: torch.device | str = "cpu",
    at_once: int = CHUNK,
) -> PackMatcher:
    """A matcher's run for the images of a pack; raises if the pack lacks the features that it reads."""
    run = open_run(run_name(folder, "matcher"), device=device)
    if not isinstance(run.model, Matcher):
        raise InputError(f"{run.what}, not a matcher; give a matcher's run, or hf:FOLDER of one.")
    if run.data["features"] is not None:
        store = store_like(run, run.data["features"], pack, features)
        return PackMatcher(run, run.model.eval(), Batches(pack, store, (), torch.device(device)), at_once)
    if not run.last_stage.sampling.pixels:
        raise InputError(f"{run.folder} reads no images; give another matcher.")
    return PackMatcher(run, run.model.eval(), pixel_batches(run, pack, device), at_once)
