"""Beam search, batched over images and beams; finished sentences stay in the beam and go on competing."""

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
    """The best sentence found for each image: row i is image i's."""
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
) -> Decoded:
    """All `width` sentences of each image, best first: row i * width + j is image i's j-th.

    length_power: sentences are ranked by log-probability / (words + END) ** length_power; 0 ranks by the sum
    itself, 1 by the mean of a word. An image leaves the batch as soon as all its sentences are finished.
    """
    if width < 1:
        raise InputError(f"A beam needs a width of at least 1, not {width}.")
    search = BeamSearch(captioner, captioner.start(images), width, length_power, constraints)
    for time in range(max_words + 1):
        search.step(last=time == max_words)
        if not len(search.rows):
            break
    return search.result(len(images), max_words + 1)


class BeamSearch:
    """The beams of the images still being written, image-major, and the shelf of those that are done.

    keep_all: images stay until the end, so that several searches stay in step.
    """

    def __init__(
        self,
        captioner: Captioner,
        state: State,
        width: int,
        length_power: float,
        constraints: Constraints,
        keep_all: bool = False,
    ) -> None:
        self.captioner, self.width, self.length_power = captioner, width, length_power
        self.constraints, self.keep_all = constraints, keep_all
        self.fixed = set(getattr(captioner, "image_state", ()))  # one row an image, shared by its beams
        first = next(iter(state.values()))
        self.device, images = first.device, first.shape[0]
        self.state = state
        self.rows = torch.arange(images, device=self.device)  # images still in the batch
        # One beam an image at first, as all would say the same; `width` of them after the first word.
        self.said = torch.zeros(images, 0, dtype=torch.long, device=self.device)
        self.total = torch.zeros(images, 1, device=self.device)
        self.looks: Tensor | None = None  # [I * width, t, R]
        self.shelf: list[tuple[Tensor, Tensor, Tensor, Tensor | None]] = []

    def step(self, last: bool, penalty: Tensor | None = None) -> None:
        """One word further. A penalty [I, V] counts in choosing words, and is forgotten afterwards."""
        images, beams = self.total.shape
        time = self.said.shape[1]
        word = self.said[:, -1] if time else torch.full((images,), START, device=self.device)
        step = self.captioner.step(word, self.state)
        self.words = step.logits.shape[-1]
        finished = (word == END) | (word == PAD)  # [N]
        per_beam, per_word = self._candidates(step.logits, finished, last, penalty)  # [N, c]
        total = (self.total.view(-1, 1) + per_beam).view(images, -1)  # [I, beams * c]
        rank = self._rank(total, finished.view(images, beams), time)
        if total.shape[1] < self.width:  # fewer words than beams: the places left over hold no sentence
            empty = (0, self.width - total.shape[1])
            total, rank = (functional.pad(part, empty, value=-torch.inf) for part in (total, rank))
            per_word = functional.pad(per_word, empty)
        picked = rank.topk(self.width, -1).indices  # [I, width]
        parent = (picked // per_word.shape[1]).clamp(max=beams - 1)
        parent = (parent + torch.arange(images, device=self.device).unsqueeze(1) * beams).view(-1)  # [N]
        said = per_word.view(images, -1).gather(1, picked)  # [I, width]
        self.total = total.gather(1, picked)
        if penalty is not None:
            self.total = self.total + penalty.gather(1, said)
        self.said = torch.cat([self.said[parent], said.view(-1, 1)], 1)
        self.state = {name: value if name in self.fixed else value[parent] for name, value in step.state.items()}
        if step.attention is not None:
            looks = step.attention.masked_fill(finished.unsqueeze(1), 0.0).unsqueeze(1)  # [N, 1, R]
            self.looks = looks[parent] if self.looks is None else torch.cat([self.looks, looks], 1)[parent]
        if not self.keep_all:
            self._shelve()

    def _candidates(
        self, logits: Tensor, finished: Tensor, last: bool, penalty: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The best words after each beam and their log-probabilities less penalty [N, c]: an image's best `width` are
        among the best `width` of each of its beams."""
        own = functional.log_softmax(logits.float(), -1)  # [N, V]
        if penalty is not None:
            own = own - penalty.repeat_interleave(len(own) // max(len(penalty), 1), 0)
        if last:
            best, word = own[:, END : END + 1].clone(), torch.full((len(own), 1), END, device=self.device)
        else:
            # Barring words among the best alone spares a pass over all: so many may be barred, no more.
            spare = most_forbidden(self.said.shape[1], self.constraints)
            best, word = own.topk(min(self.width + spare, self.words), -1)
            bar = forbidden_words(self.words, self.said, self.constraints).expand(len(own), -1)
            best = best.masked_fill(bar.gather(1, word), -torch.inf)
        # A finished sentence goes on unchanged, at no cost.
        best = best.masked_fill(finished.unsqueeze(1), -torch.inf)
        best[:, 0].masked_fill_(finished, 0.0)
        return best, word.masked_fill(finished.unsqueeze(1), PAD)

    def spoken(self) -> Tensor:
        """[I, V]: how often each word was said in the last step; sentences that had ended say nothing."""
        last = self.said[:, -1].view(-1, self.width)
        counts = torch.zeros(len(last), self.words, device=self.device)
        return counts.scatter_add_(1, last, (last != PAD).float())

    def done(self) -> Tensor:
        """[I]: images whose sentences are all finished."""
        last = self.said[:, -1].view(-1, self.width)
        return ((last == END) | (last == PAD) | torch.isinf(self.total)).all(1)

    def _rank(self, total: Tensor, finished: Tensor, time: int) -> Tensor:
        """What candidates are ranked by; a finished sentence keeps the length it ended with."""
        if self.length_power == 0:
            return total
        lengths = (
            (self.said != PAD).sum(1).view(finished.shape) if time else torch.zeros_like(finished, dtype=torch.long)
        )
        lengths = torch.where(finished, lengths, lengths + 1).clamp(min=1)
        each = total.shape[1] // finished.shape[1]
        return total / lengths.repeat_interleave(each, 1).to(total.dtype) ** self.length_power

    def _shelve(self) -> None:
        """Take images out that are done: most end long before the longest does."""
        done = self.done()
        # Leaving one by one would cost more copying than it saves.
        if bool(done.all()) or int(done.sum()) * 4 >= len(self.rows):
            self._put_away(done)

    def _put_away(self, done: Tensor) -> None:
        every, keep = self._members(done), self._members(~done)
        looks = None if self.looks is None else self.looks[every]
        self.shelf.append((self.rows[done], self.said[every], self.total[done], looks))
        self.rows, self.total, self.said = self.rows[~done], self.total[~done], self.said[keep]
        self.looks = None if self.looks is None else self.looks[keep]
        self.state = {name: value[~done if name in self.fixed else keep] for name, value in self.state.items()}

    def _members(self, images: Tensor) -> Tensor:
        return images.repeat_interleave(self.width).nonzero().squeeze(1)

    def result(self, images: int, longest: int) -> Decoded:
        if len(self.rows):
            self._put_away(torch.ones_like(self.rows, dtype=torch.bool))
        width = self.width
        tokens = torch.zeros(images, width, longest, dtype=torch.long, device=self.device)
        total = torch.zeros(images, width, device=self.device)
        looks: Tensor | None = None
        for rows, said, scores, seen in self.shelf:
            order = self._order(said, scores)  # best first
            tokens[rows, :, : said.shape[1]] = said.view(-1, width, said.shape[1]).gather(
                1, order.unsqueeze(2).expand(-1, -1, said.shape[1])
            )
            total[rows] = scores.gather(1, order)
            if seen is not None:
                if looks is None:
                    looks = torch.zeros(images, width, longest, seen.shape[2], device=self.device)
                seen = seen.view(-1, width, *seen.shape[1:])
                looks[rows, :, : said.shape[1]] = seen.gather(
                    1, order[:, :, None, None].expand(-1, -1, *seen.shape[2:])
                )
        # Where a vocabulary has fewer sentences than the beam has places, the empty places are an END alone.
        tokens[torch.isinf(total)] = torch.tensor([END] + [PAD] * (longest - 1), device=self.device)
        used = int((tokens != PAD).any(0).any(0).sum())
        return Decoded(
            tokens.view(-1, longest)[:, :used],
            total.view(-1),
            None if looks is None else looks.view(-1, longest, looks.shape[-1])[:, :used],
        )

    def _order(self, said: Tensor, scores: Tensor) -> Tensor:
        lengths = (said != PAD).sum(1).view(scores.shape).clamp(min=1).to(scores.dtype)
        return (scores / lengths**self.length_power).sort(dim=1, descending=True, stable=True).indices
