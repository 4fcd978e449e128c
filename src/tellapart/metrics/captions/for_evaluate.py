"""Caption metrics for users of Hugging Face's `evaluate`: the path of a module that `evaluate.load` opens."""

from pathlib import Path

NAME = "tellapart_captions"


def evaluate_module() -> str:
    """The folder of the module; `evaluate.load(evaluate_module()).compute(predictions=…, references=…)`.

    >>> Path(evaluate_module()).name
    'tellapart_captions'
    """
    return str(Path(__file__).resolve().parents[1] / NAME)
