"""Evidence and a judge made by hand: words are the axes of a space of four."""

from collections.abc import Sequence

import numpy as np

from tellapart.inference.judging import Encodings, Surroundings, Vectors
from tellapart.inference.logistic import Logistic
from tellapart.inference.word_evidence import CONFIDENCE_FEATURES, TRUTH_FEATURES, WordEvidence
from tellapart.text.vocabulary import Vocabulary

WORDS = ("dog", "sofa", "red", "zebra")
VOCABULARY = Vocabulary.from_words(["a", "on", *WORDS, "kite"])


def evidence(object_threshold: float = 0.5) -> WordEvidence:
    """Words are the axes of a space of four; images have mean 0 and deviation 1/2 along each."""
    return WordEvidence(
        "none", WORDS, np.eye(4, dtype=np.float32), image_mean=np.zeros(4, np.float32),
        image_covariance=np.eye(4, dtype=np.float32) / 4,
        log_rate=np.asarray([-1.0, -2.0, -3.0, -4.0], np.float32),
        detectors=2 * np.eye(4, dtype=np.float32), log_named=np.asarray([-1.0, -2.0, -3.0, -4.0], np.float32),
        truth=Logistic(TRUTH_FEATURES, (2.0, 0.0, 0.0, 0.0, 0.0), -1.0),
        confidence=Logistic(CONFIDENCE_FEATURES, (1.0, 0.0, 0.0, 0.0, 0.0), 0.0),
        settings={"word": 0.5, "object": object_threshold, "sure": 0.5, "sure_against": 0.5, "softness": 0.6,
                  "agreement": 1.8, "truth": 0.8, "fluency": 0.6, "second_truth": 0.5, "second_object": 0.3,
                  "second_word": 0.2},
    )  # fmt: skip


class VectorJudge:
    """Reads a caption as the mean of its words' axes."""

    scale = 10.0

    def __init__(self, known: WordEvidence | None = None) -> None:
        self.evidence = known

    def caption_vectors(self, captions: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(captions), 4), np.float32)
        for row, caption in enumerate(captions):
            for word in caption.split():
                if word in WORDS:
                    vectors[row, WORDS.index(word)] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def image_vectors(self, images: Encodings) -> np.ndarray:
        assert isinstance(images, Vectors)
        return images.vectors

    def caption_scores(self, captions: Sequence[str], around: Surroundings) -> tuple[np.ndarray, np.ndarray]:
        texts = self.scale * self.caption_vectors(captions).T
        return self.image_vectors(around.own) @ texts, self.image_vectors(around.among) @ texts
