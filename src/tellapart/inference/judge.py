"""A matcher that scores the captions of a captioner, on the features that the captioner reads."""

from __future__ import annotations

import torch
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.core.types import Encoded, Images, Texts
from tellapart.inference.caption_generator import CaptionGenerator
from tellapart.inference.feature_spec import FeatureSpec, as_needed, feature_spec, serves
from tellapart.runs.run import Run
from tellapart.text.vocabulary import Vocabulary


class Judge:
    """A matcher that reads the word ids of another vocabulary, and the mean of a grid if it was trained on vectors."""

    def __init__(self, matcher: Matcher, spec: FeatureSpec, written: Vocabulary, read: Vocabulary) -> None:
        self.matcher, self.spec = matcher, spec
        self.ids = torch.tensor(read.encode(written.words))  # [V] of the captioner -> of the matcher

    def encode_image(self, images: Images) -> Encoded:
        """Features of the captioner, encoded by the matcher."""
        return self.matcher.encode_image(as_needed(images, self.spec))

    def encode_text(self, texts: Texts) -> Encoded:
        """Token ids of the captioner, encoded by the matcher."""
        ids = self.ids.to(texts.tokens.device)
        return self.matcher.encode_text(Texts(ids[texts.tokens], texts.lengths, texts.columns))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """The matcher's scores [I, C]."""
        return self.matcher.score(images, texts)


def judge_for(generator: CaptionGenerator, run: Run) -> Judge:
    """A matcher's run as the judge of a captioner's captions; InputError if their features differ."""
    if not isinstance(run.model, Matcher):
        raise InputError(f"{run.folder} is a {run.recipe.name} run, not a matcher; give a matcher's run.")
    needed = feature_spec(run.data["features"], run.folder)
    if not serves(generator.spec, needed):
        raise InputError(
            f"The matcher {run.folder} reads {needed}, but the captioner {generator.run.folder} reads "
            f"{generator.spec}; both must read the same features, or the matcher the mean of the captioner's grid."
        )
    return Judge(run.model, needed, generator.run.vocabulary, run.vocabulary)
