"""Objectives: models and a loss -> {"loss": ..., values to log}.

Matchers: `ranking.py`, `latent_target.py` (LTD), `input_target.py` (ITD). Captioners: `likelihood.py`,
`reference_contrast.py` (CL), `introspection.py` (IL), `adversarial.py` (GAN), `distillation.py` (POS-SCAN),
`self_critical.py` (SCST). Without paired captions: `concepts_to_sentence.py`, `visual_alignment.py` (R2M),
`concept_gan.py` and `pseudo_captions.py` (UC-GAN).
"""

from typing import Any

from tellapart.objectives.adversarial import Adversarial
from tellapart.objectives.concept_gan import ConceptGan
from tellapart.objectives.concepts_to_sentence import ConceptsToSentence
from tellapart.objectives.distillation import Distillation
from tellapart.objectives.input_target import InputTarget
from tellapart.objectives.introspection import Introspection
from tellapart.objectives.latent_target import LatentTarget
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.pseudo_captions import PseudoCaptions
from tellapart.objectives.ranking import Ranking
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.objectives.self_critical import SelfCritical
from tellapart.objectives.visual_alignment import VisualAlignment

OBJECTIVES: dict[str, Any] = {
    "adversarial": Adversarial,
    "introspection": Introspection,
    "reference-contrast": ReferenceContrastLearning,
    "self-critical": SelfCritical,
    "distillation": Distillation,
    "input-target": InputTarget,
    "latent-target": LatentTarget,
    "likelihood": Likelihood,
    "ranking": Ranking,
    "concept-gan": ConceptGan,
    "concepts-to-sentence": ConceptsToSentence,
    "pseudo-captions": PseudoCaptions,
    "visual-alignment": VisualAlignment,
}
