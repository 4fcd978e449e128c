"""Beam search, batched over images and beams. Finished captions stay in the beam and compete with the others."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.errors import InputError
from tellapart.core.protocols import Captioner
from tellapart.core.types import Images, State
from tellapart.models.decoding.constraints import Constraints, forbidden_words, most_forbidden
from tellapart.models.decoding.decoded import Decoded
from tellapart.models.decoding.sampling import UNCONSTRAINED
from tellapart.text.vocabulary import END, PAD, START


def beam(
    captioner: Captioner,
    images: Images,
    width: int = 3,
    length_power: float = 0.0,
    max_words: int = 20,
    constraints: Constraints = UNCONSTRAINED,
) -> Decoded:
    """The best caption of each image: row i is image i's."""
    found = beams(captioner, images, width, length_power, max_words, constraints)
    return found.select(torch.arange(len(images), device=found.tokens.device) * width)


@torch.no_grad()
def beams(
    captioner: Captioner,
    images: Images,
    width: int = 3,
    length_power: float = 0.0,
    max_words: int = 20,
    constraints: Constraints = UNCONSTRAINED,
    guide: Tensor | None = None,
    state: State | None = None,
) -> Decoded:
    """All `width` captions of each image, best first: row i * width + j is image i's j-th.

    length_power: captions are ranked by log-probability / (words + END) ** length_power; 0 ranks by the sum, 1 by the
    mean per word. An image leaves the batch as soon as all its captions are finished.
    guide: [I, V] nats added to the log-probability of each word of an image when captions are ranked. The returned
    log-probabilities are the captioner's, without it.
    state: `captioner.start(images)`, if it is known already.
    """
    if width < 1:
        raise InputError(f"`width` must be at least 1, not {width}.")
    state = captioner.start(images) if state is None else state
    search = BeamSearch(captioner, state, width, length_power, constraints, guide=guide)
    for time in range(max_words + 1):
        search.step(last=time == max_words)
        if not len(search.rows):
            break
    return search.result(len(images), max_words + 1)


