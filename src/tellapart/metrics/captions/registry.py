"""The caption metrics by name: a new metric is one function and one line in `METRICS`."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tellapart.metrics.captions import spice as spice_jar
from tellapart.metrics.captions.chair import chair_i, chair_s
from tellapart.metrics.captions.cider_between import cider_between
from tellapart.metrics.captions.meteor import tables as meteor_tables
from tellapart.metrics.captions.meteor.score import meteor, meteor_java
from tellapart.metrics.captions.rouge import rouge_l
from tellapart.metrics.captions.tokenised import TokenisedCaptions
from tellapart.metrics.captions.values import Score

METEORS: dict[str, Callable[[Sequence[str], Sequence[Sequence[str]]], Score]] = {
    "python": meteor,
    "java": meteor_java,
}


class CaptionMetric(NamedTuple):
    """How a metric is computed, and when."""

    compute: Callable[[TokenisedCaptions], Score]
    usual: bool = True
    """Computed when no metrics are named."""
    check: Callable[[], object] | None = None
    """Raises an `InputError` where the metric cannot be computed. A metric with a check that passes is usual, too."""


METRICS: dict[str, CaptionMetric] = {
    "BLEU-1": CaptionMetric(lambda captions: captions.bleu[0]),
    "BLEU-2": CaptionMetric(lambda captions: captions.bleu[1]),
    "BLEU-3": CaptionMetric(lambda captions: captions.bleu[2]),
    "BLEU-4": CaptionMetric(lambda captions: captions.bleu[3]),
    "METEOR": CaptionMetric(
        lambda captions: METEORS[captions.meteor](captions.candidates, captions.references),
        check=lambda: meteor_tables.release(),
    ),
    "ROUGE-L": CaptionMetric(lambda captions: rouge_l(captions.candidates, captions.references)),
    "CIDEr": CaptionMetric(lambda captions: captions.cider_d),  # the COCO caption script's name for CIDEr-D
    "CIDEr-D": CaptionMetric(lambda captions: captions.cider_d, usual=False),
    "SPICE": CaptionMetric(
        lambda captions: spice_jar.spice(captions.candidates, captions.references),
        usual=False,
        check=lambda: spice_jar.locate(),
    ),
    "CIDErBtw": CaptionMetric(
        lambda captions: cider_between(
            captions.candidates, captions.references, captions.look_alikes, captions.frequencies
        ),
        usual=False,
    ),
    "CHAIR-i": CaptionMetric(lambda captions: chair_i(captions.candidates, captions.references), usual=False),
    "CHAIR-s": CaptionMetric(lambda captions: chair_s(captions.candidates, captions.references), usual=False),
}
USUAL = tuple(name for name, metric in METRICS.items() if metric.usual)
