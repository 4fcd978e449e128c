"""Captions for features of images: the likeliest, or the one that identifies an image among its neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tellapart.core.errors import InputError, Step
from tellapart.core.precision import fast_products
from tellapart.core.protocols import Captioner
from tellapart.core.types import Encoded, Images, State
from tellapart.inference.apart import Searches, captions_apart
from tellapart.inference.attention import attends
from tellapart.inference.caption_settings import NEIGHBOURS
from tellapart.inference.distinctive import distinctive_captions
from tellapart.inference.feature_spec import FeatureSpec
from tellapart.inference.generated import (
    BEAM,
    DISTINCTIVE_BEAM,
    GUIDED_BEAM,
    MAX_WORDS,
    GeneratedCaptions,
    generated,
    new_words,
    with_confidence,
)
from tellapart.inference.judge import Judge
from tellapart.inference.judging import Judged, Surroundings
from tellapart.inference.light.decoded import Captions
from tellapart.inference.own_extractor import spec_of
from tellapart.inference.truest import TRUE_BEAM, evidence_for_plain, truest
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.decoding import Constraints, Decoded, bad_endings, beams
from tellapart.models.hub.chat import ChatCaptionerModel
from tellapart.runs.bundled import MODELS
from tellapart.runs.run import Run, open_run
from tellapart.text.vocabulary import Vocabulary

__all__ = [
    "BEAM",
    "NEIGHBOURS",
    "CaptionGenerator",
    "GeneratedCaptions",
    "as_arrays",
    "open_caption_generator",
    "with_confidence",
]


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

    @property
    def is_bundled(self) -> bool:
        """Whether this is the captioner in the package, for which the evidence of words was fitted."""
        return self.run.folder == MODELS / "captioner"

    def generate(self, images: Images, beam: int = BEAM) -> GeneratedCaptions:
        """The likeliest caption of each image, by beam search."""
        best = self.plain(images, beam)
        return GeneratedCaptions(self._texts(best), as_arrays(best), best.log_probability.tolist())

    def describe(self, images: Images, judge: Judge, vectors: Tensor, beam: int = 0) -> GeneratedCaptions:
        """The plain caption of each image, with confidence where the judge was calibrated for it.

        vectors: the judge's of the images [I, E]. beam: 0 for 5 where the judge chooses among them, else 3.
        """
        own, evidence = Encoded(vectors), evidence_for_plain(judge) if self.is_bundled else None
        if evidence is None:
            captions = self.generate(images, beam or BEAM)
        else:
            found = self.searches(images).whole_beam(beam or TRUE_BEAM)
            best = truest(found, evidence, judge.image_vectors(own), self.run.vocabulary)
            captions = generated(best, self.run.vocabulary)
        return with_confidence(captions, judge, own)

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
            as_arrays(chosen.decoded),
            chosen.log_probability.tolist(),
            likeliest,
            chosen.log_posterior.exp().tolist(),
            distinct=[not some for some in confused],
            differing=[new_words(text, plain, everyone, some) for text, plain, some in zip(texts, likeliest, confused)],
            confused=confused,
        )

    def generate_apart(
        self,
        images: Images,
        judge: Judge,
        around: Surroundings,
        beam: int = GUIDED_BEAM,
        weight: float = 0.5,
        second: Judge | None = None,
    ) -> GeneratedCaptions:
        """True captions that tell each image apart from its neighbours, scored by a judge (see `telling_apart`);
        second: another judge, by the captioner's features."""
        other = None if second is None else Judged(second, second.encode_images(images))
        return captions_apart(self.searches(images), judge, around, beam or GUIDED_BEAM, weight, other)

    def searches(self, images: Images) -> Searches:
        """Searches for captions of some images, from one start of the captioner."""
        return _Searches(self, images)

    def plain(self, images: Images, beam: int = BEAM, state: State | None = None) -> Decoded:
        """The likeliest caption of each image, by beam search; state: the captioner's, if it has started."""
        if isinstance(self.captioner, ChatCaptionerModel):
            found = self.captioner.own_beams(images, beam)
        else:
            found = beams(
                self.captioner, images, beam, max_words=self.max_words, constraints=self.constraints, state=state
            )
        return found.select(torch.arange(len(images), device=found.tokens.device) * beam)

    def guided(self, images: Images, state: State, preferred: np.ndarray | None, beam: int) -> Decoded:
        """A beam of captions without repeated pairs of words, guided where `preferred` [I, V] is given."""
        if isinstance(self.captioner, ChatCaptionerModel):
            return self.captioner.own_beams(images, beam)
        guide = None if preferred is None else torch.from_numpy(preferred).to(images.features.device)
        with fast_products(images.features.device):
            return self.whole_beam(images, state, beam, guide)

    def whole_beam(self, images: Images, state: State, beam: int, guide: Tensor | None = None) -> Decoded:
        """The same in the captioner's own precision."""
        assert not isinstance(self.captioner, ChatCaptionerModel)
        constraints = replace(self.constraints, no_repeat=2)
        return beams(
            self.captioner,
            images,
            beam,
            max_words=self.max_words,
            constraints=constraints,
            guide=guide,
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


class _Searches:
    """Searches for captions of some images, from one start of the captioner."""

    def __init__(self, generator: CaptionGenerator, images: Images) -> None:
        self.generator, self.images = generator, images
        captioner = generator.captioner
        self.state: State = {} if isinstance(captioner, ChatCaptionerModel) else captioner.start(images)

    @property
    def vocabulary(self) -> Vocabulary:
        return self.generator.run.vocabulary

    @property
    def is_bundled(self) -> bool:
        return self.generator.is_bundled

    @cached_property
    def _plain(self) -> Captions:
        return as_arrays(self.generator.plain(self.images, state=self.state))

    def plain(self) -> Captions:
        return self._plain

    def whole_beam(self, beam: int) -> Captions:
        return as_arrays(self.generator.whole_beam(self.images, self.state, beam))

    def guided(self, rows: np.ndarray, preferred: np.ndarray | None, beam: int) -> Captions:
        if preferred is not None and isinstance(self.generator.captioner, ChatCaptionerModel):
            return self.plain()  # it cannot be guided: nothing is searched again
        chosen = torch.from_numpy(rows).to(self.images.features.device)
        state = {name: value[chosen] for name, value in self.state.items()}
        return as_arrays(self.generator.guided(self.images.select(chosen), state, preferred, beam))


def as_arrays(decoded: Decoded) -> Captions:
    """The same captions as arrays."""
    attention = None if decoded.attention is None else decoded.attention.float().cpu().numpy()
    return Captions(decoded.tokens.cpu().numpy(), decoded.log_probability.float().cpu().numpy(), attention)


def open_caption_generator(folder: Path | str, device: torch.device | str = "cpu") -> CaptionGenerator:
    """A captioner's run, ready for photos; `bundled:captioner` is the one in the package."""
    run = open_run(folder, device=device)
    if not isinstance(run.model, Captioner | ChatCaptionerModel):
        raise InputError(f"{run.what}, not a captioner; give a captioner's run, or hf:FOLDER of one.")
    if isinstance(run.model, R2MModel) and run.model.see is None:
        raise InputError(
            f"{run.folder} captions images by concepts that a detector found in them, and photos have none. Prepare "
            "them with detections and join them with sentences, as for training; a report shows captions.",
            Step("report", run.folder),
        )
    spec = spec_of(run)
    return CaptionGenerator(run, run.model, spec, Constraints(bad_endings=bad_endings(run.vocabulary)))
