"""Greedy decoding, and sampling with temperature, top-k and nucleus."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images, State
from tellapart.models.decoding.constraints import Constraints, forbidden_words
from tellapart.models.decoding.decoded import Decoded
from tellapart.text.vocabulary import END, PAD, START

UNCONSTRAINED = Constraints()


def greedy(
    captioner: Captioner, images: Images, max_words: int = 20, constraints: Constraints = UNCONSTRAINED
) -> Decoded:
    """One caption per image, with the likeliest word at each step."""
    return _generate(captioner, captioner.start(images), max_words, constraints, None)


def sample(
    captioner: Captioner,
    images: Images,
    each: int = 1,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    max_words: int = 20,
    constraints: Constraints = UNCONSTRAINED,
    generator: torch.Generator | None = None,
) -> Decoded:
    """`each` random captions per image: row i * each + j is image i's j-th.

    temperature: below 1, likelier words are drawn more often. top_k: only the k likeliest words (0: all). top_p: only
    the likeliest words that together reach this probability (nucleus, Holtzman et al. 2020). Gradients flow through
    the log-probabilities unless the caller disables them.
    """
    if each < 1:
        raise InputError(f"`each` must be at least 1, not {each}.")
    # Captions of one image share its rows where no gradient is needed: copies would be read again at every word.
    fixed = () if torch.is_grad_enabled() else getattr(captioner, "image_state", ())
    started = captioner.start(images)
    state = {name: value if name in fixed else value.repeat_interleave(each, 0) for name, value in started.items()}
    empty = torch.zeros(len(images) * each, 0, dtype=torch.long, device=images.features.device)
    return _generate(captioner, state, max_words, constraints, _Sampler(temperature, top_k, top_p, generator), empty)


class _Sampler:
    """Turns logits into the distribution to sample from, and samples."""

    def __init__(self, temperature: float, top_k: int, top_p: float, generator: torch.Generator | None) -> None:
        if temperature <= 0:
            raise InputError(
                f"`temperature` must be above 0, not {temperature}; for the likeliest words decode greedily."
            )
        if top_k < 0 or not 0 < top_p <= 1:
            raise InputError(f"`top_k` must be at least 0 and `top_p` lie in (0, 1], not {top_k} and {top_p}.")
        self.temperature, self.top_k, self.top_p, self.generator = temperature, top_k, top_p, generator

    def distribution(self, logits: Tensor) -> Tensor:
        """Log-probabilities [N, V] after temperature and truncation."""
        logits = logits / self.temperature
        if self.top_k > 0:
            threshold = logits.topk(min(self.top_k, logits.shape[-1]), -1).values[:, -1:]
            logits = logits.masked_fill(logits < threshold, -torch.inf)
        if self.top_p < 1:
            ordered, order = logits.sort(-1, descending=True)
            before = functional.softmax(ordered, -1).cumsum(-1) - functional.softmax(ordered, -1)  # [N, V]
            cut = torch.zeros_like(order, dtype=torch.bool).scatter(1, order, before >= self.top_p)
            logits = logits.masked_fill(cut, -torch.inf)
        return functional.log_softmax(logits, -1)

    def draw(self, log_probabilities: Tensor) -> Tensor:
        """Random words [N] from log-probabilities [N, V]."""
        return torch.multinomial(log_probabilities.detach().exp(), 1, generator=self.generator).squeeze(1)


def complete(captioner: Captioner, state: State, prefix: Tensor, max_words: int = 20) -> Tensor:
    """Random completions [N, T] (words, END, PAD) of `prefix` [N, t]. `state` has read all but its last word."""
    draw = _Sampler(1.0, 0, 1.0, None)
    return _generate(captioner, state, max_words, UNCONSTRAINED, draw, prefix).tokens


def _generate(
    captioner: Captioner,
    state: State,
    max_words: int,
    constraints: Constraints,
    draw: _Sampler | None,
    prefix: Tensor | None = None,
) -> Decoded:
    """Generate word by word from a state; log-probabilities and attention are those of the new words."""
    first = next(iter(state.values()))
    if prefix is None:
        prefix = torch.zeros(first.shape[0], 0, dtype=torch.long, device=first.device)
    device, count = first.device, len(prefix)
    word = prefix[:, -1] if prefix.shape[1] else torch.full((count,), START, dtype=torch.long, device=device)
    finished = (word == END) | (word == PAD)
    model_log, drawn_log, attention = [], [], []
    for time in range(prefix.shape[1], max_words + 1):
        step = captioner.step(word, state)
        state = step.state
        forbidden = forbidden_words(step.logits.shape[-1], prefix, constraints, time == max_words)
        logits = step.logits.masked_fill(forbidden, -torch.inf)
        own = functional.log_softmax(step.logits.float(), -1)  # [N, V]
        if draw is None:
            word = logits.argmax(-1)
            distribution = own
        else:
            distribution = draw.distribution(logits.float())
            word = draw.draw(distribution)
        chosen = word.unsqueeze(1)
        model_log.append(own.gather(1, chosen).squeeze(1).masked_fill(finished, 0.0))
        drawn_log.append(distribution.gather(1, chosen).squeeze(1).masked_fill(finished, 0.0))
        if step.attention is not None:
            attention.append(step.attention.masked_fill(finished.unsqueeze(1), 0.0))
        word = word.masked_fill(finished, PAD)
        prefix = torch.cat([prefix, word.unsqueeze(1)], 1)
        finished = finished | (word == END)
        if bool(finished.all()):
            break
    none = torch.zeros(count, 1, device=device)
    return Decoded(
        prefix,
        torch.stack(model_log or [none[:, 0]], 1).sum(1),
        torch.stack(attention, 1) if attention else None,
        torch.stack(drawn_log, 1) if drawn_log else none[:, :0],
    )
