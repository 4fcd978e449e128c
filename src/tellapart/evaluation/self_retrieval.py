"""Self-retrieval (paper 1, section 4.1): does a caption find the picture it was written for among all others?

Every caption is scored with every picture by the captioner itself, ln p(c | I_j): a thousand captions and pictures are
a million sentences. Three things make that quick: the tree of prefixes (decoding/prefixes.py), so that words captions
share are read once a picture; a picture's side computed once; and the words' share of a step computed once for all
pictures where the captioner can (`advance`).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.captioning.fast_path import SharedCaptioner, as_captioner, select
from tellapart.decoding.prefixes import Level, Prefixes, prefix_tree
from tellapart.evaluation.captions import decode
from tellapart.objectives.context import Context
from tellapart.protocols import Captioner
from tellapart.text.vocabulary import START
from tellapart.types import Images, State

RANKS = (1, 5, 50, 500)
SENTENCES_AT_ONCE = 2000
ROWS_AT_ONCE = 4096
BYTES_AT_ONCE = 128 * 2**20


@torch.no_grad()
def self_retrieval(model: nn.Module, context: Context, split: str, width: int = 3) -> dict[str, float]:
    """Top-1, 5, 50 and 500 recall in percent: one beam-search caption a picture, each against all pictures."""
    captioner, was_training = as_captioner(model), model.training
    model.eval()
    pictures = context.pack.split(split).pictures
    tokens = decode(captioner, context, pictures, width).tokens
    scores = score_captions(captioner, context, pictures, tokens, quickest_sum(context.device))  # [C, I]
    model.train(was_training)
    return top_recalls(scores)


def top_recalls(scores: Tensor) -> dict[str, float]:
    """From scores [C, I] whose diagonal holds each caption with its own picture.

    Pictures with the same score as a caption's own stand before it: a model that ignores the picture gets nothing.
    """
    own = scores.diagonal().unsqueeze(1)
    before = (scores >= own).sum(1) - 1  # [C]
    return {f"top{rank}": 100.0 * float((before < rank).float().mean()) for rank in RANKS if rank <= scores.shape[1]}


def score_captions(
    model: Captioner,
    context: Context,
    pictures: np.ndarray,
    tokens: Tensor,
    normaliser: torch.dtype = torch.float32,
) -> Tensor:
    """ln p of every caption (words, END, PAD) [C, T] given every one of these pictures of the pack: [C, I]."""
    unique, row = torch.unique(tokens, dim=0, return_inverse=True)  # sorted, so that neighbours share beginnings
    trees = [prefix_tree(part) for part in unique.split(SENTENCES_AT_ONCE)]
    columns = []
    for first in range(0, len(pictures), 64):
        images = context.batches.images(pictures[first : first + 64])
        columns.append(torch.cat([score_tree(model, images, tree, normaliser) for tree in trees]))  # [U, 64]
    return torch.cat(columns, 1)[row]


@torch.no_grad()
def score_tree(model: Captioner, images: Images, tree: Prefixes, normaliser: torch.dtype = torch.float32) -> Tensor:
    """ln p of the tree's sentences given each of some pictures [C, I].

    normaliser: precision of the sum over all words. bfloat16 is twice to four times as fast on recent processors and
    moves a sentence by about a hundredth of a nat; the sentence's own words are always computed in full.
    """
    state = model.start(images)
    size = sum(value[0].numel() * value.element_size() for value in state.values())
    widest = max(len(level.word) for level in tree.levels)
    together = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // size) // widest)
    parts = []
    for first in range(0, len(images), together):
        some = {name: value[first : first + together] for name, value in state.items()}
        parts.append(_walk(model, some, tree, normaliser))
    return torch.cat(parts)[:, tree.leaf].T  # [C, I]


def _walk(model: Captioner, state: State, tree: Prefixes, normaliser: torch.dtype) -> Tensor:
    """ln p of every prefix of the tree for P pictures [P, prefixes of all levels]."""
    hypotheses = next(iter(state.values()))
    pictures, device = len(hypotheses), hypotheses.device
    first = torch.arange(pictures, device=device).unsqueeze(1)  # [P, 1]
    words = torch.full((1,), START, device=device)
    total = torch.zeros(pictures, 1, device=device)  # of the prefixes about to be read
    found = []
    for level in tree.levels:
        if isinstance(model, SharedCaptioner):
            said, state = _words_shared(model, words, state, level, normaliser)  # [P, n]
        else:
            said, state = _words_plain(model, words, state, level)
        total = total[:, level.parent] + said
        found.append(total)
        state = select(state, (first * len(words) + level.parent[level.kept]).flatten())
        total, words = total[:, level.kept], level.word[level.kept]
    return torch.cat(found, 1)


def _words_plain(model: Captioner, words: Tensor, state: State, level: Level) -> tuple[Tensor, State]:
    """ln p [P, n] of a level's words, each after its parent, by `step` alone."""
    pictures = len(next(iter(state.values()))) // len(words)
    step = model.step(words.repeat(pictures), state)
    own = functional.log_softmax(step.logits.float(), -1).view(pictures, len(words), -1)
    return own[:, level.parent, level.word], step.state


def _words_shared(
    model: SharedCaptioner, words: Tensor, state: State, level: Level, normaliser: torch.dtype
) -> tuple[Tensor, State]:
    """The same, with one hearing of each word for all pictures and the sum over all words in its own precision."""
    pictures = len(next(iter(state.values()))) // len(words)
    heard = model.advance(words, state)
    weight, bias = model.words.output()
    hidden = model.words.bridge(heard.hidden)  # [P * m, E]
    norm = _log_sum(hidden, weight.to(normaliser), bias.to(normaliser)).view(pictures, -1)  # [P, m]
    hidden = hidden.view(pictures, len(words), -1)[:, level.parent]  # [P, n, E]
    said = torch.einsum("pne,ne->pn", hidden, weight[level.word]) + bias[level.word]
    return said - norm[:, level.parent], heard.state


def _log_sum(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """ln of the sum of exp over all words [N], in blocks of rows small enough to stay in a processor's cache."""
    sums = []
    for block in hidden.split(512):
        logits = functional.linear(block.to(weight.dtype), weight, bias).float()  # [512, V]
        most = logits.amax(1, keepdim=True)
        sums.append(logits.sub_(most).exp_().sum(1).log_().add_(most.squeeze(1)))
    return torch.cat(sums)


def quickest_sum(device: torch.device) -> torch.dtype:
    """bfloat16 where a processor has instructions for it, float32 elsewhere."""
    native = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)  # a private name, so it may go away
    return torch.bfloat16 if device.type == "cpu" and native() else torch.float32
