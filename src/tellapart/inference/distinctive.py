"""The caption that tells its image apart from the images around it.

Beam search proposes likely sentences; each is then asked how well it finds its own image among the neighbours:

    ln p(I | c) = ln [p(c|I) / sum over J in {I} and neighbours of p(c|J)]       by the captioner itself, or
                = ln softmax over the same images of score(J, c) / temperature  by a matcher

and the sentence with the best (1 - weight) ln p(c|I) + weight ln p(I|c) is told. No paper has this; it is
Bayes' rule with every image as likely as any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner, Matcher
from tellapart.core.types import Images, Texts
from tellapart.models.decoding import Constraints, Decoded, beams, log_prob, with_start
from tellapart.models.decoding.sampling import UNCONSTRAINED
from tellapart.text.vocabulary import PAD


@dataclass(frozen=True)
class Told:
    """The chosen sentences and what decided: both logarithms, for the chosen and for all that were proposed."""

    decoded: Decoded  # [I] rows
    likely: Tensor  # [I] ln p(c|I) of the chosen
    distinctive: Tensor  # [I] ln p(I|c) of the chosen
    proposed: Decoded  # [I * width] rows, image by image, likeliest first
    proposed_distinctive: Tensor  # [I, width]
    chosen: Tensor  # [I] which of the proposed


@torch.no_grad()
def tell_apart(
    captioner: Captioner,
    images: Images,
    among: Images,
    neighbours: Tensor,
    weight: float = 0.5,
    width: int = 10,
    matcher: Matcher | None = None,
    temperature: float = 0.05,
    max_words: int = 20,
    constraints: Constraints = UNCONSTRAINED,
) -> Told:
    """One sentence an image that is likely and finds its image among `among.select(neighbours[i])`.

    neighbours: [I, M] rows of `among`; the image itself must not be among them (`nearest` sees to that).
    weight: 0 tells what is likeliest, 1 what is most distinctive.
    matcher: judges in the captioner's stead; it must share the captioner's vocabulary and features.
    """
    if not 0 <= weight <= 1:
        raise InputError(f"The weight between likely and distinctive lies in [0, 1], not {weight}.")
    if neighbours.shape[1] == 0:
        raise InputError("To tell an image apart takes at least one other image; give a folder with more.")
    proposed = beams(captioner, images, width, max_words=max_words, constraints=constraints)
    likely = proposed.log_probability.view(len(images), width)
    tokens = with_start(proposed.tokens)  # [I * width, T]
    if matcher is None:
        others = _captioner_scores(captioner, among, neighbours, tokens, width)
        own = likely
    else:
        own, others = _matcher_scores(matcher, images, among, neighbours, tokens, width)
        own, others = own / temperature, others / temperature
    found = functional.log_softmax(torch.cat([own.unsqueeze(2), others], 2), 2)[:, :, 0]  # [I, width] ln p(I|c)
    # A place of the beam that held no sentence is never told: 0 times minus infinity would be no number.
    value = ((1 - weight) * likely + weight * found).masked_fill(torch.isinf(likely), -torch.inf)
    chosen = value.argmax(1)
    row = torch.arange(len(images), device=chosen.device)
    return Told(proposed.select(row * width + chosen), likely[row, chosen], found[row, chosen], proposed, found, chosen)


def nearest(images: Images, among: Images, count: int, same_within: float = 1e-6) -> Tensor:
    """The `count` rows of `among` most like each image [I, count] by cosine of pooled features, itself left out.

    An image of `among` whose pooled features, at length one, lie within `same_within` is the image itself.
    """
    ours = functional.normalize(images.pooled(), dim=1)
    theirs = functional.normalize(among.pooled(), dim=1)
    alike = ours @ theirs.T  # [I, A]
    same = torch.cdist(ours, theirs, compute_mode="donot_use_mm_for_euclid_dist") < same_within
    order = alike.masked_fill(same, -torch.inf).sort(dim=1, descending=True)
    room = int((~same).sum(1).min())
    return order.indices[:, : min(count, room)]


def _captioner_scores(captioner: Captioner, among: Images, neighbours: Tensor, tokens: Tensor, width: int) -> Tensor:
    """ln p(c|J) [I, width, M] of each image's sentences given each of its neighbours, one neighbour at a time."""
    own = torch.arange(len(neighbours), device=tokens.device).repeat_interleave(width)  # whose sentence
    columns = []
    for place in range(neighbours.shape[1]):
        images = among.select(neighbours[:, place])
        columns.append(log_prob(captioner, images, tokens, own).view(-1, width))
    return torch.stack(columns, 2)


def _matcher_scores(
    matcher: Matcher, images: Images, among: Images, neighbours: Tensor, tokens: Tensor, width: int
) -> tuple[Tensor, Tensor]:
    """A matcher's scores of each image's sentences with the image [I, width] and its neighbours [I, width, M]."""
    texts = matcher.encode_text(Texts(tokens, (tokens != PAD).sum(1)))
    rows = torch.arange(len(tokens), device=tokens.device)
    owner = rows // width
    own = matcher.score(matcher.encode_image(images), texts)[owner, rows]  # [I * width]
    all_scores = matcher.score(matcher.encode_image(among), texts)  # [A, I * width]
    others = all_scores[neighbours[owner], rows.unsqueeze(1)]  # [I * width, M]
    return own.view(-1, width), others.view(-1, width, neighbours.shape[1])
