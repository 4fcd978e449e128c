"""What all captioners' steps have in common."""

import torch

from tellapart.models.captioners.teacher_forcing import FEW_WORDS, per_distinct_word


def test_each_word_is_heard_once() -> None:
    asked = []

    def word_input(words: torch.Tensor) -> torch.Tensor:
        asked.append(len(words))
        return torch.stack([words, words**2], 1)

    words = torch.tensor([7, 5, 7, 9] * FEW_WORDS)
    assert torch.equal(per_distinct_word(word_input, words), torch.stack([words, words**2], 1))
    assert asked == [3]
