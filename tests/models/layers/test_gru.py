"""GRU readouts against reading each sentence alone, without padding."""

from unittest import mock

import pytest
import torch

from tellapart.models.layers.gru import BiGRU, LastStateGRU, SentenceBiGRU, WordStatesGRU

LENGTHS = torch.tensor([3, 6, 1])


def words() -> torch.Tensor:
    return torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(0))


def read_alone(both: BiGRU, sentence: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The states of one sentence [T, W] read forwards, and read backwards, each [T, H] in the sentence's order."""
    return both.forwards(sentence)[0], both.backwards(sentence.flip(0))[0].flip(0)


def test_last_state_is_that_of_the_bare_sentence() -> None:
    torch.manual_seed(0)
    encoder = LastStateGRU(4, 5)
    found = encoder(words(), LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        assert torch.allclose(found[row], encoder.gru(words()[row : row + 1, :length])[1][0, 0], atol=1e-6)


@pytest.mark.parametrize("readout", ["ends", "last", "mean"])
def test_both_ways_against_the_bare_sentence(readout: str) -> None:
    torch.manual_seed(0)
    encoder = SentenceBiGRU(4, 5, readout)
    found = encoder(words(), LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        forward, backward = read_alone(encoder.states, words()[row, :length])
        expected = {
            "ends": torch.cat([forward[-1], backward[0]]),
            "last": torch.cat([forward[-1], backward[-1]]),
            "mean": torch.cat([forward, backward], 1).mean(0),
        }[readout]
        assert torch.allclose(found[row], expected, atol=1e-6)


def test_word_states_are_means_of_the_two_directions() -> None:
    torch.manual_seed(0)
    encoder = WordStatesGRU(4, 5)
    found = encoder(words(), LENGTHS)
    forward, backward = read_alone(encoder.states, words()[0, :3])
    assert torch.allclose(found[0, :3], (forward + backward) / 2, atol=1e-6)
    assert found[0, 3:].abs().max() == 0


def test_an_unknown_readout_is_rejected() -> None:
    with pytest.raises(ValueError, match="readout"):
        SentenceBiGRU(4, 5, "middle")


def test_padding_read_by_a_gpu_changes_no_state() -> None:
    """What a GPU computes, padding and all, done here: the same states inside the sentences."""
    torch.manual_seed(0)
    encoder = BiGRU(4, 5)
    packed = encoder(words(), LENGTHS)
    with mock.patch("tellapart.models.layers.gru._states", lambda gru, rows, lengths: gru(rows)[0]):
        assert torch.allclose(encoder(words(), LENGTHS), packed, atol=1e-6)
