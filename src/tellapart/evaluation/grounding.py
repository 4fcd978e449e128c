"""Whether a model attends to the objects that its words name: attention accuracy, F1_all and F1_loc.

Captioners are evaluated twice: reading true captions (attention accuracy and the loss), and generating greedy captions
(F1, hallucination and CIDEr-D). Matchers read true captions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.data.object_words import ObjectWords, open_objects
from tellapart.data.own_text import pack_of_words
from tellapart.data.sampling import split_rows
from tellapart.evaluation.captions import score_tokens
from tellapart.evaluation.grounding_captions import ground_captions
from tellapart.evaluation.grounding_maps import check_maps, read_by_maps
from tellapart.evaluation.grounding_reading import read_captions
from tellapart.evaluation.region_bounds import region_bounds
from tellapart.metrics.grounding.attention import GroundingOutcomes, Outcomes, attention_accuracy, class_rates
from tellapart.metrics.grounding.bootstrap import accuracy_samples, draws, interval, score_samples
from tellapart.models.captioners.pretrained import PretrainedCaptionerModel
from tellapart.models.matchers.detected_attention import ALL
from tellapart.models.matchers.word_attention import AttendingMatcher
from tellapart.objectives.context import Context


@dataclass(frozen=True)
class Grounding:
    """The grounding of a model on a split; `captions` and `tokens` are None for a matcher."""

    classes: tuple[str, ...]
    image_rows: np.ndarray  # [I] rows of the pack, rising: those evaluated
    attention: Outcomes
    captions: GroundingOutcomes | None
    values: dict[str, float]
    tokens: Tensor | None = None  # [I, T] the greedy captions
    said: np.ndarray | None = None  # [P] classes of the object words that they mention


def evaluate_grounding(model: nn.Module, context: Context, split: str) -> dict[str, float]:
    """Attention accuracy in percent; for a captioner also loss, CIDEr-D, F1_all, F1_loc and hallucination rates; for a
    matcher also its accuracy among `DetectedAttention` regions, where a detector found some."""
    return ground(model, context, split).values


def evaluate_grounding_fully(model: nn.Module, context: Context, split: str) -> dict[str, float]:
    """`evaluate_grounding` with 95% intervals over images, what regions allow, and the greedy captions' scores."""
    return _full_values(ground(model, context, split), context, split)


def ground_with_classes(
    model: nn.Module, context: Context, split: str
) -> tuple[dict[str, float], list[dict[str, float | str]]]:
    """`evaluate_grounding_fully` and `class_table`, computed once."""
    found = ground(model, context, split)
    return _full_values(found, context, split), class_table(found, context)


def _full_values(found: Grounding, context: Context, split: str) -> dict[str, float]:
    metrics = dict(found.values)
    if found.tokens is not None:
        metrics["token_cider"] = metrics.pop("cider")
        metrics |= score_tokens(context, found.image_rows, found.tokens)
    samples = drawn_values(found, draws(len(found.image_rows)))
    for name, values in samples.items():
        metrics[f"{name}_low"], metrics[f"{name}_high"] = interval(values)
    return metrics | (region_bounds(context.pack, context.store, split) if context.store is not None else {})


def drawn_values(found: Grounding, drawn: np.ndarray) -> dict[str, np.ndarray]:
    """Attention accuracy and both F1s [S] on bootstrapped images; drawn [S, I] counts how often each image is drawn."""
    classes = len(found.classes)
    samples = {"attention_accuracy": accuracy_samples(found.attention, found.image_rows, classes, drawn)}
    if found.captions is not None:
        samples |= score_samples(found.captions, found.image_rows, classes, drawn)
    return samples


def check_grounding(
    model: nn.Module, context: Context, split: str
) -> tuple[Captioner | AttendingMatcher, ObjectWords, np.ndarray]:
    """The model, the object words and the captions [C] to evaluate; raises if the model or the pack does not suit."""
    objects = open_objects(pack_of_words(context.pack))
    if not isinstance(model, Captioner | AttendingMatcher):
        raise InputError(f"{type(model).__name__} has no attention per word, so its grounding cannot be evaluated.")
    if isinstance(model, PretrainedCaptionerModel):
        check_maps(model)
    elif context.store is None or context.store.boxes is None:
        raise InputError("Grounding needs features with boxes; train and evaluate on grid or regions.")
    rows = split_rows(context.pack, split)
    captions = rows.captions[objects.annotated[rows.captions] & (context.pack.owner[rows.captions] >= 0)]
    if not len(captions):
        raise InputError(f"No caption of the split '{split}' of {context.pack.folder} has annotated phrases.")
    return model, objects, captions


def ground(model: nn.Module, context: Context, split: str) -> Grounding:
    """The grounding of a captioner or a matcher on the annotated images of a split."""
    checked, objects, captions = check_grounding(model, context, split)
    image_rows = np.unique(context.pack.owner[captions])
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            attention, metrics = _reading(checked, context, objects, captions)
            found = None
            if not isinstance(checked, AttendingMatcher):
                found = ground_captions(checked, context, objects, image_rows, captions)
                metrics |= found.metrics
    finally:
        model.train(was_training)
    if found is None:
        return Grounding(objects.classes, image_rows, attention, None, metrics)
    return Grounding(
        objects.classes, image_rows, attention, found.outcomes, metrics, tokens=found.tokens, said=found.said
    )


def _reading(
    model: Captioner | AttendingMatcher, context: Context, objects: ObjectWords, captions: np.ndarray
) -> tuple[Outcomes, dict[str, float]]:
    """Where words of true captions attend, and the metrics of it. Maps of patches also have a pointing accuracy."""
    classes = len(objects.classes)
    if not isinstance(model, PretrainedCaptionerModel):
        attention, losses = read_captions(model, context, objects, captions)
        return attention[ALL], _accuracies(attention, classes) | losses
    found = read_by_maps(model, context, objects, captions)
    pointing = attention_accuracy(found.points, classes)
    named = {name.replace("attention", "pointing"): value for name, value in pointing.items()}
    return found.boxes, attention_accuracy(found.boxes, classes) | named | {"loss": found.loss}


def _accuracies(attention: dict[str, Outcomes], classes: int) -> dict[str, float]:
    """Accuracy among all regions, and among trusted ones with the suffix `_detected` or `_sure`."""
    return {
        name if among == ALL else f"{name}_{among}": value
        for among, outcomes in attention.items()
        for name, value in attention_accuracy(outcomes, classes).items()
    }


def class_table(found: Grounding, context: Context) -> list[dict[str, float | str]]:
    """One row per class that the split annotates, the most frequent first: how often it is annotated and generated, and
    its accuracy, precision and recall in percent, of which F1_all and F1_loc are means."""
    classes = len(found.classes)
    rates: dict[str, np.ndarray] = {}
    rates["attention_accuracy"], words = class_rates(found.attention, classes)
    counts = {"words": words}
    if found.captions is not None and found.said is not None:
        counts["said"] = np.bincount(found.said, minlength=classes)
        for name, (precision, recall) in found.captions.modes.items():
            rates[f"precision_{name}"], rates[f"recall_{name}"] = (
                class_rates(outcomes, classes)[0] for outcomes in (precision, recall)
            )
    rows: list[dict[str, float | str]] = []
    for k in (int(k) for k in np.argsort(-words, kind="stable") if words[k] > 0):
        rows.append({"class": found.classes[k]})
        rows[-1].update({name: int(values[k]) for name, values in counts.items()})
        rows[-1].update({name: 100 * float(values[k]) for name, values in rates.items()})
    return rows