class BeamSearch:
    """The beams of the active images, image-major, and the results of the finished ones.

    keep_all: keep finished images in the batch, so that several searches stay in step.
    """

    def __init__(
        self,
        captioner: Captioner,
        state: State,
        width: int,
        length_power: float,
        constraints: Constraints,
        keep_all: bool = False,
        guide: Tensor | None = None,
    ) -> None:
        self.captioner, self.width, self.length_power = captioner, width, length_power
        self.constraints, self.keep_all = constraints, keep_all
        self.fixed = set(getattr(captioner, "image_state", ()))  # one row per image, shared by its beams
        first = next(iter(state.values()))
        self.device, images = first.device, first.shape[0]
        self.state = state
        self.rows = torch.arange(images, device=self.device)  # images still in the batch
        # One beam per image at first, as all would be equal; `width` beams after the first word.
        self.prefix = torch.zeros(images, 0, dtype=torch.long, device=self.device)
        self.total = torch.zeros(images, 1, device=self.device)
        self.guide = guide  # [I, V]
        self.bonus = torch.zeros(images, 1, device=self.device)  # the guide's sum over the words of each beam
        self.attention: Tensor | None = None  # [I * width, t, R]
        self.finished: list[tuple[Tensor, Tensor, Tensor, Tensor | None]] = []

    def step(self, last: bool, penalty: Tensor | None = None) -> None:
        """Add one word. A penalty [I, V] affects the choice of words, not their log-probabilities."""
        images, beams = self.total.shape
        time = self.prefix.shape[1]
        word = self.prefix[:, -1] if time else torch.full((images,), START, device=self.device)
        step = self.captioner.step(word, self.state)
        self.words = step.logits.shape[-1]
        finished = (word == END) | (word == PAD)  # [N]
        gain, adjusted, per_word = self._candidates(step.logits, finished, last, penalty)  # [N, c]
        total = (self.total.view(-1, 1) + gain).view(images, -1)  # [I, beams * c]
        standing = self.total if self.guide is None else self.total + self.bonus
        value = (standing.view(-1, 1) + adjusted).view(images, -1)
        rank = self._rank(value, finished.view(images, beams), time)
        if total.shape[1] < self.width:  # fewer words than beams: the remaining rows hold no caption
            empty = (0, self.width - total.shape[1])
            total, rank = (functional.pad(part, empty, value=-torch.inf) for part in (total, rank))
            per_word = functional.pad(per_word, empty)
        picked = rank.topk(self.width, -1).indices  # [I, width]
        parent = (picked // per_word.shape[1]).clamp(max=beams - 1)
        parent = (parent + torch.arange(images, device=self.device).unsqueeze(1) * beams).view(-1)  # [N]
        chosen = per_word.view(images, -1).gather(1, picked)  # [I, width]
        self.total = total.gather(1, picked)
        if self.guide is not None:
            added = self.guide.gather(1, chosen).masked_fill(finished[parent].view(images, -1), 0.0)
            self.bonus = self.bonus.view(-1)[parent].view(images, -1) + added
        self.prefix = torch.cat([self.prefix[parent], chosen.view(-1, 1)], 1)
        self.state = {name: value if name in self.fixed else value[parent] for name, value in step.state.items()}
        if step.attention is not None:
            attention = step.attention.masked_fill(finished.unsqueeze(1), 0.0).unsqueeze(1)  # [N, 1, R]
            if self.attention is not None:
                attention = torch.cat([self.attention, attention], 1)
            self.attention = attention[parent]
        if not self.keep_all:
            self._remove_finished()

    def _candidates(
        self, logits: Tensor, finished: Tensor, last: bool, penalty: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The best words after each beam: log-probabilities, the same with guide and penalty, and words, all [N, c].

        An image's best `width` are among the best `width` of each of its beams.
        """
        own = functional.log_softmax(logits.float(), -1)  # [N, V]
        adjusted = own
        for part, sign in ((penalty, -1), (self.guide, 1)):
            if part is not None:
                adjusted = adjusted + sign * part.repeat_interleave(len(own) // max(len(part), 1), 0)
        if last:
            word = torch.full((len(own), 1), END, device=self.device)
            best = adjusted.gather(1, word)
        else:
            # Take as many more words as may be forbidden, so that only the best words need the check.
            spare = most_forbidden(self.prefix.shape[1], self.constraints)
            best, word = adjusted.topk(min(self.width + spare, self.words), -1)
            forbidden = forbidden_words(self.words, self.prefix, self.constraints).expand(len(own), -1)
            best = best.masked_fill(forbidden.gather(1, word), -torch.inf)
        gain = own.gather(1, word).masked_fill(torch.isinf(best), -torch.inf)
        # A finished caption stays as it is.
        gain, best = (part.masked_fill(finished.unsqueeze(1), -torch.inf) for part in (gain, best))
        for part in (gain, best):
            part[:, 0].masked_fill_(finished, 0.0)
        return gain, best, word.masked_fill(finished.unsqueeze(1), PAD)

    def last_word_counts(self) -> Tensor:
        """[I, V]: how often each word was chosen in the last step; finished captions count nothing."""
        last = self.prefix[:, -1].view(-1, self.width)
        counts = torch.zeros(len(last), self.words, device=self.device)
        return counts.scatter_add_(1, last, (last != PAD).float())

    def done(self) -> Tensor:
        """[I] bool: images whose captions are all finished."""
        last = self.prefix[:, -1].view(-1, self.width)
        return ((last == END) | (last == PAD) | torch.isinf(self.total)).all(1)

    def _rank(self, total: Tensor, finished: Tensor, time: int) -> Tensor:
        """The values that candidates are ranked by; a finished caption keeps its length."""
        if self.length_power == 0:
            return total
        lengths = (
            (self.prefix != PAD).sum(1).view(finished.shape) if time else torch.zeros_like(finished, dtype=torch.long)
        )
        lengths = torch.where(finished, lengths, lengths + 1).clamp(min=1)
        each = total.shape[1] // finished.shape[1]
        return total / lengths.repeat_interleave(each, 1).to(total.dtype) ** self.length_power

    def _remove_finished(self) -> None:
        """Remove finished images from the batch: most finish long before the longest."""
        done = self.done()
        # Removing them one by one would cost more copying than it saves.
        if bool(done.all()) or int(done.sum()) * 4 >= len(self.rows):
            self._store(done)

    def _store(self, done: Tensor) -> None:
        every, keep = self._members(done), self._members(~done)
        attention = None if self.attention is None else self.attention[every]
        self.finished.append((self.rows[done], self.prefix[every], self.total[done], attention))
        self.rows, self.total, self.prefix = self.rows[~done], self.total[~done], self.prefix[keep]
        self.bonus = self.bonus[~done]
        self.guide = None if self.guide is None else self.guide[~done]
        self.attention = None if self.attention is None else self.attention[keep]
        self.state = {name: value[~done if name in self.fixed else keep] for name, value in self.state.items()}

    def _members(self, images: Tensor) -> Tensor:
        return images.repeat_interleave(self.width).nonzero().squeeze(1)

    def result(self, images: int, longest: int) -> Decoded:
        """The captions of all images, at most `longest` tokens each, best first."""
        if len(self.rows):
            self._store(torch.ones_like(self.rows, dtype=torch.bool))
        width = self.width
        tokens = torch.zeros(images, width, longest, dtype=torch.long, device=self.device)
        total = torch.zeros(images, width, device=self.device)
        attention: Tensor | None = None
        for rows, prefix, scores, part in self.finished:
            order = self._order(prefix, scores)  # best first
            tokens[rows, :, : prefix.shape[1]] = prefix.view(-1, width, prefix.shape[1]).gather(
                1, order.unsqueeze(2).expand(-1, -1, prefix.shape[1])
            )
            total[rows] = scores.gather(1, order)
            if part is not None:
                if attention is None:
                    attention = torch.zeros(images, width, longest, part.shape[2], device=self.device)
                part = part.view(-1, width, *part.shape[1:])
                attention[rows, :, : prefix.shape[1]] = part.gather(
                    1, order[:, :, None, None].expand(-1, -1, *part.shape[2:])
                )
        # If the vocabulary allows fewer captions than the beam is wide, the remaining rows are END alone.
        tokens[torch.isinf(total)] = torch.tensor([END] + [PAD] * (longest - 1), device=self.device)
        used = int((tokens != PAD).any(0).any(0).sum())
        return Decoded(
            tokens.view(-1, longest)[:, :used],
            total.view(-1),
            None if attention is None else attention.view(-1, longest, attention.shape[-1])[:, :used],
        )

    def _order(self, prefix: Tensor, scores: Tensor) -> Tensor:
        lengths = (prefix != PAD).sum(1).view(scores.shape).clamp(min=1).to(scores.dtype)
        return (scores / lengths**self.length_power).sort(dim=1, descending=True, stable=True).indices
