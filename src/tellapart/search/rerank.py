"""A second, slower matcher orders what was found: SCAN and its kin compare every word with every region of a photo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.inference.feature_extractor import FeatureExtractor, look_of
from tellapart.models.matchers.ensemble import average_scores
from tellapart.runs.run import open_run
from tellapart.search.query import Found
from tellapart.search.sentences import as_texts
from tellapart.search.store import inside

BATCH = 32


class Reranker:
    """A matcher's run opened to look at a shortlist. It looks at the photos anew, in its own way, so that an index need
    not hold every region of every photo."""

    def __init__(self, run: str, device: torch.device | str = "cpu", workers: int = 0) -> None:
        self.run = open_run(run, device=device)
        self.device = torch.device(device)
        if not isinstance(self.run.model, Matcher):
            raise InputError(
                f"{self.run.folder} is a {self.run.recipe.name} run, which matches nothing; give a matcher."
            )
        self.model: Matcher = self.run.model
        self.extractor = FeatureExtractor(look_of(self.run.data["features"], self.run.folder), device, workers)

    @torch.inference_mode()
    def rerank(self, found: Sequence[Found], sentence: str, share: float = 0.5) -> list[Found]:
        """The shortlist in a new order; `share` is this matcher's say, the rest is the index's.

        Both scores are standardised over the shortlist first. Photos that cannot be read any more come last, as they
        were, with no score.
        """
        if not 0 <= share <= 1:
            raise InputError(f"The second matcher's say lies between 0 and 1, not {share}.")
        files = [inside(one.path, one.folder) for one in found]
        places = [place for place, file in enumerate(files) if file is not None]
        paths: list[Path] = [file for file in files if file is not None]
        texts = self.model.encode_text(as_texts(self.run, [sentence], self.device))
        kept: list[int] = []
        scores: list[torch.Tensor] = []
        for looked in self.extractor.look_at(paths, BATCH):
            if looked.photos:
                kept += [places[photo] for photo in looked.photos]
                scores.append(self.model.score(self.model.encode_image(looked.images), texts).cpu())  # [I, 1]
        if not kept:
            return list(found)
        first = torch.tensor([[found[place].score] for place in kept])  # [I, 1]
        joint = average_scores([first, torch.cat(scores).float()], [1 - share, share]) if len(kept) > 1 else first
        order = joint[:, 0].argsort(descending=True, stable=True).tolist()
        best = [replace(found[kept[row]], score=float(joint[row, 0])) for row in order]
        lost = [replace(one, score=float("-inf")) for place, one in enumerate(found) if place not in set(kept)]
        return best + lost
