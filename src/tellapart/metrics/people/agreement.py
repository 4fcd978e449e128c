"""How well caption metrics agree with people: Kendall's tau of each metric with the Flickr8k judgements."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tellapart.metrics.captions.evaluate import evaluate
from tellapart.metrics.captions.registry import USUAL
from tellapart.metrics.people.flickr8k import FILES, read_judgements


def agreement(
    folder: str | Path, metrics: Sequence[str] = USUAL, meteor: Literal["python", "java"] = "python"
) -> dict[str, Any]:
    """For each kind of judgement: the number of pairs, and each metric's tau times 100."""
    result: dict[str, Any] = {}
    for kind in FILES:
        judged = read_judgements(Path(folder), kind)
        scores = evaluate(judged.candidates, judged.references, metrics, meteor, tokenized=True)
        result[kind] = {
            "pairs": len(judged.candidates),
            "tau": {name: 100 * judged.agreement(found.each) for name, found in scores.items()},
        }
    return result
