"""Word tables and word noise."""

from pathlib import Path

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Texts
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.word_embedding import WordNoise, word_embedding
from tellapart.text.vocabulary import END, PAD, START, UNK, Vocabulary

VOCABULARY = Vocabulary.from_words(["dog", "cat", "tree"])


def sentences() -> Texts:
    tokens = torch.tensor([[START, 4, 5, 6, 4, 5, 6, 4, 5, 6, 4, END], [START, 4, END] + [PAD] * 9])
    nouns = torch.zeros_like(tokens).bool()
    nouns[0, 3] = True
    return Texts(tokens, torch.tensor([12, 3]), {"nouns": nouns, "targets": torch.ones(2, 12)[:, :5]})


def test_noise_rests_in_evaluation() -> None:
    texts = sentences()
    assert WordNoise(0.5, 0.5).eval()(texts) is texts


def test_deleting_takes_out_a_tenth_and_keeps_order_and_ends() -> None:
    """Ten words lose floor(.25 x 10) = 2, one word loses none; START and END stay, columns of words go along."""
    torch.manual_seed(0)
    before = sentences()
    after = WordNoise(delete=0.25)(before)
    assert after.lengths.tolist() == [10, 3]
    row = after.tokens[0].tolist()
    assert row[0] == START and row[9] == END and row[10:] == [PAD, PAD]
    kept = iter(before.tokens[0].tolist())
    assert all(word in kept for word in row[:10])  # what is left is in its old order
    assert after.tokens[1].tolist() == before.tokens[1].tolist()
    assert after.columns["nouns"].shape == after.tokens.shape
    assert torch.equal(after.columns["targets"], before.columns["targets"])


def test_replacing_hits_words_only() -> None:
    after = WordNoise(replace=1.0)(sentences())
    assert after.tokens[0].tolist() == [START, *[UNK] * 10, END]
    assert after.tokens[1].tolist()[:3] == [START, UNK, END]


def test_vectors_from_a_file_and_random_for_the_rest(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("dog 1 2\ntree 3 4\n")
    inputs = ModelInputs(VOCABULARY, 1)
    table = word_embedding(inputs, 2, str(tmp_path / "glove.txt")).table.weight
    assert table[4].tolist() == [1, 2] and table[6].tolist() == [3, 4]
    assert table[PAD].abs().max() == 0 and 0 < table[5].abs().max() <= 0.1
    with pytest.raises(InputError, match="word_width"):
        word_embedding(inputs, 3, str(tmp_path / "glove.txt"))
    waiting = ModelInputs(VOCABULARY, 1, load_pretrained=False)
    assert word_embedding(waiting, 2, "nowhere.txt").table.weight.shape == (7, 2)
