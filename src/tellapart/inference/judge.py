"""A matcher that scores the captions of a captioner, on the features that the captioner reads."""

from __future__ import annotations

from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.core.protocols import Matcher
from tellapart.core.types import Encoded, Images, Texts
from tellapart.inference.caption_generator import CaptionGenerator
from tellapart.inference.feature_spec import FeatureSpec, as_needed, run_spec, serves
from tellapart.inference.texts import as_texts
from tellapart.runs.run import Run
from tellapart.text.vocabulary import Vocabulary


class Judge:
    """A matcher that reads the captions of a captioner as text, and the mean of a grid if it was trained on vectors."""

    def __init__(self, run: Run, matcher: Matcher, spec: FeatureSpec, vocabulary: Vocabulary) -> None:
        self.run, self.matcher, self.spec, self.vocabulary = run, matcher, spec, vocabulary

    def encode_image(self, images: Images) -> Encoded:
        """Features of the captioner, encoded by the matcher."""
        return self.matcher.encode_image(as_needed(images, self.spec))

    def encode_text(self, texts: Texts) -> Encoded:
        """Captions in token ids of the captioner, encoded by the matcher with its own rules and vocabulary."""
        if self.run.vocabulary.words == self.vocabulary.words and not texts.columns:
            return self.matcher.encode_text(texts)
        captions = [self.vocabulary.decode(row) for row in texts.tokens.tolist()]
        return self.matcher.encode_text(as_texts(self.run, captions, texts.tokens.device, allow_unknown=True))

    def score(self, images: Encoded, texts: Encoded) -> Tensor:
        """The matcher's scores [I, C]."""
        return self.matcher.score(images, texts)


def judge_for(generator: CaptionGenerator, run: Run) -> Judge:
    """A matcher's run as the judge of a captioner's captions; InputError if their features differ."""
    if not isinstance(run.model, Matcher):
        raise InputError(f"{run.folder} is a {run.recipe.name} run, not a matcher; give a matcher's run.")
    needed = run_spec(run.data, run.folder)
    if not serves(generator.spec, needed):
        raise InputError(
            f"The matcher {run.folder} reads {needed}, but the captioner {generator.run.folder} reads "
            f"{generator.spec}; both must read the same features, or the matcher the mean of the captioner's grid."
        )
    return Judge(run, run.model, needed, generator.run.vocabulary)
