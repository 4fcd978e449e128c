"""Diverse beam search (Vijayakumar et al. 2018): groups of beams, each penalised for the words of earlier groups."""

from __future__ import annotations

import torch

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images
from tellapart.models.decoding.beam import BeamSearch
from tellapart.models.decoding.constraints import Constraints
from tellapart.models.decoding.decoded import Decoded
from tellapart.models.decoding.sampling import UNCONSTRAINED


@torch.no_grad()
def diverse_beams(
    captioner: Captioner,
    images: Images,
    width: int = 6,
    groups: int = 3,
    diversity: float = 0.5,
    length_power: float = 0.0,
    max_words: int = 20,
    constraints: Constraints = UNCONSTRAINED,
) -> Decoded:
    """`width` captions per image, group by group, the best of a group first: row i * width + j is image i's j-th.

    diversity: nats subtracted from a word for each beam of an earlier group that has it at the same step. The
    returned log-probabilities are the model's, without the penalty.
    """
    if groups < 1 or width % groups:
        raise InputError(f"`groups` must divide `width`, but {groups} does not divide {width}.")
    state = captioner.start(images)
    each = width // groups
    searches = [BeamSearch(captioner, state, each, length_power, constraints, keep_all=True) for _ in range(groups)]
    for time in range(max_words + 1):
        counts: torch.Tensor | None = None  # [I, V] how often earlier groups chose each word at this step
        for search in searches:
            search.step(time == max_words, None if counts is None else diversity * counts)
            counts = search.last_word_counts() if counts is None else counts + search.last_word_counts()
        if all(bool(search.done().all()) for search in searches):
            break
    parts = [search.result(len(images), max_words + 1) for search in searches]
    longest = max(part.tokens.shape[1] for part in parts)
    return _interleaved([_padded(part, longest) for part in parts], len(images))


def _padded(part: Decoded, longest: int) -> Decoded:
    missing = longest - part.tokens.shape[1]
    tokens = torch.nn.functional.pad(part.tokens, (0, missing))
    attention = None if part.attention is None else torch.nn.functional.pad(part.attention, (0, 0, 0, missing))
    return Decoded(tokens, part.log_probability, attention)


def _interleaved(parts: list[Decoded], images: int) -> Decoded:
    """The captions of all groups, image-major."""

    def join(tensors: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat([tensor.view(images, -1, *tensor.shape[1:]) for tensor in tensors], 1).flatten(0, 1)

    attention = [part.attention for part in parts if part.attention is not None]
    return Decoded(
        join([part.tokens for part in parts]),
        join([part.log_probability for part in parts]),
        join(attention) if attention else None,
    )
