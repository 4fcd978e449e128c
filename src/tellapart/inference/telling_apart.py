"""The caption that tells an image apart from its neighbours, and is true.

Captions c are proposed by beam searches that are guided, word by word, towards what the matcher sees in the image I and
not in its neighbours, as in pragmatic decoding (Cohn-Gordon et al. 2018) but with a matcher as listener:

    value of a prefix = ln p(c|I) + strength * sum over words w of g(w, I)
    g(w, I) = z(w, I) - mean over neighbours J of z(w, J), within -2 … 2        (z: see `word_evidence`)

A bonus is given only for words that the image supports. A caption with a content word that the image does not support,
or that names one thing twice, is out. Of the others, the highest

    (1 - weight) * FLUENCY * ln p(c|I) / words + weight * ln p(I|c)

is chosen, where p(I|c) is a softmax of the matcher's scores over the image and its neighbours. A plain caption whose
p(I|c) is at least `weight` sets the image apart already, and is kept. If the matcher still
finds some neighbour as good as the image, nothing true sets the image apart: the plain caption is returned, and
`distinct` is false.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tellapart.core.precision import fast_products
from tellapart.core.types import Encoded
from tellapart.inference.judge import Judge
from tellapart.inference.proposals import Proposals
from tellapart.inference.word_evidence import WordEvidence, word_rows
from tellapart.text.function_words import content_words, is_content
from tellapart.text.vocabulary import Vocabulary

STRENGTHS = (1.0, 1.5)
"""Nats per deviation. The second search is for images that the first did not set apart."""
MOST_CONTRAST = 2.0
SUPPORTED = 1.0
"""Deviations from which an image supports a word."""
FLUENCY = 1.0
"""How much one nat per word counts against one nat of ln p(I|c), at weight 0.5."""
APART = 1.0
"""Deviations by which a neighbour must show less of a word for the word to set the image apart from it."""


@dataclass(frozen=True)
class Surroundings:
    """Images and their neighbours, as the judge encodes them."""

    own: Encoded  # [I]
    among: Encoded  # [A]
    neighbours: Tensor  # [I, M] rows of `among`

    def select(self, rows: Tensor) -> Surroundings:
        """Those of some images."""
        return Surroundings(self.own.select(rows), self.among, self.neighbours[rows])


@dataclass(frozen=True)
class Choice:
    """The chosen proposal of each image."""

    chosen: Tensor  # [I] which proposal
    posterior: Tensor  # [I] p(I|c) of the chosen
    distinct: Tensor  # [I] bool
    confused: Tensor  # [I, M] bool: neighbours that the matcher finds as good as the image, or better

    def replaced(self, rows: Tensor, other: Choice) -> Choice:
        """With the values of another choice at `rows`."""
        parts = [value.clone() for value in (self.chosen, self.posterior, self.distinct, self.confused)]
        for part, value in zip(parts, (other.chosen, other.posterior, other.distinct, other.confused)):
            part[rows] = value
        return Choice(*parts)

    def select(self, rows: Tensor) -> Choice:
        """Those of some images."""
        return Choice(self.chosen[rows], self.posterior[rows], self.distinct[rows], self.confused[rows])


def guide(evidence: WordEvidence, around: Surroundings, vocabulary: Vocabulary) -> Tensor:
    """g [I, V], 0 for words that no image can confirm."""
    own, among = evidence.z(around.own.vectors), evidence.z(around.among.vectors)  # [I, W], [A, W]
    contrast = own - among[around.neighbours].mean(1)
    bounded = contrast.clamp(-MOST_CONTRAST, MOST_CONTRAST)
    bounded = torch.where((bounded > 0) & (own < SUPPORTED), 0.0, bounded)
    content = torch.tensor([is_content(word) for word in evidence.words], device=own.device)
    return evidence.over_vocabulary(bounded * content, vocabulary)


def choose(
    proposals: Proposals, judge: Judge, around: Surroundings, weight: float, evidence: WordEvidence | None
) -> Choice:
    """The best true proposal of each image, or the plain one where nothing true sets the image apart."""
    scores = _scores(proposals, judge, around)  # [I, K, 1 + M]
    posterior = functional.log_softmax(scores, 2)[:, :, 0]  # [I, K] ln p(I|c)
    fluency = FLUENCY * proposals.log_probability / proposals.words
    usable = proposals.usable
    if evidence is not None:
        usable = usable & is_true(proposals, evidence, around.own.vectors)
    value = torch.where(usable, (1 - weight) * fluency + weight * posterior, -torch.inf)
    row, best = torch.arange(len(value), device=value.device), value.argmax(1)
    apart = usable.any(1) & (scores[row, best, 0] > scores[row, best, 1:].amax(1))
    enough = posterior[:, 0].exp() >= weight  # of the plain caption
    chosen = torch.where(apart & ~enough, best, 0)
    own = scores[row, chosen]  # [I, 1 + M]
    confused = own[:, 1:] >= own[:, :1]
    return Choice(chosen, posterior[row, chosen].exp(), ~confused.any(1), confused)


def is_true(proposals: Proposals, evidence: WordEvidence, images: Tensor) -> Tensor:
    """[I, K] bool: whether the image supports every content word of a proposal. A word without evidence is not."""
    supported = evidence.supported(evidence.z(images)).cpu().numpy()  # [I, W]
    marks = []
    for row, captions in enumerate(proposals.texts):
        for caption in captions:
            words = content_words(caption.split())
            rows = word_rows(evidence, words)
            marks.append(len(rows) == len(words) and bool(supported[row, rows].all()))
    return torch.tensor(marks, dtype=torch.bool, device=images.device).view(proposals.usable.shape)


def differing_words(evidence: WordEvidence, caption: str, own: Tensor, neighbours: Tensor) -> dict[str, list[int]]:
    """The content words of a caption that set an image [E] apart, and the neighbours [M, E] that show less of each."""
    words = list(dict.fromkeys(word for word in content_words(caption.split()) if word in evidence.place))
    rows = torch.from_numpy(word_rows(evidence, words)).to(own.device)
    less = evidence.z(own.unsqueeze(0))[:, rows] - evidence.z(neighbours)[:, rows] >= APART  # [M, n]
    found = {word: less[:, column].nonzero().squeeze(1).tolist() for column, word in enumerate(words)}
    return {word: places for word, places in found.items() if places}


def _scores(proposals: Proposals, judge: Judge, around: Surroundings) -> Tensor:
    """The judge's scores over temperature of each proposal with its image and the neighbours [I, K, 1 + M]."""
    different = {text: row for row, text in enumerate(dict.fromkeys(t for texts in proposals.texts for t in texts))}
    with fast_products(judge.device):
        encoded = judge.encode_captions(list(different))
    captions = Encoded(encoded.vectors.float(), encoded.mask, encoded.counted)
    columns = torch.tensor([[different[text] for text in texts] for texts in proposals.texts], device=judge.device)
    row = torch.arange(len(columns), device=judge.device).unsqueeze(1)
    own = judge.log_scores(around.own, captions)[row, columns]  # [I, K]
    others = judge.log_scores(around.among, captions)  # [A, C]
    others = others[around.neighbours.unsqueeze(1), columns.unsqueeze(2)]  # [I, K, M]
    return torch.cat([own.unsqueeze(2), others], 2)
