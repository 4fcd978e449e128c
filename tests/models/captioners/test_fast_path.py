"""What all captioners' steps have in common."""

import torch

from tellapart.models.captioners.fast_path import FEW_WORDS, heard_once


def test_each_word_is_heard_once() -> None:
    asked = []

    def hear(words: torch.Tensor) -> torch.Tensor:
        asked.append(len(words))
        return torch.stack([words, words**2], 1)

    words = torch.tensor([7, 5, 7, 9] * FEW_WORDS)
    assert torch.equal(heard_once(hear, words), torch.stack([words, words**2], 1))
    assert asked == [3]
