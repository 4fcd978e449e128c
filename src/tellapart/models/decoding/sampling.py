"""One word after the other: the likeliest (greedy), or drawn at random with temperature, top-k and
nucleus."""

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
    """At each step the likeliest word; one sentence an image."""
    return _write(captioner, captioner.start(images), max_words, constraints, None)


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
    """`each` sentences an image (row i * each + j is image i's), every word drawn at random.

    temperature: below one likelier words win more often. top_k: only the k likeliest words (0: all). top_p:
    only the likeliest words that together reach this probability (nucleus, Holtzman et al. 2020). Gradients
    flow through the log-probabilities unless the caller turns them off.
    """
    if each < 1:
        raise InputError(f"At least one sentence an image is drawn, not {each}.")
    state = {name: value.repeat_interleave(each, 0) for name, value in captioner.start(images).items()}
    return _write(captioner, state, max_words, constraints, _Draw(temperature, top_k, top_p, generator))


class _Draw:
    """Turns barred logits into the distribution that is drawn from, and draws."""

    def __init__(self, temperature: float, top_k: int, top_p: float, generator: torch.Generator | None) -> None:
        if temperature <= 0:
            raise InputError(f"The temperature is above 0, not {temperature}; `greedy` takes the likeliest word.")
        if top_k < 0 or not 0 < top_p <= 1:
            raise InputError(f"top_k is 0 (all words) or more and top_p lies in (0, 1], not {top_k} and {top_p}.")
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
        return torch.multinomial(log_probabilities.detach().exp(), 1, generator=self.generator).squeeze(1)


def complete(captioner: Captioner, state: State, said: Tensor, max_words: int = 20) -> Tensor:
    """Finish sentences `said` [N, t] at random: words, END, PAD [N, T]. `state` has read all but their last word."""
    draw = _Draw(1.0, 0, 1.0, None)
    return _write(captioner, state, max_words, UNCONSTRAINED, draw, said).tokens


def _write(
    captioner: Captioner,
    state: State,
    max_words: int,
    constraints: Constraints,
    draw: _Draw | None,
    said: Tensor | None = None,
) -> Decoded:
    """Word after word from a state; log-probabilities and attention are those of the words written here."""
    hypotheses = next(iter(state.values()))
    device, count = hypotheses.device, hypotheses.shape[0]
    if said is None:
        said = torch.zeros(count, 0, dtype=torch.long, device=device)
    word = said[:, -1] if said.shape[1] else torch.full((count,), START, dtype=torch.long, device=device)
    finished = (word == END) | (word == PAD)
    model_log, drawn_log, looks = [], [], []
    for time in range(said.shape[1], max_words + 1):
        step = captioner.step(word, state)
        state = step.state
        bar = forbidden_words(step.logits.shape[-1], said, constraints, time == max_words)
        logits = step.logits.masked_fill(bar, -torch.inf)
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
            looks.append(step.attention.masked_fill(finished.unsqueeze(1), 0.0))
        word = word.masked_fill(finished, PAD)
        said = torch.cat([said, word.unsqueeze(1)], 1)
        finished = finished | (word == END)
        if bool(finished.all()):
            break
    none = torch.zeros(count, 1, device=device)
    return Decoded(
        said,
        torch.stack(model_log or [none[:, 0]], 1).sum(1),
        torch.stack(looks, 1) if looks else None,
        torch.stack(drawn_log, 1) if drawn_log else none[:, :0],
    )
