"""Captioners with few words, for which every sentence can be tried."""

import torch
from torch import Tensor

from tellapart.core.types import Forced, Images, State, Step


class TableCaptioner:
    """The next word depends on the image and the last word, by a table: [images, V, V] logits."""

    def __init__(self, table: Tensor) -> None:
        self.table = table

    def start(self, images: Images) -> State:
        return {"picture": images.features[:, 0, 0].long()}

    def step(self, word: Tensor, state: State) -> Step:
        attention = torch.nn.functional.one_hot(word % 3, 3).float()
        return Step(self.table[state["picture"], word], state, attention)

    def forward(self, images: Images, tokens: Tensor) -> Forced:
        return Forced(self.table[images.features[:, 0, 0].long().unsqueeze(1), tokens[:, :-1]])


def random_table(images: int, words: int, seed: int, sharpness: float = 2.0) -> TableCaptioner:
    random = torch.Generator().manual_seed(seed)
    return TableCaptioner(torch.randn(images, words, words, generator=random) * sharpness)


def numbered_images(count: int) -> Images:
    return Images(torch.arange(count).float().view(-1, 1, 1), torch.ones(count, 1, dtype=torch.bool))
