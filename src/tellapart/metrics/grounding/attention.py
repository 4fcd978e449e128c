"""Grounding metrics: attention accuracy, F1_all and F1_loc (grounded captioning paper, section 4.1), and CHAIR.

The definitions are those of the published scorer (Zhou et al. 2019, appendix). Each row of `Outcomes` is one
comparison: its image, its object class, hit or miss. The rate of a class is the mean of its rows. A score is the mean
over the classes that the split's references annotate, so that rare classes count as much as frequent ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.metrics.grounding.boxes import best_overlap

THRESHOLD = 0.5
"""A region is correct when its overlap is above this."""


@dataclass(frozen=True)
class Outcomes:
    """Comparisons, one per row."""

    image: np.ndarray  # [M]
    word_class: np.ndarray  # [M]
    hit: np.ndarray  # [M] bool, or the probability of a hit

    def where(self, kept: np.ndarray) -> Outcomes:
        """The rows where `kept` [M] is true."""
        return Outcomes(self.image[kept], self.word_class[kept], self.hit[kept])


@dataclass(frozen=True)
class References:
    """Annotated words of N reference captions, in order; caption n describes `image[n]`."""

    image: np.ndarray  # [N]
    caption: np.ndarray  # [W] caption of each annotated word, ascending
    word_class: np.ndarray  # [W]
    boxes: np.ndarray  # [W, K, 4] fractions
    box_mask: np.ndarray  # [W, K]
    other_caption: np.ndarray  # [O] caption of each word that is not annotated but owner lemma is a class
    other_class: np.ndarray  # [O] class of that word


@dataclass(frozen=True)
class GeneratedWords:
    """Object words of generated captions, one caption per image, in order."""

    image: np.ndarray  # [P] ascending
    word_class: np.ndarray  # [P]
    box: np.ndarray  # [P, 4] the region with most attention, in fractions


@dataclass(frozen=True)
class GroundingOutcomes:
    """Outcomes for precision and recall of all object words; `*_predicted` marks the rows that F1_loc uses."""

    precision: Outcomes
    precision_predicted: np.ndarray
    recall: Outcomes
    recall_predicted: np.ndarray

    @property
    def modes(self) -> dict[str, tuple[Outcomes, Outcomes]]:
        """Outcomes for precision and recall of F1_all and of F1_loc."""
        located = self.precision.where(self.precision_predicted), self.recall.where(self.recall_predicted)
        return {"all": (self.precision, self.recall), "loc": located}


def compare_captions(generated: GeneratedWords, references: References, size: np.ndarray) -> GroundingOutcomes:
    """The outcomes of each caption against each reference of its image; `size` [I, 4] is `pixel_size` of each image.

    Precision, for each generated object word and each reference: if the reference annotates the class, the overlap with
    its FIRST word of that class decides. Otherwise, if another word of the reference has the class as its lemma, the
    pair is skipped. Otherwise it is a miss, which F1_loc skips. Recall, for each annotated word: if the caption has a
    word of the class, the overlap of the FIRST one decides. Otherwise it is a miss, which F1_loc skips.
    """
    classes = 1 + max(
        array.max(initial=0) for array in (generated.word_class, references.word_class, references.other_class)
    )
    precision, predicted = _precision(generated, references, size, classes)
    owner = references.image[references.caption]  # [W]
    first = _first(generated.image * classes + generated.word_class, owner * classes + references.word_class)
    found = first >= 0
    hit = np.zeros(len(owner), dtype=np.bool_)
    hit[found] = (
        best_overlap(
            generated.box[first[found]], references.boxes[found], references.box_mask[found], size[owner[found]]
        )
        > THRESHOLD
    )
    return GroundingOutcomes(precision, predicted, Outcomes(owner, references.word_class, hit), found)


def _precision(
    generated: GeneratedWords, references: References, size: np.ndarray, classes: int
) -> tuple[Outcomes, np.ndarray]:
    order = np.argsort(references.image, kind="stable")
    left = np.searchsorted(references.image[order], generated.image, side="left")
    counts = np.searchsorted(references.image[order], generated.image, side="right") - left
    word = np.repeat(np.arange(len(generated.image)), counts)  # [X] pairs of a word and a reference
    step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    caption = order[left[word] + step]  # [X]
    key = caption * classes + generated.word_class[word]
    first = _first(references.caption * classes + references.word_class, key)
    annotated = first >= 0
    skipped = ~annotated & np.isin(key, references.other_caption * classes + references.other_class)
    hit = np.zeros(len(key), dtype=np.bool_)
    truth, own = first[annotated], word[annotated]
    hit[annotated] = (
        best_overlap(
            generated.box[own], references.boxes[truth], references.box_mask[truth], size[generated.image[own]]
        )
        > THRESHOLD
    )
    outcomes = Outcomes(generated.image[word], generated.word_class[word], hit)
    return outcomes.where(~skipped), annotated[~skipped]


def _first(keys: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The first index of each query in `keys`, -1 if it is not there."""
    if not len(keys):
        return np.full(len(queries), -1)
    unique, first = np.unique(keys, return_index=True)
    place = np.searchsorted(unique, queries).clip(max=len(unique) - 1)
    return np.where(unique[place] == queries, first[place], -1)


