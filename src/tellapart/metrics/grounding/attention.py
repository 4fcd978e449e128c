"""Do words look where they should? Attention accuracy, F1_all and F1_loc (grounded captioning paper, section 4.1).

The definitions are those of the published scorer (Zhou et al. 2019, appendix). Every judgement is one `Outcomes` row:
in which image, of which object class, hit or missed. A class's rate is the mean of its rows, and a score is the mean
over the classes that the split's references annotate, so that rare classes weigh as much as frequent ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.metrics.grounding.boxes import best_overlap

THRESHOLD = 0.5
"""A region is right when its overlap is over this; exactly this is not enough."""


@dataclass(frozen=True)
class Outcomes:
    """Judgements, one a row."""

    image: np.ndarray  # [M]
    word_class: np.ndarray  # [M]
    hit: np.ndarray  # [M] bool, or how likely it is

    def where(self, kept: np.ndarray) -> Outcomes:
        return Outcomes(self.image[kept], self.word_class[kept], self.hit[kept])


@dataclass(frozen=True)
class References:
    """Annotated words of N reference sentences, in the order they are said; sentence n is about `image[n]`."""

    image: np.ndarray  # [N]
    sentence: np.ndarray  # [W] which sentence each annotated word stands in, rising
    word_class: np.ndarray  # [W]
    boxes: np.ndarray  # [W, K, 4] fractions
    box_mask: np.ndarray  # [W, K]
    other_sentence: np.ndarray  # [O] words that are not annotated but whose lemma is a class: the sentence,
    other_class: np.ndarray  # [O] and the class


@dataclass(frozen=True)
class GeneratedWords:
    """Object words of generated captions, one caption an image, in the order they are said."""

    image: np.ndarray  # [P] rising
    word_class: np.ndarray  # [P]
    box: np.ndarray  # [P, 4] the region looked at most, in fractions


@dataclass(frozen=True)
class GroundingOutcomes:
    """`precision` and `recall` of all object words; `*_predicted` marks the rows that F1_loc keeps."""

    precision: Outcomes
    precision_predicted: np.ndarray
    recall: Outcomes
    recall_predicted: np.ndarray

    @property
    def modes(self) -> dict[str, tuple[Outcomes, Outcomes]]:
        """Precision and recall of F1_all and of F1_loc."""
        located = self.precision.where(self.precision_predicted), self.recall.where(self.recall_predicted)
        return {"all": (self.precision, self.recall), "loc": located}


def judge_captions(spoken: GeneratedWords, references: References, size: np.ndarray) -> GroundingOutcomes:
    """Compare each caption with each reference of its image. `size` [I, 4] is `pixel_size` of each image.

    Precision, for each object word said and each reference: where the reference annotates the class, the overlap with
    its FIRST word of that class decides; else, where the class's lemma is among the reference's other words, the pair
    is passed over; else it is a miss, which F1_loc passes over. Recall, for each annotated word: where the caption says
    the class, the overlap of the FIRST such word decides; else it is a miss, which F1_loc passes over.
    """
    classes = 1 + max(
        array.max(initial=0) for array in (spoken.word_class, references.word_class, references.other_class)
    )
    precision, predicted = _precision(spoken, references, size, classes)
    whose = references.image[references.sentence]  # [W]
    first = _first(spoken.image * classes + spoken.word_class, whose * classes + references.word_class)
    found = first >= 0
    hit = np.zeros(len(whose), dtype=np.bool_)
    hit[found] = (
        best_overlap(spoken.box[first[found]], references.boxes[found], references.box_mask[found], size[whose[found]])
        > THRESHOLD
    )
    return GroundingOutcomes(precision, predicted, Outcomes(whose, references.word_class, hit), found)


def _precision(
    spoken: GeneratedWords, references: References, size: np.ndarray, classes: int
) -> tuple[Outcomes, np.ndarray]:
    order = np.argsort(references.image, kind="stable")
    left = np.searchsorted(references.image[order], spoken.image, side="left")
    counts = np.searchsorted(references.image[order], spoken.image, side="right") - left
    word = np.repeat(np.arange(len(spoken.image)), counts)  # [X] pairs of a word and a reference
    step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    sentence = order[left[word] + step]  # [X]
    key = sentence * classes + spoken.word_class[word]
    first = _first(references.sentence * classes + references.word_class, key)
    annotated = first >= 0
    passed = ~annotated & np.isin(key, references.other_sentence * classes + references.other_class)
    hit = np.zeros(len(key), dtype=np.bool_)
    truth, said = first[annotated], word[annotated]
    hit[annotated] = (
        best_overlap(spoken.box[said], references.boxes[truth], references.box_mask[truth], size[spoken.image[said]])
        > THRESHOLD
    )
    outcomes = Outcomes(spoken.image[word], spoken.word_class[word], hit)
    return outcomes.where(~passed), annotated[~passed]


def _first(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted key first stands in `keys`, -1 where it does not."""
    if not len(keys):
        return np.full(len(wanted), -1)
    unique, first = np.unique(keys, return_index=True)
    place = np.searchsorted(unique, wanted).clip(max=len(unique) - 1)
    return np.where(unique[place] == wanted, first[place], -1)


def class_rates(outcomes: Outcomes, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Share of hits [K] (0 for a class never judged) and number of judgements [K] of each class."""
    counts = np.bincount(outcomes.word_class, minlength=classes).astype(np.float64)
    hits = np.bincount(outcomes.word_class, weights=outcomes.hit, minlength=classes)
    return hits / counts.clip(min=1), counts


def mean_over_classes(outcomes: Outcomes, judged: np.ndarray) -> float:
    """Mean rate over the classes `judged` [K] bool; a judged class with no outcome counts as 0."""
    rates, _ = class_rates(outcomes, len(judged))
    return float(rates[judged].sum() / max(int(judged.sum()), 1))


def harmonic_mean(precision: float, recall: float) -> float:
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
    """On ground-truth sentences, in percent: the mean over classes (the paper's), and over words."""
    judged = np.bincount(outcomes.word_class, minlength=classes) > 0
    return {
        "attention_accuracy": 100 * mean_over_classes(outcomes, judged),
        "attention_accuracy_words": 100 * float(outcomes.hit.mean()) if len(outcomes.hit) else 0.0,
    }


def hallucination(
    spoken: GeneratedWords, captions: int, mentioned: np.ndarray, mentioned_by: np.ndarray
) -> dict[str, float]:
    """CHAIR's rates (Rohrbach et al. 2018), in percent, with this class list: the share of object words said, and of
    captions, that name a class no reference of the image mentions, in any word.

    mentioned [X]: classes mentioned by the references of images `mentioned_by` [X].
    """
    classes = 1 + max(spoken.word_class.max(initial=0), mentioned.max(initial=0))
    key = spoken.image * classes + spoken.word_class
    invented = ~np.isin(key, mentioned_by * classes + mentioned)
    return {
        "chair_words": 100 * float(invented.mean()) if len(invented) else 0.0,
        "chair_captions": 100 * len(np.unique(spoken.image[invented])) / max(captions, 1),
    }
