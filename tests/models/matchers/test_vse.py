"""VSE by hand and by the stages of ConVSE."""

from pathlib import Path

import numpy as np
import torch

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
