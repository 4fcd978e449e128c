"""A captioner at work on photos: the likeliest sentence, or the one that tells a photo apart from its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner, Matcher
from tellapart.core.types import Encoded, Images, Texts
from tellapart.features.backbones import BACKBONES
from tellapart.inference.distinctive import tell_apart
from tellapart.inference.feature_extractor import Look, look_of
from tellapart.models.captioners.r2m import R2MModel
from tellapart.models.decoding import Constraints, Decoded, bad_endings, beams
from tellapart.runs.run import Run, open_run
from tellapart.text.vocabulary import Vocabulary

MAX_WORDS = 20


@dataclass(frozen=True)
class Sentences:
    """One sentence an image, with what decided; `decoded` has where its words looked."""

    texts: list[str]
    decoded: Decoded  # [I] rows
    log_probability: list[float]
    """ln p(sentence | image)."""
    plain: list[str] | None = None
    """The likeliest sentences, where others may have been chosen."""
    found: list[float] | None = None
    """How sure the sentence finds its image among the neighbours, 0 … 1."""


@dataclass(frozen=True)
class CaptionGenerator:
    """A captioner opened to tell photos, and the look its photos need."""

    run: Run
    captioner: Captioner
    look: Look
    constraints: Constraints

    def tell(self, images: Images, beam: int = 3) -> Sentences:
        """The likeliest sentence of each image that a beam of this width finds."""
        found = beams(self.captioner, images, beam, max_words=MAX_WORDS, constraints=self.constraints)
        best = found.select(torch.arange(len(images), device=found.tokens.device) * beam)
        return Sentences(self.spelled(best), best, best.log_probability.tolist())

    def tell_apart(
        self,
        images: Images,
        among: Images,
        neighbours: Tensor,
        beam: int = 10,
        weight: float = 0.5,
        matcher: Matcher | None = None,
    ) -> Sentences:
        """Of the beam's sentences, the one that is likely and finds its image among its neighbours."""
        told = tell_apart(
            self.captioner, images, among, neighbours, weight, beam, matcher,
            max_words=MAX_WORDS, constraints=self.constraints,
        )  # fmt: skip
        first = torch.arange(len(images), device=told.chosen.device) * beam
        return Sentences(
            self.spelled(told.decoded),
            told.decoded,
            told.likely.tolist(),
            self.spelled(told.proposed.select(first)),
            told.distinctive.exp().tolist(),
        )

    def spelled(self, said: Decoded) -> list[str]:
        return [self.run.vocabulary.decode(row) for row in said.tokens.tolist()]


def open_caption_generator(folder: Path | str, device: torch.device | str = "cpu") -> CaptionGenerator:
    """A captioner's run, ready for photos; `bundled:captioner` is the package's own."""
    run = open_run(folder, device=device)
    if not isinstance(run.model, Captioner):
        raise InputError(f"{run.folder} is a {run.recipe.name} run, which writes no captions; give a captioner's run.")
    if isinstance(run.model, R2MModel):
        raise InputError(
            f"{run.folder} tells images by the concepts a detector found in them, and photos come without. Prepare "
            "them with detections and join them with sentences, as the run's were; `tellapart report` shows captions."
        )
    return CaptionGenerator(
        run,
        run.model,
        look_of(run.data["features"], run.folder),
        Constraints(bad_endings=bad_endings(run.vocabulary)),
    )


def open_judge(folder: Path | str, generator: CaptionGenerator, device: torch.device | str = "cpu") -> Matcher:
    """A matcher's run that can judge this captioner's sentences on the photos as the captioner sees them."""
    run = open_run(folder, device=device)
    if not isinstance(run.model, Matcher):
        raise InputError(f"{run.folder} is a {run.recipe.name} run, which matches nothing; give a matcher's run.")
    own, theirs = look_of(run.data["features"], run.folder), generator.look
    # Only the package's own backbones are sure to have the mean of the grid as their vector.
    pools = own.kind == "vector" and theirs.kind == "grid" and own.backbone in BACKBONES
    if (own.backbone, own.resize) != (theirs.backbone, theirs.resize) or not (own == theirs or pools):
        raise InputError(
            f"{run.folder} sees {_in_words(own)}, but the captioner {generator.run.folder} sees {_in_words(theirs)}; a "
            "matcher can judge where both see the same, or it sees the vector of the captioner's grid."
        )
    return Judge(run.model, generator.run.vocabulary, run.vocabulary, pools, device)


class Judge:
    """A matcher that reads another's word ids, and the mean of a grid where it was trained on vectors."""

    def __init__(
        self, matcher: Matcher, said: Vocabulary, read: Vocabulary, pools: bool, device: torch.device | str
    ) -> None:
        self.matcher, self.pools = matcher, pools
        self.ids = torch.tensor(read.encode(said.words), device=device)  # [V] of the captioner -> of the matcher

    def encode_image(self, images: Images) -> Encoded:
        if self.pools:
            images = Images(images.pooled().unsqueeze(1), images.mask[:, :1])
        return self.matcher.encode_image(images)

    def encode_text(self, texts: Texts) -> Encoded:
        return self.matcher.encode_text(Texts(self.ids[texts.tokens], texts.lengths, texts.columns))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        return self.matcher.score(images, texts)


def _in_words(look: Look) -> str:
    return f"{look.rows} rows ({look.kind}) of {look.backbone}, {look.resize}"
