"""Evidence and a judge made by hand: words are the axes of a space of four."""

import torch

from tellapart.core.types import Encoded
from tellapart.inference.logistic import Logistic
from tellapart.inference.word_evidence import CONFIDENCE_FEATURES, TRUTH_FEATURES, WordEvidence
from tellapart.text.vocabulary import Vocabulary

WORDS = ("dog", "sofa", "red", "zebra")
VOCABULARY = Vocabulary.from_words(["a", "on", *WORDS, "kite"])


def evidence(object_threshold: float = 0.5) -> WordEvidence:
    """Words are the axes of a space of four; images have mean 0 and deviation 1/2 along each."""
    return WordEvidence(
        "none", WORDS, torch.eye(4), image_mean=torch.zeros(4), image_covariance=torch.eye(4) / 4,
        log_rate=torch.tensor([-1.0, -2.0, -3.0, -4.0]),
        truth=Logistic(TRUTH_FEATURES, (2.0, 0.0, 0.0, 0.0, 0.0), -1.0),
        confidence=Logistic(CONFIDENCE_FEATURES, (1.0, 0.0, 0.0, 0.0, 0.0), 0.0),
        settings={"word": 0.5, "object": object_threshold, "sure": 0.5},
    )  # fmt: skip


class VectorJudge:
    """Reads a caption as the mean of its words' axes."""

    device, scale = torch.device("cpu"), 10.0

    def encode_captions(self, captions: list[str]) -> Encoded:
        vectors = torch.zeros(len(captions), 4)
        for row, caption in enumerate(captions):
            for word in caption.split():
                if word in WORDS:
                    vectors[row, WORDS.index(word)] += 1
        return Encoded(torch.nn.functional.normalize(vectors, dim=1))

    def log_scores(self, images: Encoded, captions: Encoded) -> torch.Tensor:
        return self.scale * images.vectors @ captions.vectors.T