def class_rates(outcomes: Outcomes, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Share of hits [K] (0 for a class without rows) and number of rows [K] of each class."""
    counts = np.bincount(outcomes.word_class, minlength=classes).astype(np.float64)
    hits = np.bincount(outcomes.word_class, weights=outcomes.hit, minlength=classes)
    return hits / counts.clip(min=1), counts


def mean_over_classes(outcomes: Outcomes, judged: np.ndarray) -> float:
    """Mean rate over the classes `judged` [K] bool; a class without rows counts as 0."""
    rates, _ = class_rates(outcomes, len(judged))
    return float(rates[judged].sum() / max(int(judged.sum()), 1))


def harmonic_mean(precision: float, recall: float) -> float:
    """F1 of precision and recall."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def grounding_scores(outcomes: GroundingOutcomes, classes: int) -> dict[str, float]:
    """Precision, recall and F1, all and loc, in percent. F1 is the harmonic mean OF THE MEANS over classes."""
    judged = np.bincount(outcomes.recall.word_class, minlength=classes) > 0
    scores = {}
    for name, (precision, recall) in outcomes.modes.items():
        scores[f"precision_{name}"] = 100 * mean_over_classes(precision, judged)
        scores[f"recall_{name}"] = 100 * mean_over_classes(recall, judged)
        scores[f"f1_{name}"] = harmonic_mean(scores[f"precision_{name}"], scores[f"recall_{name}"])
    return scores


def attention_accuracy(outcomes: Outcomes, classes: int) -> dict[str, float]:
    """Attention accuracy on ground-truth captions, in percent: the mean over classes (the paper's), and over words."""
    judged = np.bincount(outcomes.word_class, minlength=classes) > 0
    return {
        "attention_accuracy": 100 * mean_over_classes(outcomes, judged),
        "attention_accuracy_words": 100 * float(outcomes.hit.mean()) if len(outcomes.hit) else 0.0,
    }


def hallucination(
    generated: GeneratedWords, captions: int, mentioned: np.ndarray, mentioned_by: np.ndarray
) -> dict[str, float]:
    """CHAIR (Rohrbach et al. 2018), in percent, with this class list: the share of generated object words, and of
    captions, that name a class which no reference of the image mentions.

    mentioned [X]: classes that the references of images `mentioned_by` [X] mention.
    """
    classes = 1 + max(generated.word_class.max(initial=0), mentioned.max(initial=0))
    key = generated.image * classes + generated.word_class
    invented = ~np.isin(key, mentioned_by * classes + mentioned)
    return {
        "chair_words": 100 * float(invented.mean()) if len(invented) else 0.0,
        "chair_captions": 100 * len(np.unique(generated.image[invented])) / max(captions, 1),
    }
