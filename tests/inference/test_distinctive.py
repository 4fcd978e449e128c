"""Distinctive captions: the choice against a loop, the two ends of the weight, neighbours."""

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Images
from tellapart.inference.distinctive import distinctive_captions
from tellapart.inference.neighbours import nearest
from tellapart.models.decoding import beam, log_prob, with_start
from tellapart.text.vocabulary import END, START
from tiny_captioners import numbered_images, random_table

NEIGHBOURS = torch.tensor([[1, 2], [0, 2], [0, 1]])


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_choice_against_a_loop(weight: float) -> None:
    captioner, images = random_table(3, 9, 4, sharpness=1.0), numbered_images(3)
    chosen = distinctive_captions(captioner, images, images, NEIGHBOURS, weight, width=5, max_words=4)
    for image in range(3):
        values = []
        for place in range(5):
            tokens = with_start(chosen.proposed.tokens[image * 5 + place].unsqueeze(0))
            given = [float(log_prob(captioner, images, tokens, torch.tensor([p]))) for p in range(3)]
            posterior = given[image] - float(torch.tensor(given).logsumexp(0))
            assert float(chosen.proposed_log_posterior[image, place]) == pytest.approx(posterior, abs=1e-4)
            values.append((1 - weight) * given[image] + weight * posterior)
        assert int(chosen.chosen[image]) == max(range(5), key=lambda place: values[place])


def test_no_weight_is_beam_search() -> None:
    captioner, images = random_table(3, 9, 1), numbered_images(3)
    chosen = distinctive_captions(captioner, images, images, NEIGHBOURS, weight=0.0, width=4)
    torch.testing.assert_close(chosen.log_probability, beam(captioner, images, 4).log_probability)


def test_a_word_only_one_image_has_is_chosen() -> None:
    """All images say word 4 with 0.6; image p says 5 + p with 0.35 and the others with 0.01.

    The likeliest is 4 (END is certain after any word), ln p(I|c) = ln 1/3; own words find their image: ln(0.35/0.37).
    """
    captioner, images = random_table(3, 8, 0), numbered_images(3)
    captioner.table[:] = -60.0
    captioner.table[:, 4:, END] = 0.0
    for image in range(3):
        for word, share in ((4, 0.6), *((5 + other, 0.35 if other == image else 0.01) for other in range(3))):
            captioner.table[image, START, word] = torch.tensor(share).log()
    likely = distinctive_captions(captioner, images, images, NEIGHBOURS, weight=0.0, width=3)
    apart = distinctive_captions(captioner, images, images, NEIGHBOURS, weight=0.7, width=3)
    assert likely.decoded.tokens[:, 0].tolist() == [4, 4, 4]
    assert apart.decoded.tokens[:, 0].tolist() == [5, 6, 7]
    torch.testing.assert_close(apart.log_posterior, torch.full((3,), 0.35 / 0.37).log(), atol=1e-3, rtol=1e-3)


def test_confused_neighbours_are_those_for_which_the_caption_is_as_likely() -> None:
    captioner, images = random_table(3, 9, 4, sharpness=1.0), numbered_images(3)
    chosen = distinctive_captions(captioner, images, images, NEIGHBOURS, weight=0.0, width=5, max_words=4)
    for image in range(3):
        tokens = with_start(chosen.decoded.tokens[image].unsqueeze(0))
        given = [float(log_prob(captioner, images, tokens, torch.tensor([p]))) for p in range(3)]
        expected = [given[other] >= given[image] for other in NEIGHBOURS[image].tolist()]
        assert chosen.confused[image].tolist() == expected


def test_nearest_leaves_the_image_itself_out() -> None:
    features = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.5, 0.5]]).unsqueeze(1)
    images = Images(features, torch.ones(4, 1, dtype=torch.bool))
    assert nearest(images, images, 2).tolist() == [[1, 3], [0, 3], [3, 1], [1, 0]]
    assert nearest(images, images, 9).shape == (4, 3)


def test_errors() -> None:
    captioner, images = random_table(2, 8, 0), numbered_images(2)
    with pytest.raises(InputError, match=r"between 0"):
        distinctive_captions(captioner, images, images, torch.tensor([[1], [0]]), weight=2.0)
    with pytest.raises(InputError, match="at least one other"):
        distinctive_captions(captioner, images, images, torch.zeros(2, 0, dtype=torch.long))
