"""Objectives: model(s) and a loss. One line an entry."""

from typing import Any

from tellapart.objectives.adversarial import Adversarial
from tellapart.objectives.concept_gan import ConceptGan
from tellapart.objectives.distillation import Distillation
from tellapart.objectives.input_target import InputTarget
from tellapart.objectives.introspection import Introspection
from tellapart.objectives.latent_target import LatentTarget
from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking
from tellapart.objectives.reference_contrast import ReferenceContrastLearning
from tellapart.objectives.self_critical import SelfCritical
from tellapart.objectives.unsupervised import ConceptsToSentence, VisualAlignment

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
    "visual-alignment": VisualAlignment,
}
