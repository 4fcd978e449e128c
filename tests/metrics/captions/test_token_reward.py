"""Rewards on token ids equal the string metrics, the end token kept as a word."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tellapart.core.errors import InputError
from tellapart.metrics.captions.bleu import bleu
from tellapart.metrics.captions.cider import cider_d
from tellapart.metrics.captions.document_frequency import DocumentFrequency
from tellapart.metrics.captions.token_references import occurrences
from tellapart.metrics.captions.token_reward import TokenBleu, TokenCider

END = 2
words = st.lists(st.integers(3, 8), max_size=7)
images = st.lists(st.lists(words, min_size=1, max_size=3), min_size=1, max_size=4)
samples = st.lists(
    st.tuples(st.lists(st.integers(3, 10), max_size=7), st.booleans(), st.integers(0, 99)), min_size=1, max_size=6
)


def rows(captions: list[list[int]]) -> Tensor:
    width = max(len(caption) for caption in captions) + 1
    return torch.tensor([caption + [0] * (width - len(caption)) for caption in captions])


def spelt(caption: list[int]) -> str:
    return " ".join(f"w{word}" for word in caption)


@settings(max_examples=60, deadline=None)
@given(images, samples)
def test_equals_the_string_metrics(drawn: list[list[list[int]]], sampled: list[tuple[list[int], bool, int]]) -> None:
    references = [[[*caption, END] for caption in group] for group in drawn]
    flat = [caption for group in references for caption in group]
    owner = torch.tensor([image for image, group in enumerate(references) for _ in group])
    candidates = [[*words, END] if ends or not words else words for words, ends, _ in sampled]
    chosen = [number % len(drawn) for _, _, number in sampled]
    said = [spelt(caption) for caption in candidates]
    groups = [[spelt(caption) for caption in references[image]] for image in chosen]
    table = DocumentFrequency.from_references([[spelt(caption) for caption in group] for group in references])
    expected = cider_d(said, groups, table).each
    reward = TokenCider.from_references(rows(flat), owner).reward(rows(candidates), torch.tensor(chosen))
    assert reward.tolist() == pytest.approx(expected.tolist(), abs=1e-9)
    token_bleu = TokenBleu(rows(flat), owner)
    for order, score in enumerate(bleu(said, groups), start=1):
        found = token_bleu.reward(rows(candidates), torch.tensor(chosen), order)
        assert found.tolist() == pytest.approx(score.each.tolist(), abs=1e-9)


def test_unknown_words_are_as_rare_as_can_be() -> None:
    """References of the words 3 and 4, samples of 3 to 8: an unknown word never passes for a known pair of words,
    though their numbers could be confused."""
    generator = torch.Generator().manual_seed(0)
    known = torch.randint(3, 5, (8, 4), generator=generator).tolist()
    said = torch.randint(3, 9, (300, 4), generator=generator).tolist()
    references = [[*caption, END] for caption in known]
    groups = [[spelt(caption) for caption in references[:4]], [spelt(caption) for caption in references[4:]]]
    owner = torch.tensor([0] * 4 + [1] * 4)
    chosen = torch.arange(300) % 2
    candidates = [[*caption, END] for caption in said]
    expected = cider_d(
        [spelt(caption) for caption in candidates],
        [groups[image] for image in chosen.tolist()],
        DocumentFrequency.from_references(groups),
    ).each
    reward = TokenCider.from_references(rows(references), owner).reward(rows(candidates), chosen)
    assert reward.tolist() == pytest.approx(expected.tolist(), abs=1e-9)


def test_occurrences_by_hand() -> None:
    """Of "5 6 5 6 5" in itself: 5 thrice, 6 twice, each pair twice; before the last 5 there are two others."""
    caption = torch.tensor([5, 6, 5, 6, 5]).unsqueeze(1)  # [T, 1]
    assert [found[:, 0].tolist() for found in occurrences(caption, caption, 2)] == [[3, 2, 3, 2, 3], [2, 2, 2, 2]]
    earlier = occurrences(caption, caption, 2, only_before=True)
    assert [found[:, 0].tolist() for found in earlier] == [[0, 0, 1, 1, 2], [0, 0, 1, 1]]


def test_what_stands_after_the_end_is_not_read() -> None:
    cider = TokenCider.from_references(torch.tensor([[5, 6, 2], [7, 8, 2]]), torch.tensor([0, 1]))
    samples = torch.tensor([[5, 6, 2, 0, 0], [5, 6, 2, 9, 2]])
    one, two = cider.reward(samples, torch.tensor([0, 0])).tolist()
    assert one == two == pytest.approx(10 * 3 / 4)


def test_references_in_any_order_and_images_without_any() -> None:
    tokens = torch.tensor([[5, 2, 0], [7, 8, 2], [5, 6, 2]])
    cider = TokenCider.from_references(tokens, torch.tensor([3, 1, 3]))
    assert cider.documents == 2
    with pytest.raises(InputError, match="Image 0 has no reference"):
        cider.reward(torch.tensor([[5, 2]]), torch.tensor([0]))
    with pytest.raises(InputError, match="Image 4 has no reference"):  # behind the last image that has one
        cider.reward(torch.tensor([[5, 2], [5, 2]]), torch.tensor([3, 4]))


def test_rejects_shapes_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="one owner per caption"):
        TokenCider.from_references(torch.zeros(2, 3, dtype=torch.long), torch.zeros(3, dtype=torch.long))
    cider = TokenCider.from_references(torch.tensor([[5, 2]]), torch.tensor([0]))
    with pytest.raises(InputError, match="at most 255"):
        cider.reward(torch.zeros(1, 300, dtype=torch.long), torch.tensor([0]))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_the_same_on_a_gpu() -> None:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(3, 40, (50, 9), generator=generator)
    tokens[:, -1] = END
    owner = torch.arange(50) // 5
    samples, chosen = tokens[::3].roll(1, 0), owner[::3]
    for make in (TokenCider.from_references, TokenBleu):
        there = make(tokens, owner).to("cuda").reward(samples.cuda(), chosen.cuda())
        assert there.cpu().tolist() == pytest.approx(make(tokens, owner).reward(samples, chosen).tolist(), abs=1e-12)
