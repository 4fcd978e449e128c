"""SCAN and POS-SCAN: who counts, where words look, and what happens without nouns."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Texts
from tellapart.models.matchers.scan import SCAN
from tiny_world import tiny_context


def build(tmp_path: Path, **settings: object):
    context = tiny_context(tmp_path, columns=("nouns",))
    torch.manual_seed(0)
    return context, SCAN(embedding=8, word_width=6, **settings).build(context.inputs).eval()  # type: ignore[arg-type]


def test_only_nouns_count_and_everyone_does_where_there_is_none(tmp_path: Path) -> None:
    context, model = build(tmp_path, nouns=True)
    texts = context.batches.texts(np.arange(8))
    encoded = model.encode_text(texts)
    assert torch.equal(encoded.mask, texts.mask)
    for row, nouns in enumerate(texts.columns["nouns"]):
        expected = nouns if nouns.any() else texts.mask[row]
        assert torch.equal(encoded.counted[row], expected.bool())
    bare = Texts(texts.tokens, texts.lengths, {"nouns": torch.zeros_like(texts.tokens).bool()})
    assert torch.equal(model.encode_text(bare).counted, texts.mask)


def test_as_released_only_nouns_are_there(tmp_path: Path) -> None:
    context, model = build(tmp_path, nouns=True, compat="code")
    texts = context.batches.texts(np.arange(8))
    encoded = model.encode_text(texts)
    nouns = texts.columns["nouns"].bool()
    assert torch.equal(encoded.mask, nouns | (texts.mask & ~nouns.any(1, keepdim=True)))
    assert encoded.counted is None


def test_all_tokens_count_in_plain_scan(tmp_path: Path) -> None:
    context, model = build(tmp_path)
    texts = context.batches.texts(np.arange(4))
    encoded = model.encode_text(texts)
    assert torch.equal(encoded.mask, texts.mask)
    assert encoded.counted is None


def test_attention_is_a_distribution_over_real_regions_for_words_that_count(tmp_path: Path) -> None:
    context, model = build(tmp_path, nouns=True)
    batch = context.batches.batch(np.arange(8))
    images, texts = model.encode_image(batch.paired_images()), model.encode_text(batch.texts)
    weights = model.attend(images, texts)
    assert weights.shape == (8, texts.mask.shape[1], images.mask.shape[1])
    assert torch.allclose(weights.sum(-1), texts.counted.float(), atol=1e-6)
    assert weights.masked_select(~images.mask.unsqueeze(1)).abs().max() == 0


def test_both_directions_are_averaged(tmp_path: Path) -> None:
    context, both = build(tmp_path, direction="both")
    images = both.encode_image(context.batches.images(np.arange(3)))
    texts = both.encode_text(context.batches.texts(np.arange(4)))
    parts = []
    for direction in ("t2i", "i2t"):
        single = SCAN(embedding=8, word_width=6, direction=direction).build(context.inputs)
        parts.append(single.score(images, texts))
    assert torch.allclose(both.score(images, texts), (parts[0] + parts[1]) / 2)


def test_missing_columns_and_directions_are_rejected(tmp_path: Path) -> None:
    context, model = build(tmp_path, nouns=True)
    texts = context.batches.texts(np.arange(2))
    with pytest.raises(InputError, match="column 'nouns'"):
        model.encode_text(Texts(texts.tokens, texts.lengths))
    with pytest.raises(InputError, match="not 'Code'"):
        SCAN(compat="Code").build(context.inputs)
    other = SCAN(embedding=8, word_width=6, direction="i2t").build(context.inputs)
    with pytest.raises(InputError, match="direction=t2i"):
        other.attend(model.encode_image(context.batches.images(np.arange(2))), model.encode_text(texts))
