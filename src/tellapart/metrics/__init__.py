"""Figures of retrieval, captions, grounding and diversity: pure functions of scores, captions and boxes.

`tellapart.metrics.evaluate(candidates, references)` gives every caption metric at once; the rest is imported from the
module that names it (`metrics.recall`, `metrics.cider`, `metrics.token_reward`, ...).
"""

from tellapart.metrics.captions.scores import evaluate

__all__ = ["evaluate"]
