"""CLIP-like models in training: text by their own tokenizer, from pixels and from stored features."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Batch, Images
from tellapart.data.batches import Batches
from tellapart.data.own_text import with_own_text
from tellapart.losses import Contrast
from tellapart.models.inputs import ModelInputs
from tellapart.models.matchers.pretrained import Pretrained
from tellapart.objectives.context import Context
from tellapart.objectives.ranking import Ranking
from tiny_world import tiny_context

transformers = pytest.importorskip("transformers")
pytest.importorskip("tokenizers")
import tiny_hub  # noqa: E402


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_hub.clip(tmp_path_factory.mktemp("hub") / "clip")


def own_context(folder: Path, source: Path) -> Context:
    """The tiny pack with its captions cut by the model's tokenizer."""
    context, reading = tiny_context(folder), Pretrained(str(source)).reading()
    pack = with_own_text(context.pack, reading.vocabulary)
    return replace(
        context, pack=pack, inputs=ModelInputs(reading.vocabulary, 12), batches=Batches(pack, context.store, ())
    )


def with_pixels(images: Images) -> Images:
    pixels = torch.randint(0, 255, (len(images), 3, 32, 32), generator=torch.Generator().manual_seed(0))
    return Images(images.features, images.mask, pixels=pixels.byte())


def test_scores_equal_the_models_own(tmp_path: Path, clip: Path) -> None:
    context = own_context(tmp_path, clip)
    matcher = Pretrained(str(clip)).build(context.inputs).eval()
    images = with_pixels(context.batches.images(np.arange(3)))
    texts = context.batches.texts(np.arange(4))
    with torch.no_grad():
        found = matcher.score(matcher.encode_image(images), matcher.encode_text(texts))
        model = transformers.CLIPModel.from_pretrained(clip).eval()
        tokeniser = transformers.AutoTokenizer.from_pretrained(clip)
        words = [context.pack.captions[row].text for row in range(4)]
        pieces = tokeniser(words, padding=True, return_tensors="pt")
        processor = transformers.AutoImageProcessor.from_pretrained(clip)
        assert images.pixels is not None
        pixels = processor(images=list(images.pixels), return_tensors="pt", do_resize=False)["pixel_values"]
        outputs = model(**pieces, pixel_values=pixels)
    assert torch.allclose(found, outputs.logits_per_image / model.logit_scale.exp(), atol=1e-5)


def test_a_pack_without_a_word_does_not_change_its_text(tmp_path: Path, clip: Path) -> None:
    """Words outside the pack's vocabulary reach the model: they were the end of the text."""
    context = own_context(tmp_path, clip)
    vocabulary = context.inputs.vocabulary
    rare = vocabulary.encode(["zebra"])
    assert len(rare) == 5 and vocabulary.decode(rare) == "zebra"
    assert vocabulary.decode(context.batches.texts(np.arange(1)).tokens[0].tolist()) == context.pack.captions[0].text


def test_columns_of_words_do_not_fit(tmp_path: Path, clip: Path) -> None:
    pack = own_context(tmp_path, clip).pack
    assert pack.has_column("targets") and not pack.has_column("nouns")
    with pytest.raises(InputError, match="one row per word"):
        pack.column("nouns")


def test_stored_features_are_the_towers_own(tmp_path: Path, clip: Path) -> None:
    context = own_context(tmp_path, clip)
    matcher = Pretrained(str(clip)).build(context.inputs).eval()
    images = with_pixels(context.batches.images(np.arange(3)))
    assert images.pixels is not None
    with torch.no_grad():
        pixels = (images.pixels.float() / 255 - matcher.mean) / matcher.std
        pooled = matcher.model.vision_model(pixel_values=pixels).pooler_output
        stored = Images(pooled.unsqueeze(1), torch.ones(3, 1, dtype=torch.bool))
        assert torch.allclose(matcher.encode_image(stored).vectors, matcher.encode_image(images).vectors, atol=1e-5)
    with pytest.raises(InputError, match="vision tower gives 16"):
        matcher.encode_image(Images(torch.zeros(1, 1, 9), torch.ones(1, 1, dtype=torch.bool)))


def test_it_is_tuned_with_a_ranking_loss(tmp_path: Path, clip: Path) -> None:
    context = own_context(tmp_path, clip)
    matcher = Pretrained(str(clip)).build(context.inputs).train()
    objective = Ranking(Contrast("info-nce")).build(matcher, context)
    batch = context.batches.batch(np.arange(8))
    batch = Batch(with_pixels(batch.images), batch.texts, batch.owner, batch.image_rows, batch.caption_rows)
    optimiser = torch.optim.Adam(matcher.parameters(), 1e-2)
    losses = []
    for _ in range(10):
        optimiser.zero_grad()
        loss = objective(batch)["loss"]
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_heads_that_start_as_the_identity_change_no_score(tmp_path: Path, clip: Path) -> None:
    context = own_context(tmp_path, clip)
    images, texts = with_pixels(context.batches.images(np.arange(3))), context.batches.texts(np.arange(4))
    plain = Pretrained(str(clip)).build(context.inputs).eval()
    heads = Pretrained(str(clip), heads=24).build(context.inputs).eval()
    with torch.no_grad():
        for one, other in (
            (plain.encode_image(images), heads.encode_image(images)),
            (plain.encode_text(texts), heads.encode_text(texts)),
        ):
            torch.testing.assert_close(one.vectors, other.vectors, atol=1e-5, rtol=1e-5)


def test_runs_of_earlier_versions_open(clip: Path, tmp_path: Path) -> None:
    """They stored how words of the pack were cut into pieces."""
    matcher = Pretrained(str(clip)).build(own_context(tmp_path, clip).inputs)
    old = {**matcher.state_dict(), "pieces.table": torch.zeros(3, 2), "pieces.counts": torch.zeros(3)}
    assert not matcher.load_state_dict(old).unexpected_keys


def test_what_is_no_dual_encoder_is_rejected(tmp_path: Path) -> None:
    context = tiny_context(tmp_path)
    with pytest.raises(InputError, match=r"no config\.json"):
        Pretrained(str(tmp_path)).build(context.inputs)
