"""VSE by hand and by the stages of ConVSE."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.evaluation.retrieval import evaluate_retrieval, score_split
from tellapart.models.layers.convse_heads import convse_heads
from tellapart.models.matchers.vse import VSE
from tiny_world import tiny_context


def test_vectors_follow_the_formula(tmp_path: Path) -> None:
    """Image: unit(W mean(rows) + b). Sentence: unit(last GRU state). Heads come before the norm."""
    context = tiny_context(tmp_path)
    torch.manual_seed(0)
    model = VSE(embedding=8, word_width=6, heads=10, output=5).build(context.inputs).eval()
    images, texts = context.batches.images(np.arange(3)), context.batches.texts(np.arange(3))
    for row in range(3):
        mean = images.features[row][images.mask[row]].mean(0)
        vector = model.image_head(model.image(mean))
        assert torch.allclose(model.encode_image(images).vectors[row], vector / vector.norm(), atol=1e-5)
        words = model.words(texts.tokens[row : row + 1, : texts.lengths[row]])
        vector = model.text_head(model.text.gru(words)[1][0, 0])
        assert torch.allclose(model.encode_text(texts).vectors[row], vector / vector.norm(), atol=1e-5)


def test_a_model_with_heads_takes_every_weight_of_its_base(tmp_path: Path) -> None:
    inputs = tiny_context(tmp_path).inputs
    base = VSE(embedding=8, word_width=6).build(inputs)
    headed = VSE(embedding=8, word_width=6, heads=10).build(inputs)
    missing, unexpected = headed.load_state_dict(base.state_dict(), strict=False)
    assert not unexpected and all(name.split(".")[0] in ("image_head", "text_head") for name in missing)


@pytest.mark.parametrize("heads", [16, 20])
def test_heads_that_start_as_the_identity_leave_recall_unchanged(tmp_path: Path, heads: int) -> None:
    context = tiny_context(tmp_path, images=40)
    torch.manual_seed(0)
    base = VSE(embedding=8, word_width=6).build(context.inputs)
    headed = VSE(embedding=8, word_width=6, heads=heads, heads_start="identity").build(context.inputs)
    headed.load_state_dict(base.state_dict(), strict=False)
    before, after = (score_split(model, context, "train").scores for model in (base, headed))
    assert torch.allclose(before, after, atol=1e-6)
    assert evaluate_retrieval(base, context, "train") == evaluate_retrieval(headed, context, "train")


def test_independent_heads_scramble_what_was_aligned() -> None:
    """Two equal vectors, as of a perfectly aligned pair: still equal after shared heads, unrelated after independent
    ones."""
    torch.manual_seed(0)
    aligned = torch.nn.functional.normalize(torch.randn(64, 32), dim=1)
    agreement = {}
    for start in ("independent", "shared", "identity"):
        image, text = convse_heads(32, 64, 32, start)
        agreement[start] = torch.cosine_similarity(image(aligned), text(aligned)).mean().item()
    assert agreement["shared"] == pytest.approx(1) and agreement["identity"] == pytest.approx(1)
    assert abs(agreement["independent"]) < 0.3


def test_every_weight_of_an_identity_head_can_learn() -> None:
    image, _ = convse_heads(8, 20, 8, "identity")
    (image(torch.randn(50, 8)) * torch.randn(50, 8)).sum().backward()
    first, last = image[0].weight.grad, image[2].weight.grad
    assert bool((first[:16] != 0).all()) and bool((last != 0).all())  # rows 16-19 begin to learn a step later


@pytest.mark.parametrize(("hidden", "output", "start"), [(15, 8, "identity"), (16, 5, "identity"), (16, 8, "same")])
def test_a_start_that_is_impossible_or_unknown_is_rejected(hidden: int, output: int, start: str) -> None:
    with pytest.raises(ValueError, match="heads_start"):
        convse_heads(8, hidden, output, start)
