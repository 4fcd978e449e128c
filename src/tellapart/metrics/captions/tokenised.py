"""What caption metrics compute from: tokenised captions, and what several metrics share."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tellapart.core.errors import InputError
from tellapart.metrics.captions.bleu import bleu_of
from tellapart.metrics.captions.cider import cider_d_of
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.encoded import Encoded, encode
from tellapart.metrics.captions.values import Score


@dataclass(frozen=True)
class TokenisedCaptions:
    """Candidates and references. The parts that metrics share are computed once."""

    candidates: list[str]
    """One caption per image: words with single spaces between them."""
    references: list[list[str]]
    """The references of each candidate, in the same order."""
    meteor: str = "python"
    """The implementation of METEOR, out of `METEORS`."""
    frequencies: DocumentFrequency | None = None
    """Document frequencies for CIDEr; None for those of the references."""

    neighbours: Sequence[Sequence[int]] | None = None
    """Rows of the images that are similar to each candidate's, for CIDErBtw."""

    @property
    def look_alikes(self) -> Sequence[Sequence[int]]:
        """The rows of similar images; raises if none were given."""
        if self.neighbours is None:
            raise InputError("CIDErBtw compares captions with those of similar images; give them with `neighbours`.")
        return self.neighbours

    @cached_property
    def encoded(self) -> Encoded:
        """All captions as word numbers, for metrics of n-grams."""
        return encode(self.candidates, self.references)

    @cached_property
    def bleu(self) -> list[Score]:
        """BLEU-1 to BLEU-4, from one count of n-grams."""
        return bleu_of(self.encoded)

    @cached_property
    def cider_d(self) -> Score:
        """CIDEr-D, which has two names."""
        return cider_d_of(self.encoded, self.frequencies)
