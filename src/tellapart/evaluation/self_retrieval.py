"""Self-retrieval (CL paper, section 4.1): whether a caption finds the image it was generated for among all others.

The captioner scores every caption with every image, ln p(c | I_j): a million pairs for a thousand captions and images.
Three things make that quick. A tree of prefixes (`models.decoding.prefixes`) reads words that captions share once per
image. The image's part of the state is computed once. Where the captioner can (`advance`), the words' part of a step is
computed once for all images.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.core.protocols import Captioner
from tellapart.core.types import Images, State
from tellapart.evaluation.captions import decode
from tellapart.metrics.retrieval.self_retrieval import self_retrieval as recalls
from tellapart.models.captioners.teacher_forcing import WordSharingCaptioner, as_captioner, per_distinct_word
from tellapart.models.decoding.prefixes import Level, Prefixes, prefix_tree
from tellapart.objectives.context import Context
from tellapart.text.vocabulary import START

RANKS = (1, 5, 50, 500)
SENTENCES_AT_ONCE = 2000


@dataclass(frozen=True)
class Portions:
    """How much is computed at once."""

    image_rows: int
    rows: int
    """Pairs of a prefix and an image in one step."""
    summed: int
    """Pairs in one sum over all words."""
    state: int
    """Bytes of a captioner's state."""


ON_A_PROCESSOR = Portions(64, 1024, 256, 16 * 2**20)
"""Small enough for a step to stay in the cache."""
ON_A_GPU = Portions(256, 2**14, 2**13, 2**30)
"""Large enough to keep the GPU busy."""


def portions(device: torch.device) -> Portions:
    """How much to compute at once on a device."""
    return ON_A_PROCESSOR if device.type == "cpu" else ON_A_GPU


@torch.no_grad()
def self_retrieval(model: nn.Module, context: Context, split: str, width: int = 3) -> dict[str, float]:
    """Top-1, 5, 50 and 500 recall in percent: one beam-search caption per image, each against all images."""
    captioner, was_training = as_captioner(model), model.training
    model.eval()
    image_rows = context.pack.split(split).images
    tokens = decode(captioner, context, image_rows, width).tokens
    scores = score_captions(captioner, context, image_rows, tokens, quickest_sum(context.device))  # [C, I]
    model.train(was_training)
    return top_recalls(scores)


def top_recalls(scores: Tensor) -> dict[str, float]:
    """From scores [C, I] whose diagonal holds each caption with its own image.

    Images with the same score as a caption's own rank before it: a model that ignores the image scores zero.
    """
    return recalls(scores, cutoffs=tuple(rank for rank in RANKS if rank <= scores.shape[1]))


def score_captions(
    model: Captioner,
    context: Context,
    image_rows: np.ndarray,
    tokens: Tensor,
    normaliser: torch.dtype = torch.float32,
) -> Tensor:
    """ln p of every caption (words, END, PAD) [C, T] given every one of these images of the pack: [C, I]."""
    unique, row = torch.unique(tokens, dim=0, return_inverse=True)  # sorted, so that neighbours share prefixes
    trees = [prefix_tree(part) for part in unique.split(SENTENCES_AT_ONCE)]
    columns = []
    each = context.at_once(portions(context.device).image_rows)
    for first in range(0, len(image_rows), each):
        images = context.batches.images(image_rows[first : first + each])
        columns.append(torch.cat([score_tree(model, images, tree, normaliser) for tree in trees]))  # [U, each]
    return torch.cat(columns, 1)[row]


