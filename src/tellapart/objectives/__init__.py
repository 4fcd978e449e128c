"""Objectives: model(s) and a loss. One line an entry."""

from typing import Any

from tellapart.objectives.likelihood import Likelihood
from tellapart.objectives.ranking import Ranking

OBJECTIVES: dict[str, Any] = {
    "likelihood": Likelihood,
    "ranking": Ranking,
}
