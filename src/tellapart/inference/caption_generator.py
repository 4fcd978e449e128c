"""Captions for features of images: the likeliest, or the one that identifies an image among its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from tellapart.core.errors import InputError, Step
from tellapart.core.precision import fast_products
from tellapart.core.protocols import Captioner
from tellapart.core.types import Encoded, Images, State
from tellapart.inference.attention import attends
from tellapart.inference.confidence import confidences
from tellapart.inference.distinctive import distinctive_captions
from tellapart.inference.feature_spec import FeatureSpec, run_spec
from tellapart.inference.judge import Judge
from tellapart.inference.proposals import join_proposals
from tellapart.inference.telling_apart import STRENGTHS, Surroundings, choose, differing_words, guide
from tellapart.inference.word_evidence import WordEvidence
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.decoding import Constraints, Decoded, bad_endings, beams
from tellapart.runs.run import Run, open_run
from tellapart.text.function_words import content_words

MAX_WORDS = 20
BEAM, DISTINCTIVE_BEAM, GUIDED_BEAM = 3, 10, 10
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
    distinct: list[bool] | None = None
    """Whether each caption fits its image better than every neighbour."""
    differing: list[dict[str, list[int]]] | None = None
    """Words that set an image apart, each with the neighbours (places among its own) that show less of it."""
    confused: list[list[int]] | None = None
    """Neighbours (places among an image's own) that the caption fits at least as well."""
    confidence: list[float] | None = None
    """Probability that each caption is true; None for models that it was not calibrated for."""
    sure: list[bool] | None = None
    """Whether the confidence reaches its threshold."""


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
        best = self.plain(images, beam)
        return GeneratedCaptions(self._texts(best), best, best.log_probability.tolist())

    def generate_distinctive(
        self, images: Images, among: Images, neighbours: Tensor, beam: int = DISTINCTIVE_BEAM, weight: float = 0.5
    ) -> GeneratedCaptions:
        """Captions that are likely and identify each image among its neighbours [I, M], rows of `among`.

        The captioner itself scores how well they do.
        """
        beam = beam or DISTINCTIVE_BEAM
        chosen = distinctive_captions(
            self.captioner, images, among=among, neighbours=neighbours, weight=weight, width=beam,
            max_words=MAX_WORDS, constraints=self.constraints,
        )  # fmt: skip
        first = torch.arange(len(images), device=chosen.chosen.device) * beam
        texts, likeliest = self._texts(chosen.decoded), self._texts(chosen.proposed.select(first))
        confused = [row.nonzero().squeeze(1).tolist() for row in chosen.confused]
        everyone = list(range(neighbours.shape[1]))
        return GeneratedCaptions(
            texts,
            chosen.decoded,
            chosen.log_probability.tolist(),
            likeliest,
            chosen.log_posterior.exp().tolist(),
            distinct=[not some for some in confused],
            differing=[
                _new_words(text, plain, everyone, some) for text, plain, some in zip(texts, likeliest, confused)
            ],
            confused=confused,
        )

    def generate_apart(
        self, images: Images, judge: Judge, around: Surroundings, beam: int = GUIDED_BEAM, weight: float = 0.5
    ) -> GeneratedCaptions:
        """True captions that tell each image apart from its neighbours, scored by a judge (see `telling_apart`)."""
        evidence, beam = judge.evidence, beam or GUIDED_BEAM
        state = self.captioner.start(images)
        plain = self.plain(images, state=state)
        parts = [plain, *self._proposed(images, state, around, evidence, beam)]
        proposals = join_proposals(parts, len(images), self.run.vocabulary)
        choice = choose(proposals, judge, around, weight, evidence)
        decoded, likeliest = proposals.select(choice.chosen), self._texts(plain)
        texts = self._texts(decoded)
        confused = [row.nonzero().squeeze(1).tolist() for row in choice.confused]
        everyone = list(range(around.neighbours.shape[1]))
        if evidence is None:
            differing = [_new_words(text, old, everyone, some) for text, old, some in zip(texts, likeliest, confused)]
        else:
            near = around.among.vectors[around.neighbours]  # [I, M, E]
            differing = [differing_words(evidence, *one) for one in zip(texts, around.own.vectors, near)]
        generated = GeneratedCaptions(
            texts,
            decoded,
            decoded.log_probability.tolist(),
            likeliest,
            choice.posterior.tolist(),
            distinct=choice.distinct.tolist(),
            differing=differing,
            confused=confused,
        )
        return with_confidence(generated, judge, around.own)

    def plain(self, images: Images, beam: int = BEAM, state: State | None = None) -> Decoded:
        """The likeliest caption of each image, by beam search; state: the captioner's, if it has started."""
        found = beams(self.captioner, images, beam, max_words=MAX_WORDS, constraints=self.constraints, state=state)
        return found.select(torch.arange(len(images), device=found.tokens.device) * beam)

    def _proposed(
        self, images: Images, state: State, around: Surroundings, evidence: WordEvidence | None, beam: int
    ) -> Iterator[Decoded]:
        """Beams without a guide and, where the judge sees words, with guides of several strengths."""
        constraints = replace(self.constraints, no_repeat=2)
        preferred = None if evidence is None else guide(evidence, around, self.run.vocabulary)
        for strength in STRENGTHS if preferred is not None else (0.0,):
            one = strength * preferred if preferred is not None and strength else None
            with fast_products(state[next(iter(state))].device):
                found = beams(
                    self.captioner, images, beam, max_words=MAX_WORDS, constraints=constraints, guide=one, state=state
                )
            yield found

    def _texts(self, decoded: Decoded) -> list[str]:
        return [self.run.vocabulary.decode(row) for row in decoded.tokens.tolist()]


def with_confidence(captions: GeneratedCaptions, judge: Judge, own: Encoded) -> GeneratedCaptions:
    """The same captions with their confidence, if it was calibrated for the judge; own: its encodings of the images."""
    if judge.evidence is None:
        return captions
    found = confidences(judge, judge.evidence, captions.texts, captions.decoded.log_probability, own.vectors)
    threshold = judge.evidence.settings["sure"]
    return replace(captions, confidence=found, sure=[value >= threshold for value in found])


def _new_words(text: str, plain: str, neighbours: list[int], confused: list[int]) -> dict[str, list[int]]:
    """The content words that the plain caption lacks, each with the neighbours that the caption does not fit."""
    others = [place for place in neighbours if place not in confused]
    new = dict.fromkeys(word for word in content_words(text.split()) if word not in plain.split())
    return {word: others for word in new} if others else {}


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