@torch.no_grad()
def score_tree(model: Captioner, images: Images, tree: Prefixes, normaliser: torch.dtype = torch.float32) -> Tensor:
    """ln p of the tree's sentences given each of some images [C, I].

    normaliser: precision of the matrix products of a step and of the sum over all words, the bulk of the work. bfloat16
    is twice as fast on recent processors and changes a caption's score by about two hundredths of a nat; states
    between words and the logits of a caption's own words keep full precision."""
    state = model.start(images)
    shared = set(getattr(model, "image_state", ()))
    size = _bytes_per_prefix(model, state, shared, len(tree.levels))
    widest = max(len(level.word) for level in tree.levels)
    together = max(1, portions(images.features.device).state // (size * widest))
    reader = Reader(model, tree, normaliser) if isinstance(model, WordSharingCaptioner) else None
    parts = []
    for first in range(0, len(images), together):
        some = {name: value[first : first + together] for name, value in state.items()}
        parts.append(_walk(model, some, tree, reader))
    return torch.cat(parts)[:, tree.leaf].T  # [C, I]


def _bytes_per_prefix(model: Captioner, state: State, shared: set[str], depth: int) -> int:
    """Bytes of the state after the longest prefix: a transformer's grows by the keys and values of every word."""
    one = {name: value[:1] for name, value in state.items()}
    later = model.step(torch.full((1,), START, device=next(iter(one.values())).device), one).state
    before, after = (
        sum(value.numel() * value.element_size() for name, value in some.items() if name not in shared)
        for some in (one, later)
    )
    return max(1, before + (after - before) * depth)


def _walk(model: Captioner, state: State, tree: Prefixes, reader: Reader | None) -> Tensor:
    """ln p of every prefix of the tree for P images [P, prefixes of all levels].

    A level is taken some images at a time (`Portions`).
    """
    first = next(iter(state.values()))
    image_rows, device = len(first), first.device
    shared = set(getattr(model, "image_state", ()))  # one row per image; the rest of the state has one per prefix
    memory = [name for name in state if name not in shared]
    words = torch.full((1,), START, device=device)
    total = torch.zeros(image_rows, 1, device=device)  # of the prefixes about to be read
    found = []
    for depth, level in enumerate(tree.levels):
        read, continued = len(words), level.parent[level.kept]
        each = max(1, portions(device).rows // read)
        said = []
        after: State = {}
        for start in range(0, image_rows, each):
            end = min(image_rows, start + each)
            some = {
                name: value[start:end] if name in shared else value[start * read : end * read]
                for name, value in state.items()
            }
            log, later = (
                _words_plain(model, words, some, level, end - start) if reader is None else reader.words(depth, some)
            )
            said.append(log)
            for name in memory:
                rows = later[name].view(-1, read, *later[name].shape[1:])
                if name not in after:  # as wide as the state is now: a transformer's grows with every word
                    after[name] = rows.new_empty(image_rows, len(continued), *rows.shape[2:])
                torch.index_select(rows, 1, continued, out=after[name][start:end])
        state |= {name: value.flatten(0, 1) for name, value in after.items()}
        total = total[:, level.parent] + torch.cat(said)
        found.append(total)
        total, words = total[:, level.kept], level.word[level.kept]
    return torch.cat(found, 1)


def _words_plain(model: Captioner, words: Tensor, state: State, level: Level, image_rows: int) -> tuple[Tensor, State]:
    """ln p [P, n] of a level's words, each after its parent, by `step` alone."""
    step = model.step(words.repeat(image_rows), state)
    own = functional.log_softmax(step.logits.float(), -1).view(image_rows, len(words), -1)
    return own[:, level.parent, level.word], step.state


class Reader:
    """`_words_plain` for captioners that read words once for all images, with matrix products in another precision.
    What does not depend on images is computed here, for the whole tree."""

    def __init__(self, model: WordSharingCaptioner, tree: Prefixes, precision: torch.dtype) -> None:
        self.model, self.levels, self.precision = model, tree.levels, precision
        self.weight, self.bias = model.words.output()  # [V, E], [V]
        self.rough_weight, self.rough_bias = self.weight.to(precision), self.bias.to(precision)
        self.own_weight = [self.weight[level.word] for level in tree.levels]  # [n, E] each
        start = torch.full((1,), START, device=self.weight.device)
        read = [start, *(level.word[level.kept] for level in tree.levels[:-1])]
        self.word_input = per_distinct_word(model.word_input, torch.cat(read)).split(  # type: ignore[no-untyped-call]
            [len(words) for words in read]
        )  # [m, G] each

    def words(self, depth: int, state: State) -> tuple[Tensor, State]:
        """ln p [P, n] of a level's words, each after its parent."""
        word_input, level = self.word_input[depth], self.levels[depth]
        with torch.autocast(word_input.device.type, torch.bfloat16, enabled=self.precision == torch.bfloat16):
            step = self.model.advance(word_input, state)
        after = {name: value.to(state[name].dtype) for name, value in step.state.items()}
        hidden = self.model.words.bridge(step.hidden.to(self.weight.dtype))  # [P * m, E]
        norm = _log_sum(hidden, self.rough_weight, self.rough_bias).view(-1, len(word_input))  # [P, m]
        hidden = hidden.view(-1, len(word_input), hidden.shape[-1]).index_select(1, level.parent)  # [P, n, E]
        own = torch.linalg.vecdot(hidden, self.own_weight[depth]) + self.bias[level.word]
        return own - norm[:, level.parent], after


def _log_sum(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """ln of the sum of exp over all words [N], some rows at a time."""
    sums = []
    for block in hidden.split(portions(hidden.device).summed):  # type: ignore[no-untyped-call]
        logits = functional.linear(block.to(weight.dtype), weight, bias)  # [n, V]
        # What a word's logit has more than its log_softmax; torch has no quicker sum of exponentials.
        sums.append(logits[:, 0].float() - functional.log_softmax(logits, -1, dtype=torch.float32)[:, 0])
    return torch.cat(sums)


def quickest_sum(device: torch.device) -> torch.dtype:
    """bfloat16 where a processor has instructions for it, float32 elsewhere."""
    native = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)  # a private name, so it may go away
    return torch.bfloat16 if device.type == "cpu" and native() else torch.float32
