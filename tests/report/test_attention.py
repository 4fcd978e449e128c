"""Attention drawings: heat maps by hand, and drawings of every odd kind of caption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from grounded_world import grounded_context
from tellapart.core.errors import InputError
from tellapart.features.regions import grid_boxes
from tellapart.inference.attention import CaptionAttention, greedy_attention
from tellapart.models.captioners.neuraltalk import NeuralTalk2
from tellapart.models.captioners.up_down import UpDown
from tellapart.report.attention import draw_attention, draw_comparison, heat_map, noun_colours, save_drawing

IMAGE = Image.fromarray(np.full((40, 60, 3), 200, dtype=np.uint8))
BOXES = np.asarray([[0, 0, 0.5, 1], [0.5, 0, 1, 1.0]])


def test_heat_by_hand() -> None:
    """Weights 1/4 left, 3/4 right: the right half is brightest, the left a third of it."""
    heat = heat_map(np.asarray([0.25, 0.75]), BOXES, 4, 2)
    assert np.allclose(heat, [[1 / 3, 1 / 3, 1, 1]] * 2)
    assert heat_map(np.zeros(2), BOXES, 4, 2).max() == 0


def test_heat_of_a_grid_is_the_grid() -> None:
    weights = np.arange(1, 10) / 45
    assert np.allclose(heat_map(weights, grid_boxes(3, 3).astype(float), 3, 3), weights.reshape(3, 3) / weights.max())


def test_a_noun_and_its_box_share_a_colour() -> None:
    attention = CaptionAttention(("a", "dog"), np.asarray([[0.5, 0.5], [0.1, 0.9]]), BOXES, (False, True))
    drawn = np.asarray(draw_attention(IMAGE, attention, "a title"))
    colour = np.asarray([0xE6, 0x19, 0x4B])
    coloured = (drawn == colour).all(-1)
    assert noun_colours(attention) == [None, "#e6194b"]
    # The image stands in the upper part, 696 wide: the box is drawn in its right half, and in its left there is none.
    image = coloured[: 12 + 30 + 464]
    assert image[:, 370:].any() and not image[:, :350].any()
    assert coloured[12 + 30 + 464 :].any()  # the word itself, in the caption and under its heat map


def test_nouns_that_share_a_box_can_both_be_read() -> None:
    """The second word stands below the first and leaves its letters alone."""
    weights = np.asarray([[0.1, 0.9], [0.1, 0.9]])
    first, second = np.asarray([0xE6, 0x19, 0x4B]), np.asarray([0x3C, 0xB4, 0x4B])
    drawn = np.asarray(draw_attention(IMAGE, CaptionAttention(("table", "toilet"), weights, BOXES, (True, True))))
    label = drawn[12 + 8 : 12 + 70, 360 + 8 : 420]  # inside the box's lines, where the words are
    assert (label == first).all(-1).sum() > 15 and (label == second).all(-1).sum() > 15
    lines = [np.flatnonzero((label == colour).all(-1).any(1)) for colour in (first, second)]
    assert lines[0].max() < lines[1].min()


@pytest.mark.parametrize(
    ("words", "nouns"),
    [((), ()), (("they", "run"), (False, False)), (tuple("abcdefghijklmnopqrst"), (True,) * 20)],
)
def test_no_word_no_noun_and_many_nouns(words: tuple[str, ...], nouns: tuple[bool, ...]) -> None:
    attention = np.full((len(words), 2), 0.4)  # a model that attends to no region a fifth of the time
    drawn = draw_attention(IMAGE, CaptionAttention(words, attention, BOXES, nouns))
    assert drawn.width == 720 and drawn.height > 464


def test_before_and_after(tmp_path: Path) -> None:
    attention = CaptionAttention(("dog",), np.asarray([[0.1, 0.9]]), BOXES, (True,))
    drawn = draw_comparison(IMAGE, [("before", attention), ("after", attention)], width=300)
    save_drawing(drawn, tmp_path / "made" / "both.png")
    assert Image.open(tmp_path / "made" / "both.png").width == 600


def test_attention_of_a_captioner(tmp_path: Path) -> None:
    context = grounded_context(tmp_path / "pack")
    torch.manual_seed(0)
    images = context.batches.images(np.asarray([0]))
    nouns = np.asarray([word in ("dog", "men") for word in context.pack.vocabulary.words])
    attention = greedy_attention(
        UpDown(hidden=8, attention=8).build(context.inputs).eval(), images, context.pack.vocabulary, nouns
    )
    assert attention.weights.shape == (len(attention.words), 4)
    assert np.allclose(attention.weights.sum(1), 1, atol=1e-5)
    tagged = greedy_attention(
        UpDown(hidden=8, attention=8).build(context.inputs).eval(), images, context.pack.vocabulary
    )
    assert len(tagged.nouns) == len(tagged.words)
    with pytest.raises(InputError, match="one image"):
        greedy_attention(
            UpDown(hidden=8).build(context.inputs),
            context.batches.images(np.asarray([0, 1])),
            context.pack.vocabulary,
            nouns,
        )
    with pytest.raises(InputError, match="does not attend"):
        greedy_attention(NeuralTalk2(hidden=8).build(context.inputs), images, context.pack.vocabulary, nouns)


def test_parts_that_do_not_fit_raise() -> None:
    with pytest.raises(InputError, match="do not belong together"):
        CaptionAttention(("a",), np.zeros((2, 2)), BOXES, (False,))


def test_a_drawing_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    """Pillow's own complaints carry no number of an error, and so no text for it."""
    with pytest.raises(InputError, match="cannot write mode RGBA as JPEG"):
        save_drawing(Image.new("RGBA", (2, 2)), tmp_path / "a.jpg")
