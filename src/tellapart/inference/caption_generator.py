"""Captions for features of images: the likeliest, or the one that identifies an image among its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tellapart.core.errors import InputError, Step
from tellapart.core.protocols import Captioner, Matcher
from tellapart.core.types import Images
from tellapart.inference.attention import attends
from tellapart.inference.distinctive import distinctive_captions
from tellapart.inference.feature_spec import FeatureSpec, run_spec
from tellapart.inference.neighbours import joined, nearest
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.decoding import Constraints, Decoded, bad_endings, beams
from tellapart.runs.run import Run, open_run

MAX_WORDS = 20
BEAM, DISTINCTIVE_BEAM = 3, 10
NEIGHBOURS = 10


@dataclass(frozen=True)
class GeneratedCaptions:
    """One caption per image; `decoded` has the attention of its words."""

    texts: list[str]
    decoded: Decoded  # [I] rows
    log_probability: list[float]
    """ln p(caption | image)."""
    likeliest: list[str] | None = None
    """The likeliest captions, if distinctive ones were generated."""
    posterior: list[float] | None = None
    """p(image | caption) among the image and its neighbours, 0 … 1."""


@dataclass(frozen=True)
class CaptionGenerator:
    """A captioner, and the spec of the features that it reads."""

    run: Run
    captioner: Captioner
    spec: FeatureSpec
    constraints: Constraints

    @property
    def attends(self) -> bool:
        """Whether captions have attention over parts of the image."""
        return attends(self.captioner) and self.spec.kind != "vector"

    def generate(self, images: Images, beam: int = BEAM) -> GeneratedCaptions:
        """The likeliest caption of each image, by beam search."""
        found = beams(self.captioner, images, beam, max_words=MAX_WORDS, constraints=self.constraints)
        best = found.select(torch.arange(len(images), device=found.tokens.device) * beam)
        return GeneratedCaptions(self._texts(best), best, best.log_probability.tolist())

    def generate_distinctive(
        self,
        images: Images,
        among: Images,
        neighbours: Tensor,
        beam: int = DISTINCTIVE_BEAM,
        weight: float = 0.5,
        matcher: Matcher | None = None,
    ) -> GeneratedCaptions:
        """Captions that are likely and identify each image among its neighbours [I, M], rows of `among`."""
        chosen = distinctive_captions(
            self.captioner, images, among=among, neighbours=neighbours, weight=weight, width=beam, matcher=matcher,
            max_words=MAX_WORDS, constraints=self.constraints,
        )  # fmt: skip
        first = torch.arange(len(images), device=chosen.chosen.device) * beam
        return GeneratedCaptions(
            self._texts(chosen.decoded),
            chosen.decoded,
            chosen.log_probability.tolist(),
            self._texts(chosen.proposed.select(first)),
            chosen.log_posterior.exp().tolist(),
        )

    def generate_among(
        self, image: Images, others: Sequence[Images], neighbours: int = NEIGHBOURS
    ) -> GeneratedCaptions | None:
        """The distinctive caption of one image among its nearest of `others`; None if no other image is left.

        Copies of the image are not compared with.
        """
        if not others:
            return None
        among = joined(others)
        rows = nearest(image, among, neighbours)  # [1, M]
        return self.generate_distinctive(image, among, rows) if rows.shape[1] else None

    def _texts(self, decoded: Decoded) -> list[str]:
        return [self.run.vocabulary.decode(row) for row in decoded.tokens.tolist()]


def open_caption_generator(folder: Path | str, device: torch.device | str = "cpu") -> CaptionGenerator:
    """A captioner's run, ready for photos; `bundled:captioner` is the one in the package."""
    run = open_run(folder, device=device)
    if not isinstance(run.model, Captioner):
        raise InputError(f"{run.folder} is a {run.recipe.name} run, not a captioner; give a captioner's run.")
    if isinstance(run.model, R2MModel) and run.model.see is None:
        raise InputError(
            f"{run.folder} captions images by concepts that a detector found in them, and photos have none. Prepare "
            "them with detections and join them with sentences, as for training; a report shows captions.",
            Step("report", run.folder),
        )
    spec = run_spec(run.data, run.folder)
    return CaptionGenerator(run, run.model, spec, Constraints(bad_endings=bad_endings(run.vocabulary)))
