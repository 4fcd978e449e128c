"""Captions for features of images: the likeliest, or the one that identifies an image among its neighbours."""

from __future__ import annotations

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
from tellapart.inference.feature_spec import FeatureSpec
from tellapart.inference.judge import Judge
from tellapart.inference.own_extractor import spec_of
from tellapart.inference.proposals import join_proposals, replaced
from tellapart.inference.telling_apart import STRENGTHS, Choice, Surroundings, choose, differing_words, guide
from tellapart.inference.word_evidence import WordEvidence
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.decoding import Constraints, Decoded, bad_endings, beams
from tellapart.models.hub.chat import ChatCaptionerModel
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
    captioner: Captioner | ChatCaptionerModel
    spec: FeatureSpec
    constraints: Constraints

    @property
    def attends(self) -> bool:
        """Whether captions have attention over parts of the image."""
        return attends(self.captioner) and self.spec.kind != "vector"

    @property
    def max_words(self) -> int:
        """Most words of a caption."""
        return int(getattr(self.captioner, "most_words", MAX_WORDS))

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
        if isinstance(self.captioner, ChatCaptionerModel):
            raise InputError("A chat model cannot judge its own captions; give a matcher as `matcher`.")
        chosen = distinctive_captions(
            self.captioner, images, among=among, neighbours=neighbours, weight=weight, width=beam,
            max_words=self.max_words, constraints=self.constraints,
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
        evidence = judge.evidence
        plain, decoded, choice = self._apart(images, judge, around, beam or GUIDED_BEAM, weight)
        texts, likeliest = self._texts(decoded), self._texts(plain)
        confused = [row.nonzero().squeeze(1).tolist() for row in choice.confused]
        everyone = list(range(around.neighbours.shape[1]))
        if evidence is None:
            differing = [_new_words(text, old, everyone, some) for text, old, some in zip(texts, likeliest, confused)]
        else:
            vectors = around.among.vectors[around.neighbours]  # [I, M, E]
            differing = [differing_words(evidence, *one) for one in zip(texts, around.own.vectors, vectors)]
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

    def _apart(
        self, images: Images, judge: Judge, around: Surroundings, beam: int, weight: float
    ) -> tuple[Decoded, Decoded, Choice]:
        """The plain captions, the chosen ones, and the choice; a stronger search follows where the first fails."""
        evidence = judge.evidence
        state = {} if isinstance(self.captioner, ChatCaptionerModel) else self.captioner.start(images)
        plain = self.plain(images, state=state)
        decoded = plain
        choice: Choice | None = None
        rows = torch.arange(len(images), device=plain.tokens.device)  # images that nothing sets apart so far
        for strength in STRENGTHS if evidence is not None else STRENGTHS[:1]:
            near = around.select(rows)
            searched = self._guided(images.select(rows), _at(state, rows), near, evidence, strength, beam)
            proposals = join_proposals([plain.select(rows), searched], len(rows), self.run.vocabulary)
            found = choose(proposals, judge, near, weight, evidence)
            better = torch.ones_like(found.distinct) if choice is None else found.distinct
            decoded = replaced(decoded, rows[better], proposals.select(found.chosen).select(better))
            choice = found if choice is None else choice.replaced(rows[better], found.select(better))
            rows = (~choice.distinct).nonzero().squeeze(1)
            if not len(rows):
                break
        assert choice is not None
        return plain, decoded, choice

    def plain(self, images: Images, beam: int = BEAM, state: State | None = None) -> Decoded:
        """The likeliest caption of each image, by beam search; state: the captioner's, if it has started."""
        if isinstance(self.captioner, ChatCaptionerModel):
            found = self.captioner.own_beams(images, beam)
        else:
            found = beams(
                self.captioner, images, beam, max_words=self.max_words, constraints=self.constraints, state=state
            )
        return found.select(torch.arange(len(images), device=found.tokens.device) * beam)

    def _guided(
        self,
        images: Images,
        state: State,
        around: Surroundings,
        evidence: WordEvidence | None,
        strength: float,
        beam: int,
    ) -> Decoded:
        """A beam of captions, guided with this strength where the judge sees words."""
        if isinstance(self.captioner, ChatCaptionerModel):
            return self.captioner.own_beams(images, beam)
        constraints = replace(self.constraints, no_repeat=2)
        preferred = None if evidence is None else strength * guide(evidence, around, self.run.vocabulary)
        with fast_products(around.neighbours.device):
            return beams(
                self.captioner,
                images,
                beam,
                max_words=self.max_words,
                constraints=constraints,
                guide=preferred,
                state=state,
            )

    def proposed(self, images: Images, beam: int) -> list[list[str]]:
        """All captions of a beam, without a guide."""
        if isinstance(self.captioner, ChatCaptionerModel):
            found = self._texts(self.captioner.own_beams(images, beam))
        else:
            found = self._texts(
                beams(self.captioner, images, beam, max_words=self.max_words, constraints=self.constraints)
            )
        return [found[first : first + beam] for first in range(0, len(found), beam)]

    def _texts(self, decoded: Decoded) -> list[str]:
        return [self.run.vocabulary.decode(row) for row in decoded.tokens.tolist()]


def _at(state: State, rows: Tensor) -> State:
    """The states of some images before the first word."""
    return {name: value[rows] for name, value in state.items()}


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
    if not isinstance(run.model, Captioner | ChatCaptionerModel):
        raise InputError(f"{run.folder} is a {run.recipe.name} run, not a captioner; give a captioner's run.")
    if isinstance(run.model, R2MModel) and run.model.see is None:
        raise InputError(
            f"{run.folder} captions images by concepts that a detector found in them, and photos have none. Prepare "
            "them with detections and join them with sentences, as for training; a report shows captions.",
            Step("report", run.folder),
        )
    spec = spec_of(run)
    return CaptionGenerator(run, run.model, spec, Constraints(bad_endings=bad_endings(run.vocabulary)))
