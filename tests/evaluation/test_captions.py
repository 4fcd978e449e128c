"""Judging captions: loss against a loop, CIDEr-D of perfect captions, chunks joined."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.data.batches import Batches
from tellapart.data.pack_types import NO_IMAGE, Caption, PackImage
from tellapart.data.write_pack import write_pack
from tellapart.evaluation import EVALUATIONS
from tellapart.evaluation.captions import (
    decode,
    evaluate_captions,
    join,
    mean_loss,
    references_of,
    score_tokens,
    token_cider,
    validate_captions,
)
from tellapart.models.captioners.up_down import UpDown
from tellapart.models.decoding import Decoded, beam, log_prob
from tiny_world import tiny_context


def test_validation_figures(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    model = UpDown(hidden=8, attention=8).build(context.inputs).train()
    figures = validate_captions(model, context, "val")
    assert set(figures) == {"loss", "cider"} and figures["cider"] >= 0
    assert model.training


@pytest.mark.parametrize("name", ["captions", "captions-full", "self-retrieval"])
def test_a_split_without_captions_or_images_is_rejected(name: str, tmp_path: Path) -> None:
    """`train` has an image nobody captioned, `val` a sentence of no image."""
    context = tiny_context(tmp_path)
    pack = write_pack(
        tmp_path / "bare", "bare", "", [PackImage("0", "", "train")], [Caption(NO_IMAGE, "a", ("a",), "val")],
        context.inputs.vocabulary, {},
    )  # fmt: skip
    bare = type(context)(pack, context.inputs, context.batches, context.store, context.device)
    model = UpDown(hidden=8, attention=8).build(context.inputs)
    with pytest.raises(InputError, match=r"no captioned image|No images of .* to caption"):
        EVALUATIONS[name](model, bare, "val")
    if name != "self-retrieval":
        with pytest.raises(InputError, match=r"The split 'train' of .* has no captioned image; choose another split"):
            EVALUATIONS[name](model, bare, "train")


def test_images_without_captions_are_passed_over(tmp_path: Path) -> None:
    """A split in which some images have no caption is judged by the others."""
    context = tiny_context(tmp_path)
    old = context.pack
    kept = [caption for caption in old.captions if caption.image != old.split("train").images[0]]
    pack = write_pack(tmp_path / "some", "some", "", old.images, kept, old.vocabulary, {})
    some = type(context)(pack, context.inputs, Batches(pack, context.store), context.store, context.device)
    model = UpDown(hidden=8, attention=8).build(context.inputs)
    assert all(np.isfinite(value) for value in validate_captions(model, some, "train").values())


def test_mean_loss_is_a_mean_over_words(tmp_path: Path) -> None:
    context = replace(tiny_context(tmp_path), batch=3)
    model = UpDown(hidden=8, attention=8).build(context.inputs).eval()
    rows = context.pack.split("train").captions
    total, words = 0.0, 0
    for row in rows:
        batch = context.batches.batch(rows[rows == row])
        total -= float(log_prob(model, batch.images, batch.texts.tokens))
        words += int(batch.texts.lengths[0]) - 1
    assert mean_loss(model, context, rows) == pytest.approx(total / words, rel=1e-5)


def test_references_score_high_and_strangers_low(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    images = context.pack.split("train").images
    references, owner = references_of(context, images)
    first = references[[int((owner == image).nonzero()[0]) for image in range(len(images))]]
    assert token_cider(context, images, first) > 3
    assert token_cider(context, images, first.roll(1, 0)) < token_cider(context, images, first)


def test_decoding_in_chunks_equals_at_once(tmp_path: Path) -> None:
    context = replace(tiny_context(tmp_path), batch=3)
    model = UpDown(hidden=8, attention=8).build(context.inputs).eval()
    images = context.pack.split("train").images
    whole = beam(model, context.batches.images(images), 3)
    parts = decode(model, context, images, 3)
    assert torch.equal(parts.tokens, whole.tokens)
    torch.testing.assert_close(parts.log_probability, whole.log_probability)


def test_join_pads() -> None:
    short = Decoded(torch.tensor([[4, 2]]), torch.tensor([-1.0]), torch.ones(1, 2, 3))
    long = Decoded(torch.tensor([[4, 5, 2]]), torch.tensor([-2.0]), torch.ones(1, 3, 3))
    both = join([short, long])
    assert both.tokens.tolist() == [[4, 2, 0], [4, 5, 2]]
    assert both.attention is not None and both.attention[0, 2].sum() == 0


def test_full_figures(tmp_path: Path) -> None:
    """An image's own first caption is perfect by BLEU and ROUGE; a model's captions get all figures."""
    context = tiny_context(tmp_path)
    images = context.pack.split("train").images
    references, owner = references_of(context, images)
    first = references[[int((owner == image).nonzero()[0]) for image in range(len(images))]]
    figures = score_tokens(context, images, first)
    assert figures["bleu1"] == pytest.approx(1.0, abs=1e-6) and figures["rouge"] == pytest.approx(1.0, abs=1e-6)
    torch.manual_seed(0)
    model = UpDown(hidden=8, attention=8).build(context.inputs)
    found = evaluate_captions(model, context, "test")
    usual = {"loss", "bleu1", "bleu2", "bleu3", "bleu4", "meteor", "rouge", "cider"}
    assert set(found) == usual | {"chair_i", "chair_s", "distinct_words_400", "cider_between"}
