"""Models of transformers as runs: whether a run is one, its precision, and compiling it."""

from __future__ import annotations

from torch import nn

from tellapart.core.errors import InputError
from tellapart.core.precision import weights_type
from tellapart.models.hub.reading import OwnReading
from tellapart.runs.run import OWN, Run

COMPILED = ("vision_model", "text_model", "text_decoder", "encoder", "decoder", "git")
"""Names of parts of models of transformers."""


def has_own_processor(run: Run) -> bool:
    """Whether a run's model sees images through its own processor."""
    vision = run.data.get("vision") or {}
    return isinstance(getattr(run.model, "reading", None), OwnReading) and vision.get("kind") == OWN


def prepared(run: Run, precision: str) -> None:
    """Set the precision of the weights of a model of transformers; other models keep theirs."""
    if has_own_processor(run):
        run.model.to(weights_type(precision))


def only_prepared(run: Run, precision: str) -> None:
    """The same where nothing else of a run has a precision: InputError for other models, unless it is `auto`."""
    if precision != "auto" and not has_own_processor(run):
        raise InputError("Here `precision` is for models of transformers (hf:FOLDER).")
    prepared(run, precision)


def compiled(run: Run) -> None:
    """Compile the parts of a model of transformers that do the work (torch.compile); InputError for other models."""
    if not has_own_processor(run):
        raise InputError("`compile` is for models of transformers (hf:FOLDER).")
    compile_parts(run.model)


def compile_parts(model: nn.Module) -> None:
    """The same for a model, where it is one of transformers."""
    inside = getattr(model, "model", None)
    if not isinstance(getattr(model, "reading", None), OwnReading) or not isinstance(inside, nn.Module):
        return
    for name, part in inside.named_children():
        if name in COMPILED:
            part.compile()
